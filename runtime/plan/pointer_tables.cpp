#include "runtime/plan/pointer_tables.hpp"

#include <span>
#include <vector>

namespace tilesmith::runtime {

void PointerTables::put(const Problem& problem, RunArgs& args) {
  if (problem.batch_mode != BatchMode::pointers) return;
  for (const OperandRole role : kOperandRoles) {
    void*& matrix = args.matrices[role];
    if (is_vector(role) || matrix == nullptr) continue;
    DeviceBuffer& table = tables_[{role, matrix}];
    const OperandMatrix of = operand(problem, role);
    const std::size_t bytes = std::size_t(problem.batch) * sizeof(std::byte*);
    if (table.size() < bytes) {
      std::vector<std::byte*> entries;
      // From the last to the first: a kernel that goes on from a pointer by a distance is wrong.
      for (std::int64_t entry = problem.batch; entry-- > 0;) entries.push_back(static_cast<std::byte*>(matrix) + storage_bytes(of.element, entry * of.entry_stride));
      table = DeviceBuffer(bytes);
      table.upload(std::as_bytes(std::span<std::byte*>(entries)));
    }
    matrix = table.data();
  }
}

}  // namespace tilesmith::runtime
