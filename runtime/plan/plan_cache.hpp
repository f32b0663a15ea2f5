// The plans that Library::gemm() keeps, found by problem without a lock.
//
// An open-addressing table of pointers. A look-up reads it and waits for nobody. A plan is added under the lock, and is neither
// moved nor changed until clear(). A table that gets full is replaced by one of twice the size; readers may still walk the
// former one, so it is kept until clear(). All former tables together are smaller than the last.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <type_traits>
#include <vector>

#include "runtime/plan/plan.hpp"

namespace tilesmith::runtime {

/// Every field of a Problem, in a form that is hashed and compared as bytes.
struct PlanKey {
  static constexpr std::size_t kTextBytes = 16;

  std::array<char, kTextBytes> type{};  // padded with 0
  std::int64_t m = 0, n = 0, k = 0, lda = 0, ldb = 0, ldc = 0, batch = 0, stride_a = 0, stride_b = 0, stride_c = 0;
  std::int64_t align_bytes = 0;
  std::uint8_t trans_a = 0, trans_b = 0, beta = 0, c_apart = 0, scale_m = 0, scale_n = 0, bias = 0, bias_is_f32 = 0, activation = 0, batch_mode = 0, sparsity = 0, scalars = 0, weight_type = 0, weight_group = 0, weight_zeros = 0, weight_f32_scales = 0;

  bool operator==(const PlanKey&) const = default;
};
static_assert(std::has_unique_object_representations_v<PlanKey>, "its bytes are hashed");

/// The key of a problem with this alignment and beta class in place of its own. Throws std::invalid_argument if a name has more than
/// kTextBytes characters.
PlanKey key_of(const Problem& problem, int align_bytes, BetaClass beta);

class PlanCache {
 public:
  PlanCache() = default;
  PlanCache(const PlanCache&) = delete;
  PlanCache& operator=(const PlanCache&) = delete;

  /// Null if there is none. Any number of threads at a time, beside find_or_make() too.
  const Plan* find(const PlanKey& key) const noexcept;

  /// The plan of the key; made, under the lock, if there is none. What `make` throws leaves the cache as it was.
  const Plan& find_or_make(const PlanKey& key, const std::function<Plan()>& make);

  /// Destroys all plans. No other call may be running, and no plan may be in use.
  void clear() noexcept;

 private:
  struct Entry {
    PlanKey key;
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
