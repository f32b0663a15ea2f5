// The plans that Library::gemm() keeps, found by problem without a lock.
//
// An open-addressing table of pointers. A plan is added under the lock, and neither moved nor changed until clear(). A
// table that gets full is replaced by one of twice the size; readers may still walk the former one, so it is kept until
// clear().
#pragma once

#include <atomic>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "runtime/plan/plan.hpp"

namespace tilesmith::runtime {

class PlanCache {
 public:
  PlanCache() = default;
  PlanCache(const PlanCache&) = delete;
  PlanCache& operator=(const PlanCache&) = delete;

  /// Null if there is none. Any number of threads at a time, beside find_or_make() too.
  const Plan* find(const Problem& problem) const noexcept;

  /// The plan of the problem; made, under the lock, if there is none. What `make` throws leaves the cache as it was.
  const Plan& find_or_make(const Problem& problem, const std::function<Plan()>& make);

  /// Destroys all plans. No other call may be running, and no plan may be in use.
  void clear() noexcept;

 private:
  struct Entry {
    Problem problem;
    Plan plan;
  };
  struct Table {
    explicit Table(std::size_t size) : slots(size) {}
    std::vector<std::atomic<const Entry*>> slots;  // a power of two, at most half of them in use
  };
  static void put(Table& table, const Entry& entry) noexcept;
  void add_table();

  std::atomic<const Table*> current_{nullptr};
  std::mutex mutex_;  // guards all below
  std::vector<std::unique_ptr<Table>> tables_;
  std::deque<Entry> entries_;
};

}  // namespace tilesmith::runtime
