// Answers candidates on a device: compile workers ahead of one measuring process, all watched by the tuner. A crash, a hang or a
// device fault costs the candidate it happened on and one process; the run goes on. What the machine failed on (a kill from outside
// twice over, no memory left) is kept neither as a build nor as a proof, and its outcome says so.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "db/store.hpp"
#include "kernels/family.hpp"
#include "runtime/driver/device.hpp"
#include "tuner/evaluator.hpp"

namespace tilesmith::tuner {

struct DeviceEvaluatorOptions {
  int device = 0;
  std::string as;                                      ///< the architecture whose code it runs; empty: its own
  int compile_jobs = 0;                                ///< 0: as default_compile_jobs() finds
  std::chrono::duration<double> time_limit{20};        ///< of one phase (battery, verification, timing) of a candidate
  std::chrono::duration<double> compile_limit{60};     ///< of one compilation
  std::chrono::duration<double> set_aside{5};          ///< how long a candidate whose timing was disturbed waits
  std::string worker_executable;                       ///< its main calls worker_main(); empty: this very program
};

/// Builds and battery verdicts are read from and kept in the store. Throws runtime::DeviceError if there is no such
/// device, std::runtime_error if NVRTC is not usable. The tuner itself never opens a device context.
///
/// next() and play_off() throw EvaluatorError when the environment is broken: the measuring process fails to start three times in a
/// row, or a worker says that it cannot work at all.
std::unique_ptr<Evaluator> make_device_evaluator(db::Store& store, const DeviceEvaluatorOptions& options);
/// The same for a device that is already known, as what it is to run as; does not ask the driver. Tests bring their own
/// device and workers.
std::unique_ptr<Evaluator> make_device_evaluator(db::Store& store, const DeviceEvaluatorOptions& options,
                                                 const runtime::DeviceInfo& device);

/// Compiles many kernels in parallel worker processes and keeps them in the store (`tilesmith compile`). Those already
/// there are not compiled again. Calls `on_done` for each, in order of completion. `stop` ends it early; what was running
/// is then dropped. Returns how many were compiled. `compile_jobs` 0: one a core. Throws std::runtime_error if NVRTC is
/// not usable.
struct CompileJob {
  Config config;
  KernelTarget target;
};
std::size_t compile_all(db::Store& store, std::span<const CompileJob> jobs, int compile_jobs,
                        const std::function<void(const db::KernelBuild&, bool reused)>& on_done,
                        const std::atomic<bool>& stop, const std::string& worker_executable = {});

/// The child process's main: `tilesmith worker compile` / `tilesmith worker measure --device N [--as ARCH]`. Takes the
/// program's own arguments.
int worker_main(int argc, const char* const* argv);

}  // namespace tilesmith::tuner
