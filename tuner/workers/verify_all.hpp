// Proves many kernels on a device and times none: compile workers ahead, the suite in this process.
#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <string>

#include "runtime/driver/device.hpp"
#include "tuner/verify/suite_cases.hpp"
#include "tuner/workers/compile_all.hpp"

namespace tilesmith::tuner {

/// The next kernel to prove; nullopt: there is none. Asked for as workers become free, a few seconds ahead of its
/// verdict.
using NextJob = std::function<std::optional<CompileJob>()>;
/// The suite's verdict, or why there is none (illegal, compile_failed, spilled; launch_failed where the driver refuses
/// it).
using OnVerified = std::function<void(const CompileJob& job, const db::Outcome& outcome)>;

/// Verdicts come in no certain order. `stop` ends it early; what was being compiled is then dropped.
/// `compile_processes` 0: one a core, one left for this process. `worker_executable`: as for DeviceEvaluatorOptions.
///
/// `suite`: how much of it each kernel is to pass.
///
/// There is no process between the suite and the caller: a kernel that takes the device's context with it is told to
/// `on_verified` as device_fault, and then DeviceError is thrown. Throws std::runtime_error if NVRTC is not usable.
void verify_all(const runtime::Context& context, const NextJob& next_job, int compile_processes,
    const OnVerified& on_verified, const std::atomic<bool>& stop, const std::string& worker_executable = {},
    Suite suite = Suite::whole);

}  // namespace tilesmith::tuner
