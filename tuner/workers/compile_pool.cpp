#include "tuner/workers/compile_pool.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

#include "tuner/evaluator.hpp"
#include "tuner/workers/compile_process_count.hpp"
#include "tuner/workers/family_arguments.hpp"
#include "tuner/workers/protocol.hpp"
#include "tuner/workers/spawn.hpp"

namespace tilesmith::tuner {
namespace {

constexpr int kMostCompilations = 2;
constexpr int kMostLostIdle = 50;
constexpr int kJobsPerProcess = 1000;  // NVRTC keeps some memory of every compilation

CompilePool::Done failed(CompilePool::Job job, std::string message, bool keep) {
  return {job.ticket, {std::move(job.key), db::Status::compile_failed, std::move(message)}, keep};
}

}  // namespace

struct CompilePool::Worker {
  explicit Worker(const std::string& executable) : process(with_family_dirs({"worker", "compile"}), executable) {}

  WorkerProcess process;
  std::optional<Queued> running;
  Clock::time_point deadline{};  ///< watched
  int jobs = 0;
  bool ended = false;  ///< to be taken out
};

CompilePool::CompilePool(int workers, std::chrono::duration<double> limit, std::string executable, Watch watch)
    : most_workers_(std::max(1, workers)),
      limit_(limit),
      executable_(std::move(executable)),
      watch_(std::move(watch)) {}

CompilePool::~CompilePool() = default;

void CompilePool::submit(Job job) {
  queue_.push_back({std::move(job)});
  start_queued();
}

void CompilePool::submit_spare(Job job) {
  spare_.push_back({std::move(job), 0, true});
  start_queued();
}

void CompilePool::promote(std::size_t ticket) {
  for (const auto& worker : workers_) {
    if (worker->running && worker->running->job.ticket == ticket) worker->running->spare = false;
  }
  const auto found =
      std::find_if(spare_.begin(), spare_.end(), [&](const Queued& queued) { return queued.job.ticket == ticket; });
  if (found == spare_.end()) return;
  Job job = std::move(found->job);
  spare_.erase(found);
  submit(std::move(job));
}

std::vector<std::size_t> CompilePool::drop_spare(const std::set<std::size_t>& kept) {
  std::vector<std::size_t> tickets;
  std::erase_if(spare_, [&](const Queued& queued) {
    const bool drop = kept.count(queued.job.ticket) == 0;
    if (drop) tickets.push_back(queued.job.ticket);
    return drop;
  });
  return tickets;
}

void CompilePool::drop_all() {
  queue_.clear();
  spare_.clear();
  std::erase_if(workers_, [](const auto& worker) { return worker->ended || worker->running; });
}

std::size_t CompilePool::pending() const {
  const auto running =
      std::count_if(workers_.begin(), workers_.end(), [](const auto& worker) { return worker->running.has_value(); });
  return queue_.size() + spare_.size() + std::size_t(running);
}

/// What the next idle worker takes from; nullptr if there is nothing to begin.
std::deque<CompilePool::Queued>* CompilePool::next_queue() {
  if (!queue_.empty()) return &queue_;
  if (spare_.empty()) return nullptr;
  // What is submitted next must not wait for initial configs: one worker is left for it.
  const auto spare = std::count_if(
      workers_.begin(), workers_.end(), [](const auto& worker) { return worker->running && worker->running->spare; });
  return spare < std::max(1, most_workers_ - 1) ? &spare_ : nullptr;
}

void CompilePool::start_queued() {
  int lost_idle = 0;
  while (std::deque<Queued>* queue = next_queue()) {
    auto idle = std::find_if(workers_.begin(), workers_.end(), [](const auto& worker) { return !worker->running; });
    if (idle == workers_.end()) {
      if (int(workers_.size()) >= most_workers_) return;
      workers_.push_back(std::make_unique<Worker>(executable_));
      idle = std::prev(workers_.end());
    }
    const db::KernelKey& key = queue->front().job.key;
    if (!(*idle)->process.send(to_message(CompileRequest{key.config, key.signature, key.arch}))) {
      // It ended while idle; the job has not begun.
      const std::string ending = (*idle)->process.ending();
      workers_.erase(idle);
      if (++lost_idle > kMostLostIdle) throw EvaluatorError("compile workers do not stay alive: " + ending);
      continue;
    }
    Worker& worker = **idle;
    worker.running = std::move(queue->front());
    queue->pop_front();
    ++worker.running->attempts;
    ++worker.jobs;
    worker.deadline = watch_.look() + std::chrono::duration_cast<Clock::duration>(limit_);
  }
}

std::vector<int> CompilePool::descriptors() const {
  std::vector<int> result;
  for (const auto& worker : workers_) {
    if (worker->running) result.push_back(worker->process.fd());
  }
  return result;
}

std::optional<CompilePool::Clock::time_point> CompilePool::deadline() const {
  std::optional<Clock::time_point> earliest;
  for (const auto& worker : workers_) {
    if (worker->running && (!earliest || worker->deadline < *earliest)) earliest = worker->deadline;
  }
  if (earliest) earliest = watch_.on_clock(*earliest);
  return earliest;
}

std::optional<CompilePool::Done> CompilePool::after_ending(Worker& worker, const std::string& ending, bool by_machine) {
  worker.ended = true;
  Queued queued = *std::exchange(worker.running, std::nullopt);
  if (queued.attempts < kMostCompilations) {
    spdlog::debug("{}: the compiler ended ({}); tried once more", queued.job.key.config.text(), ending);
    (queued.spare ? spare_ : queue_).push_front(std::move(queued));
    return std::nullopt;
  }
  return failed(std::move(queued.job), "the compiler ended: " + ending, !by_machine);
}

std::optional<CompilePool::Done> CompilePool::take_answer(Worker& worker) {
  Message message;
  const bool is_late = watch_.look() >= worker.deadline;
  switch (worker.process.try_receive(message)) {  // also of a late one: it may have been in time
    case Connection::Read::nothing_yet: {
      if (!is_late) return std::nullopt;
      worker.process.kill();
      worker.ended = true;
      Job job = std::exchange(worker.running, std::nullopt)->job;
      return failed(std::move(job), fmt::format("the compiler did not end within {:g} s", limit_.count()), true);
    }
    case Connection::Read::ended: {
      const std::string ending = worker.process.ending();
      const bool is_killed = is_killed_from_outside(ending);
      if (is_killed && !std::exchange(told_of_killed_, true)) {
        const std::string& kernel = worker.running->job.key.config.text();
        spdlog::warn("{}", killed_compiler_text(kernel, ending, most_workers_, group_limits()));
      }
      return after_ending(worker, ending, is_killed);
    }
    case Connection::Read::message: break;
  }
  if (const auto fatal = fatal_error(message)) throw EvaluatorError("compiling is not possible: " + *fatal);
  if (says_out_of_memory(message)) {
    worker.process.kill();
    return after_ending(worker, "the host has no memory left", true);
  }
  const auto build = kernel_build(message, worker.running->job.key);
  if (!build) {
    worker.process.kill();
    return after_ending(worker, "its answer is malformed", false);
  }
  Done done{worker.running->job.ticket, *build, true};
  worker.running.reset();
  worker.ended = worker.jobs >= kJobsPerProcess;
  return done;
}

std::vector<CompilePool::Done> CompilePool::collect() {
  std::vector<Done> result;
  for (const auto& worker : workers_) {
    if (!worker->running) continue;
    if (std::optional<Done> done = take_answer(*worker)) result.push_back(std::move(*done));
  }
  std::erase_if(workers_, [](const auto& worker) { return worker->ended; });
  start_queued();
  return result;
}

}  // namespace tilesmith::tuner
