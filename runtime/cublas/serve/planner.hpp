// A thread that plans what calls asked for, so that no call waits.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>

#include "runtime/cublas/serve/problem_table.hpp"

struct tilesmith_library;

namespace tilesmith::cublas {

/// Whether the database's records of a plan say that it is worth taking the call over; the reason if not.
Reason judge(const tilesmith_explanation& why) noexcept;

class Planner {
 public:
  /// Has the problem planned. Does nothing if it was asked for, or if too many wait: a later call asks again.
  void ask(KnownProblem& problem);
  /// Runs `flush` every now and then, from the first ask() or start() on.
  void start();
  /// Waits for the plan that is being made, for a while; makes no more.
  void stop();

  std::mutex& mutex() { return mutex_; }  // for a fork

 private:
  static constexpr std::size_t kMostWaiting = 1024;
  static constexpr int kMostDevices = 256;
  struct Device {
    tilesmith_library* library = nullptr;
    void* pool = nullptr;
    bool failed = false;
    bool has_pool = false;
  };

  void start_locked();
  static void* run(void* planner);
  void work();
  void plan(KnownProblem& problem);
  Reason plan_of(KnownProblem& problem);
  tilesmith_library* library_for(std::uint8_t device);

  std::mutex mutex_;  // guards what follows, to `devices_`
  std::condition_variable changed_;
  std::deque<KnownProblem*> waiting_;
  bool started_ = false, stopping_ = false, busy_ = false;
  Device devices_[kMostDevices];  // of the thread alone
};

}  // namespace tilesmith::cublas
