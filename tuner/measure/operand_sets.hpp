// The operands that a problem is timed on: random, and enough copies of them that results come from memory, not the L2.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/problem/operand.hpp"
#include "runtime/plan/plan.hpp"
#include "runtime/plan/pointer_tables.hpp"
#include "tuner/measure/random_fill.hpp"
#include "tuner/measure/rotation.hpp"

namespace tilesmith::tuner {

/// No more sets than this. A rotation through this many may be smaller than twice the L2 (operands of less than some
/// hundred KiB): the stopwatch then scrubs the L2 before each sample.
inline constexpr int kMaxOperandSets = 256;

/// How many sets to make: the fewest, at least two, that are together larger than twice the L2; fewer if they would not
/// fit `memory_budget_bytes` (then at least one). All sizes in bytes.
int operand_set_count(std::size_t set_bytes, std::size_t l2_bytes, std::size_t memory_budget_bytes);

/// α and β that problems are timed with: 1, and 0 or, where the beta class is `any`, 0.5 (1 of integers, which wrap):
/// repeated runs on the same C stay bounded.
double timed_scalar(const Problem& problem, OperandRole role);

/// Operand sets for one problem: its operands() in as many copies as make the rotation larger than twice the L2.
/// D holds random data too, as C: finite, so that it may be read where β ≠ 0. Base pointers are aligned to the
/// problem's align_bytes and not by more, so that what is timed is what the caller will get. Groups are split evenly
/// (group_ends.hpp).
class OperandSets {
 public:
  OperandSets(RandomFill& random, const Problem& problem, std::uint64_t seed = 1);
  int count() const { return rotation_.operand_sets(); }
  /// In which order they are read by all that are timed on them.
  Rotation& rotation() const { return rotation_; }
  /// A matrix of one set. C and D are one.
  void* at(OperandRole role, int set) const;
  /// Points a run at a set.
  void put(int set, runtime::RunArgs& args) const;
  const Problem& problem() const { return problem_; }

 private:
  /// One matrix in all its copies, each in a slot of its own.
  struct Slab {
    OperandRole role;
    runtime::DeviceBuffer memory = {};
    std::size_t slot_bytes = 0;
    std::size_t offset_bytes = 0;

    std::byte* at(int set) const { return memory.data() + std::size_t(set) * slot_bytes + offset_bytes; }
  };
  static Slab make_slab(const Problem& problem, const OperandMatrix& matrix, int sets);

  Problem problem_;
  mutable Rotation rotation_;
  std::vector<Slab> slabs_;
  mutable runtime::PointerTables pointers_;
};

}  // namespace tilesmith::tuner
