#include "runtime/cublas/serve/problem_table.hpp"

#include <cstdlib>
#include <new>

namespace tilesmith::cublas {

ProblemTable::ProblemTable() : slots_(static_cast<std::atomic<KnownProblem*>*>(std::calloc(kSlots, sizeof *slots_))) {
  static_assert(sizeof(std::atomic<KnownProblem*>) == sizeof(void*));
  if (slots_ == nullptr) throw std::bad_alloc();
}

KnownProblem* ProblemTable::find_or_add(const ProblemKey& key) {
  std::size_t at = hash_of(key) % kSlots;
  const auto find = [&] {
    KnownProblem* known = slots_[at].load(std::memory_order_acquire);
    for (; known != nullptr && !(known->key == key); known = slots_[at].load(std::memory_order_acquire))
      at = (at + 1) % kSlots;
    return known;
  };
  if (KnownProblem* const known = find()) return known;
  const std::lock_guard lock(mutex_);
  if (KnownProblem* const known = find()) return known;  // another thread may have added it meanwhile
  if (known_.size() == kMost) return nullptr;
  auto* const added = new KnownProblem(key);
  known_.push_back(added);
  slots_[at].store(added, std::memory_order_release);
  return added;
}

std::vector<KnownProblem*> ProblemTable::all() {
  const std::lock_guard lock(mutex_);
  return known_;
}

}  // namespace tilesmith::cublas
