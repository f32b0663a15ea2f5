#include "tuner/workers/verify_all.hpp"

#include <fmt/format.h>

#include <future>
#include <map>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

#include "runtime/compile/compiler.hpp"
#include "tuner/verify/verifier.hpp"
#include "tuner/workers/compile_pool.hpp"
#include "tuner/workers/compile_process_count.hpp"

namespace tilesmith::tuner {
namespace {

constexpr std::chrono::seconds kCompileLimit{120};
constexpr int kReservedCores = 1;
constexpr int kQueuedPerWorker = 2;  // enough that no worker waits while this process is at a suite

using SharedModule = std::shared_ptr<const runtime::Module>;

std::optional<std::string> why_illegal(const CompileJob& job) {
  const Family* family = find_family(job.config.family());
  if (family == nullptr) return fmt::format("this build has no family '{}'", job.config.family());
  return illegal_because(*family, job.config, job.target);
}

/// The jobs on their way through the compile workers.
class Jobs {
 public:
  Jobs(const NextJob& next_job, const OnVerified& on_verified) : next_job_(next_job), on_verified_(on_verified) {}

  void submit_to(CompilePool& pool, std::size_t most_pending) {
    while (!ended_ && pool.pending() < most_pending) {
      std::optional<CompileJob> job = next_job_();
      if (!job) {
        ended_ = true;
      } else if (const auto reason = why_illegal(*job)) {
        on_verified_(*job, {db::Status::illegal, *reason, {}});
      } else {
        pool.submit({next_ticket_, runtime::kernel_key(job->config, job->target)});
        running_.emplace(next_ticket_++, *std::move(job));
      }
    }
  }

  CompileJob take(std::size_t ticket) { return std::move(running_.extract(ticket).mapped()); }

 private:
  const NextJob& next_job_;
  const OnVerified& on_verified_;
  std::map<std::size_t, CompileJob> running_;  // by ticket
  std::size_t next_ticket_ = 1;
  bool ended_ = false;
};

/// Loads in a thread of its own. The function is asked for there too: the driver may leave the work until then.
std::future<SharedModule> load(const runtime::Context& context, const db::KernelBuild& build) {
  return std::async(std::launch::async, [&context, &build] {
    context.make_current();
    auto module = std::make_shared<const runtime::Module>(build.cubin);
    module->function("gemm", 0);
    return module;
  });
}

}  // namespace

void verify_all(const runtime::Context& context, const NextJob& next_job, int compile_processes,
    const OnVerified& on_verified, const std::atomic<bool>& stop, const std::string& worker_executable, Suite suite) {
  if (const std::string reason = runtime::nvrtc_unavailable_because(); !reason.empty())
    throw std::runtime_error(reason);
  const int workers = compile_processes > 0 ? compile_processes
                                            : default_compile_process_count(kReservedCores, context.info().integrated);
  CompilePool pool(workers, kCompileLimit, worker_executable);
  Verifier verifier(context);
  Jobs jobs(next_job, on_verified);
  const auto verify = [&](const CompileJob& job, std::future<SharedModule>& module) {
    try {
      on_verified(job, verifier.suite(module.get(), job.config, job.target, suite));
    } catch (const runtime::DeviceError& error) {
      on_verified(job, {error.context_lost() ? db::Status::device_fault : db::Status::launch_failed, error.what(), {}});
      if (error.context_lost()) throw;
    }
  };
  while (!stop) {
    jobs.submit_to(pool, std::size_t(kQueuedPerWorker * workers));
    if (pool.pending() == 0) return;
    wait_for_input(pool.descriptors(), pool.deadline());
    const std::vector<CompilePool::Done> all_done = pool.collect();
    std::vector<std::future<SharedModule>> modules;  // of PTX the driver compiles here: all at once, if it can
    for (const CompilePool::Done& done : all_done) {
      modules.push_back(done.build.status == db::Status::ok ? load(context, done.build) : std::future<SharedModule>());
    }
    for (std::size_t i = 0; i < all_done.size() && !stop; ++i) {
      const CompileJob job = jobs.take(all_done[i].ticket);
      const db::KernelBuild& build = all_done[i].build;
      if (modules[i].valid()) verify(job, modules[i]);
      else on_verified(job, {build.status, build.message, {}});
    }
  }
}

}  // namespace tilesmith::tuner
