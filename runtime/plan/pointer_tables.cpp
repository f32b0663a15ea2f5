#include "runtime/plan/pointer_tables.hpp"

#include <numeric>
#include <span>
#include <utility>
#include <vector>

namespace tilesmith::runtime {

namespace {

/// 0 to count − 1 in an order that no distance describes: always the same, and so of every role, which leaves each
/// result in its place.
std::vector<std::int64_t> shuffled(std::int64_t count) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(count));
  std::iota(order.begin(), order.end(), std::int64_t{0});
  std::uint64_t state = 0x9E3779B97F4A7C15u;
  for (std::size_t last = order.size();
       last-- > 1;) {  // Sattolo's: one cycle through all, so that none is in its own place
    state = state * 6364136223846793005u + 1442695040888963407u;
    std::swap(order[last], order[std::size_t((state >> 33) % last)]);
  }
  return order;
}

}  // namespace

void PointerTables::put(const Problem& problem, RunArgs& args) {
  if (problem.batch_mode != BatchMode::pointers) return;
  for (const OperandRole role : kOperandRoles) {
    void*& matrix = args.matrices[role];
    if (is_vector(role) || matrix == nullptr) continue;
    const OperandMatrix of = operand(problem, role);
    const std::int64_t apart = storage_bytes(of.element, of.entry_stride);
    const auto [found, is_new] = tables_.try_emplace({matrix, apart, problem.batch});
    if (is_new) {
      std::vector<std::byte*> entries;
      for (const std::int64_t entry : shuffled(problem.batch))
        entries.push_back(static_cast<std::byte*>(matrix) + entry * apart);
      found->second = DeviceBuffer(entries.size() * sizeof entries[0]);
      found->second.upload(std::as_bytes(std::span<std::byte*>(entries)));
    }
    matrix = found->second.data();
  }
}

}  // namespace tilesmith::runtime
