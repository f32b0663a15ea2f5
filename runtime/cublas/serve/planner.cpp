#include "runtime/cublas/serve/planner.hpp"

#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <cstring>

#include "runtime/cublas/shim/cuda_driver.hpp"
#include "runtime/cublas/shim/settings.hpp"
#include "runtime/cublas/shim/shim_state.hpp"
#include "runtime/cublas/shim/tilesmith_api.hpp"

namespace tilesmith::cublas {
namespace {

constexpr std::chrono::milliseconds kFirstFlush{10}, kFlushEvery{1000};  // a process of a moment leaves a file, too
constexpr std::chrono::seconds kLongestStop{2};

void tell_of_missing(const KnownProblem& problem, Reason reason) {
  if (reason == Reason::no_records) say("%s: not in the database", line_of(problem).c_str());
}

}  // namespace

Reason judge(const tilesmith_explanation& why) noexcept {
  if (std::strcmp(why.level, "exact") != 0 || !(why.median_us > 0)) return Reason::no_records;
  if (std::strcmp(why.trust, "valid") != 0) return Reason::stale_records;
  if (!(why.vendor_us > 0)) return Reason::vendor_unknown;
  return why.median_us < why.vendor_us ? Reason::none : Reason::vendor_faster;
}

void Planner::ask(KnownProblem& problem) {
  const std::lock_guard lock(mutex_);
  if (problem.state.load(std::memory_order_relaxed) != State::met || waiting_.size() == kMostWaiting || stopping_)
    return;
  waiting_.push_back(&problem);
  problem.state.store(State::waiting, std::memory_order_relaxed);
  start_locked();
  changed_.notify_all();
}

void Planner::start() {
  const std::lock_guard lock(mutex_);
  start_locked();
}

void Planner::start_locked() {
  if (started_ || stopping_) return;
  // The application's signals are for its own threads.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_t thread;
  started_ = pthread_create(&thread, nullptr, &Planner::run, this) == 0;
  if (started_) pthread_detach(thread);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void* Planner::run(void* planner) {
  static_cast<Planner*>(planner)->work();
  return nullptr;
}

void Planner::work() {
  std::unique_lock lock(mutex_);
  std::chrono::milliseconds pause = kFirstFlush;
  while (!stopping_) {
    if (waiting_.empty()) {
      changed_.wait_for(lock, pause);
      pause = std::min(2 * pause, kFlushEvery);
      if (settings().mode != Mode::capture || stopping_) continue;
      busy_ = true;
      lock.unlock();
      write_capture_file();
    } else {
      KnownProblem& problem = *waiting_.front();
      waiting_.pop_front();
      busy_ = true;
      lock.unlock();
      plan(problem);
    }
    lock.lock();
    busy_ = false;
    changed_.notify_all();
  }
}

void Planner::stop() {
  std::unique_lock lock(mutex_);
  stopping_ = true;
  changed_.notify_all();
  changed_.wait_for(lock, kLongestStop, [&] { return !busy_; });
}

void Planner::plan(KnownProblem& problem) {
  Reason reason = Reason::plan_failed;
  try {
    reason = plan_of(problem);
  } catch (...) {  // out of memory
  }
  tell_of_missing(problem, reason);
  problem.reason.store(reason, std::memory_order_relaxed);
  problem.state.store(reason == Reason::none ? State::take : State::forward, std::memory_order_release);
}

Reason Planner::plan_of(KnownProblem& problem) {
  tilesmith_library* const library = library_for(problem.key.device);
  if (library == nullptr) return Reason::no_library;
  const TilesmithApi& api = *tilesmith_api();
  tilesmith_plan* plan = nullptr;
  const tilesmith_status status = api.plan_create(library, &problem.key.problem, &plan);
  if (status == TILESMITH_NO_KERNEL) return Reason::no_records;  // nothing is compiled for a guess
  if (status != TILESMITH_OK) {
    const std::string why = api.last_error();
    say("%s: not planned: %s", line_of(problem).c_str(), why.c_str());
    return Reason::plan_failed;
  }
  // Plans are kept as long as the process: a call or a captured graph may hold one.
  tilesmith_explanation why{};
  if (api.plan_explain(plan, &why) != TILESMITH_OK ||
      api.plan_workspace_bytes(plan, &problem.workspace_bytes) != TILESMITH_OK)
    return Reason::plan_failed;
  Device& device = devices_[problem.key.device];
  if (problem.workspace_bytes > 0 && !device.has_pool) {
    device.pool = new_memory_pool(problem.key.device);
    device.has_pool = true;
  }
  problem.plan = plan;
  problem.pool = device.pool;
  problem.ours_us = why.median_us;
  problem.vendor_us = why.vendor_us;
  return judge(why);
}

tilesmith_library* Planner::library_for(std::uint8_t number) {
  Device& device = devices_[number];
  if (device.library != nullptr || device.failed) return device.library;
  device.failed = true;
  const TilesmithApi* const api = tilesmith_api();
  if (api == nullptr) return nullptr;
  tilesmith_options options = TILESMITH_OPTIONS;
  options.device = number;
  options.allow_compile = 0;  // what is not recorded is forwarded anyway
  options.log_misses = 0;     // the shim tells them itself
  const std::string& named = settings().database;
  const std::lock_guard lock(loading_libraries());  // opening one loads the driver and what it needs
  const tilesmith_status status = named.empty() ? api->open_default_with_options(&options, &device.library)
                                                : api->open_with_options(named.c_str(), &options, &device.library);
  if (status != TILESMITH_OK) {
    say("%s; every call is forwarded", api->last_error());
    device.library = nullptr;
  } else if (*api->database(device.library) == '\0') {
    say("no database: expected TILESMITH_DB, or one of your own; every call is forwarded");
  }
  return device.library;
}

}  // namespace tilesmith::cublas
