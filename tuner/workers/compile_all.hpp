// Compiling ahead of time, in worker processes: the work up to the cubin, which needs no device.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <span>
#include <string>

#include "db/store/store.hpp"
#include "kernels/families/family.hpp"

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

}  // namespace tilesmith::tuner
