#include "tuner/workers/compile_all.hpp"

#include <chrono>
#include <stdexcept>

#include "runtime/compile/compiler.hpp"
#include "tuner/workers/compile_pool.hpp"
#include "tuner/workers/compile_process_count.hpp"
#include "tuner/workers/process.hpp"

namespace tilesmith::tuner {

constexpr std::chrono::seconds kCompileLimit{120};
constexpr int kQueuedPerWorker = 2;  // enough that none waits, few enough that the store is asked just before

std::size_t compile_all(db::Store& store, std::span<const CompileJob> jobs, int compile_processes,
    const std::function<void(const db::KernelBuild&, bool reused)>& on_done, const std::atomic<bool>& stop,
    const std::string& worker_executable) {
  if (const std::string reason = runtime::nvrtc_unavailable_because(); !reason.empty())
    throw std::runtime_error(reason);
  const int workers = compile_processes > 0 ? compile_processes : default_compile_process_count(0, false);
  CompilePool pool(workers, kCompileLimit, worker_executable);
  std::size_t next = 0, compiled = 0;
  while (!stop && (next < jobs.size() || pool.pending() > 0)) {
    while (!stop && next < jobs.size() && pool.pending() < std::size_t(kQueuedPerWorker * workers)) {
      const CompileJob& job = jobs[next++];
      const db::KernelKey key = runtime::kernel_key(job.config, job.target);
      if (const auto known = store.find_build(key)) {
        if (on_done) on_done(*known, true);
      } else {
        pool.submit({next, key});
      }
    }
    if (pool.pending() == 0) continue;
    wait_for_input(pool.descriptors(), pool.deadline());
    for (const CompilePool::Done& done : pool.collect()) {
      if (done.keep) store.record_build(done.build);
      ++compiled;
      if (on_done) on_done(done.build, false);
    }
  }
  return compiled;
}

}  // namespace tilesmith::tuner
