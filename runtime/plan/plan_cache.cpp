#include "runtime/plan/plan_cache.hpp"

#include <fmt/format.h>
#include <xxhash.h>

#include <stdexcept>
#include <string_view>

namespace tilesmith::runtime {
namespace {

constexpr std::size_t kFirstSlots = 64;

void put_text(std::array<char, PlanKey::kTextBytes>& field, std::string_view text) {
  if (text.size() > field.size()) {
    throw std::invalid_argument(fmt::format("'{}': expected a name of at most {} characters", text, field.size()));
  }
  text.copy(field.data(), text.size());
}

std::size_t hash_of(const PlanKey& key) noexcept { return XXH3_64bits(&key, sizeof key); }

}  // namespace

PlanKey key_of(const Problem& problem, int align_bytes, BetaClass beta) {
  // A field that a problem or a signature gets does not compile here until it is in the key.
  static_assert(sizeof(Problem) == sizeof(KernelSignature) + 11 * sizeof(std::int64_t));
  const auto& [type, trans, epilogue, batch_mode, sparsity, scalars, weights] = problem.signature();
  PlanKey key;
  put_text(key.type, type.name);
  const auto& [c_apart, scale_m, scale_n, bias, bias_is_f32, activation] = epilogue;
  key.c_apart = c_apart ? 1 : 0;
  key.scale_m = std::uint8_t(scale_m);
  key.scale_n = std::uint8_t(scale_n);
  key.bias = std::uint8_t(bias);
  key.bias_is_f32 = bias_is_f32 ? 1 : 0;
  key.activation = std::uint8_t(activation);
  key.batch_mode = std::uint8_t(batch_mode);
  key.sparsity = std::uint8_t(sparsity);
  key.scalars = std::uint8_t(scalars);
  const auto& [weight_type, weight_group, weight_zeros, weight_f32_scales] = weights;
  key.weight_type = std::uint8_t(weight_type);
  key.weight_group = std::uint8_t(weight_group);
  key.weight_zeros = weight_zeros ? 1 : 0;
  key.weight_f32_scales = weight_f32_scales ? 1 : 0;
  key.m = problem.m;
  key.n = problem.n;
  key.k = problem.k;
  key.lda = problem.lda;
  key.ldb = problem.ldb;
  key.ldc = problem.ldc;
  key.batch = problem.batch;
  key.stride_a = problem.stride_a;
  key.stride_b = problem.stride_b;
  key.stride_c = problem.stride_c;
  key.align_bytes = align_bytes;
  key.trans_a = trans.a ? 1 : 0;
  key.trans_b = trans.b ? 1 : 0;
  key.beta = beta == BetaClass::zero ? 0 : 1;
  return key;
}

const Plan* PlanCache::find(const PlanKey& key) const noexcept {
  const Table* table = current_.load(std::memory_order_acquire);
  if (table == nullptr) return nullptr;
  const std::size_t mask = table->slots.size() - 1;
  for (std::size_t at = hash_of(key) & mask;; at = (at + 1) & mask) {
    const Entry* entry = table->slots[at].load(std::memory_order_acquire);
    if (entry == nullptr) return nullptr;
    if (entry->key == key) return &entry->plan;
  }
}

const Plan& PlanCache::find_or_make(const PlanKey& key, const std::function<Plan()>& make) {
  const std::lock_guard lock(mutex_);
  if (const Plan* known = find(key)) return *known;  // another thread made it meanwhile
  if (tables_.empty() || 2 * (entries_.size() + 1) > tables_.back()->slots.size()) add_table();
  const Entry& entry = entries_.emplace_back(Entry{key, make()});
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
  std::size_t at = hash_of(entry.key) & mask;
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
