// The problems that were met, found by key without a lock, and what is known of each.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

#include "runtime/cublas/calls/problem_key.hpp"
#include "runtime/cublas/calls/reason.hpp"

struct tilesmith_plan;

namespace tilesmith::cublas {

enum class State : std::uint8_t { met, waiting, take, forward };

using CallCounts = std::array<std::atomic<std::uint64_t>, kReasons>;  // [none]: taken over

struct KnownProblem {
  explicit KnownProblem(const ProblemKey& of) : key(of) {}

  const ProblemKey key;
  std::atomic<State> state{State::met};
  std::atomic<Reason> reason{Reason::waiting};  // while it is not taken over
  // Written before the state is `take`, then never again.
  tilesmith_plan* plan = nullptr;
  std::uint64_t workspace_bytes = 0;
  void* pool = nullptr;
  double ours_us = 0, vendor_us = 0;
  CallCounts calls{};
};

class ProblemTable {
 public:
  ProblemTable();

  /// Null: it is full.
  KnownProblem* find_or_add(const ProblemKey& key);
  /// All there are now, in the order in which they were met.
  std::vector<KnownProblem*> all();

  std::mutex& mutex() { return mutex_; }  // for a fork

 private:
  static constexpr std::size_t kSlots = 1 << 15;
  static constexpr std::size_t kMost = kSlots / 2;

  std::atomic<KnownProblem*>* slots_;  // zeroed pages: those that are not touched take no memory
  std::mutex mutex_;
  std::vector<KnownProblem*> known_;
};

}  // namespace tilesmith::cublas
