#include "runtime/plan/plan_cache.hpp"

#include <xxhash.h>

namespace tilesmith::runtime {
namespace {

constexpr std::size_t kFirstSlots = 64;

/// Equality looks at every field. A field that is not here only makes look-ups longer.
std::size_t hash_of(const Problem& problem) noexcept {
  std::uint64_t options = 0;
  const auto add = [&options](auto value, int bits) { options = options << bits | std::uint64_t(value); };
  add(problem.type.a, 5), add(problem.type.accumulator, 5), add(problem.type.output, 5);
  add(problem.trans.a, 1), add(problem.trans.b, 1), add(problem.beta, 1), add(problem.align_bytes, 5);
  add(problem.epilogue.activation, 4), add(problem.epilogue.bias, 2), add(problem.epilogue.scale_m, 3),
      add(problem.epilogue.scale_n, 3);
  add(problem.batch_mode, 2);
  const std::int64_t words[] = {std::int64_t(options), problem.m, problem.n, problem.k, problem.lda, problem.ldb,
      problem.ldc, problem.batch, problem.stride_a, problem.stride_b, problem.stride_c};
  return XXH3_64bits(words, sizeof words);
}

}  // namespace

const Plan* PlanCache::find(const Problem& problem) const noexcept {
  const Table* table = current_.load(std::memory_order_acquire);
  if (table == nullptr) return nullptr;
  const std::size_t mask = table->slots.size() - 1;
  for (std::size_t at = hash_of(problem) & mask;; at = (at + 1) & mask) {
    const Entry* entry = table->slots[at].load(std::memory_order_acquire);
    if (entry == nullptr) return nullptr;
    if (entry->problem == problem) return &entry->plan;
  }
}

const Plan& PlanCache::find_or_make(const Problem& problem, const std::function<Plan()>& make) {
  const std::lock_guard lock(mutex_);
  if (const Plan* known = find(problem)) return *known;  // another thread made it meanwhile
  if (tables_.empty() || 2 * (entries_.size() + 1) > tables_.back()->slots.size()) add_table();
  const Entry& entry = entries_.emplace_back(Entry{problem, make()});
  put(*tables_.back(), entry);
  return entry.plan;
}

void PlanCache::add_table() {
  const std::size_t size = tables_.empty() ? kFirstSlots : 2 * tables_.back()->slots.size();
  Table& table = *tables_.emplace_back(std::make_unique<Table>(size));
  for (const Entry& known : entries_) put(table, known);
  current_.store(&table, std::memory_order_release);
}

void PlanCache::put(Table& table, const Entry& entry) noexcept {
  const std::size_t mask = table.slots.size() - 1;
  std::size_t at = hash_of(entry.problem) & mask;
  while (table.slots[at].load(std::memory_order_relaxed) != nullptr) at = (at + 1) & mask;
  table.slots[at].store(&entry, std::memory_order_release);
}

void PlanCache::clear() noexcept {
  const std::lock_guard lock(mutex_);
  current_.store(nullptr, std::memory_order_release);
  tables_.clear();
  entries_.clear();
}

}  // namespace tilesmith::runtime
