// Many kernels at a time, by compile workers: compiled ahead of time, which needs no device, or proven on a device by
// the suite in this process, and not timed.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "db/store/store.hpp"
#include "kernels/families/family.hpp"
#include "runtime/driver/device.hpp"
#include "tuner/verify/suite_cases.hpp"

namespace tilesmith::tuner {

struct CompileJob {
  Config config;
  KernelTarget target;
};

/// Compiles many kernels in parallel worker processes and keeps them in the store (`tilesmith compile`). Those already
/// there are not compiled again. Calls `on_done` for each, in order of completion. `stop` ends it early; what was
/// running is then dropped. Returns how many were compiled. `compile_processes` 0: one a core. Throws
/// std::runtime_error if NVRTC is not usable.
std::size_t compile_all(db::Store& store, std::span<const CompileJob> jobs, int compile_processes,
    const std::function<void(const db::KernelBuild&, bool reused)>& on_done, const std::atomic<bool>& stop,
    const std::string& worker_executable = {});

/// The next kernel to prove; nullopt: there is none. Asked for as workers become free, a few seconds ahead of its
/// verdict.
using NextJob = std::function<std::optional<CompileJob>()>;
/// The suite's verdict, or why there is none (illegal, compile_failed, spilled; launch_failed where the driver refuses
/// it).
using OnVerified = std::function<void(const CompileJob& job, const db::Outcome& outcome)>;

/// Verdicts come in no certain order. `stop` ends it early; what was being compiled is then dropped.
/// `compile_processes` 0: one a core, one left for this process. `worker_executable`: as for DeviceEvaluatorOptions.
/// `suite`: how much of it each kernel is to pass.
///
/// There is no process between the suite and the caller: a kernel that takes the device's context with it is told to
/// `on_verified` as device_fault, and then DeviceError is thrown. Throws std::runtime_error if NVRTC is not usable.
void verify_all(const runtime::Context& context, const NextJob& next_job, int compile_processes,
    const OnVerified& on_verified, const std::atomic<bool>& stop, const std::string& worker_executable = {},
    Suite suite = Suite::whole);

}  // namespace tilesmith::tuner
