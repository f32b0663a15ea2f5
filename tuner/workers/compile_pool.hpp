// Compiles kernels in parallel worker processes. Single-threaded: its owner polls descriptors() until deadline() and
// then calls collect().
#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "db/store/record.hpp"
#include "kernels/families/family.hpp"
#include "tuner/workers/process.hpp"
#include "tuner/workers/watch.hpp"

namespace tilesmith::tuner {

class CompilePool {
 public:
  using Clock = std::chrono::steady_clock;

  /// Starts workers as they are needed. `executable`: as for WorkerProcess.
  CompilePool(int workers, std::chrono::duration<double> limit, std::string executable = {}, Watch watch = Watch());
  ~CompilePool();

  struct Job {
    std::size_t ticket = 0;  ///< the owner's; comes back with the build
    db::KernelKey key;
  };
  struct Done {
    std::size_t ticket = 0;
    db::KernelBuild build;
    bool keep =
        true;  ///< false: the failure is the machine's, not the kernel's (killed from outside, no memory); do not store it

    /// Of a kernel that has no cubin.
    db::Outcome failure() const { return {build.status, build.message, std::nullopt, !keep}; }
  };

  void submit(Job job);
  /// For when nothing that was submitted waits for a worker; and never on all workers at a time, if there are several.
  void submit_spare(Job job);
  /// A spare job, if it has not begun, is queued as if submitted now.
  void promote(std::size_t ticket);
  /// Drops the spare jobs that have not begun, but those of `kept`; returns the tickets of the dropped.
  std::vector<std::size_t> drop_spare(const std::set<std::size_t>& kept = {});
  /// Drops all jobs, those under way with their workers.
  void drop_all();
  /// Queued and running, spare jobs included.
  std::size_t pending() const;

  std::vector<int> descriptors() const;
  std::optional<Clock::time_point> deadline() const;
  /// What has been finished by now; starts what is queued. A compiler that crashes is tried once more in a fresh
  /// process; one that crashes again, or passes its time limit while it is watched (watch.hpp), makes the build
  /// compile_failed with its ending in words. Throws std::system_error if a worker cannot be started, EvaluatorError if
  /// it has no usable compiler; the worker's job is then lost, and drop_all() the way to go on.
  std::vector<Done> collect();

 private:
  struct Worker;
  struct Queued {
    Job job;
    int attempts = 0;
    bool spare = false;
  };
  void start_queued();
  std::deque<Queued>* next_queue();
  /// Takes what the worker has to say; returns its job's result if that is settled.
  std::optional<Done> take_answer(Worker& worker);
  std::optional<Done> after_ending(Worker& worker, const std::string& ending, bool by_machine);

  int most_workers_;
  std::chrono::duration<double> limit_;
  std::string executable_;
  Watch watch_;
  bool told_of_killed_ = false;  // of one compiler, for all
  std::deque<Queued> queue_;
  std::deque<Queued> spare_;
  std::vector<std::unique_ptr<Worker>> workers_;
};

}  // namespace tilesmith::tuner
