// Answers candidates on a device: compile workers ahead of one measuring process, all supervised. A crash, a hang or a
// device fault costs the candidate it happened on and one process; the run goes on.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <span>

#include "db/store.hpp"
#include "kernels/family.hpp"
#include "tuner/evaluator.hpp"

namespace tilesmith::tuner {

struct DeviceEvaluatorOptions {
  int device = 0;
  int compile_jobs = 0;                                ///< 0: one a core, one left for measuring
  std::chrono::duration<double> time_limit{20};        ///< of one candidate in the measuring process
  std::chrono::duration<double> compile_limit{60};     ///< of one compilation
};

/// Builds and battery verdicts are read from and kept in the store. Throws runtime::DeviceError if there is no such
/// device, std::runtime_error if NVRTC is not usable. The supervising process itself never opens a device context.
std::unique_ptr<Evaluator> make_device_evaluator(db::Store& store, const DeviceEvaluatorOptions& options);

/// Compiles many kernels in parallel worker processes and keeps them in the store (`tilesmith compile`). Those already
/// there are not compiled again. Calls `on_done` for each, in order of completion. Returns how many were compiled.
struct CompileJob {
  Config config;
  KernelTarget target;
};
std::size_t compile_all(db::Store& store, std::span<const CompileJob> jobs, int compile_jobs,
                        const std::function<void(const db::KernelBuild&, bool reused)>& on_done,
                        const std::atomic<bool>& stop);

/// The child process's main: `tilesmith worker compile` / `tilesmith worker measure --device N`.
int worker_main(int argc, const char* const* argv);

}  // namespace tilesmith::tuner
