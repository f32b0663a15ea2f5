#include "tuner/measure/operand_sets.hpp"

#include <algorithm>
#include <span>
#include <vector>

#include "kernels/problem/group_ends.hpp"
#include "runtime/plan/pointer_tables.hpp"

namespace tilesmith::tuner {
namespace {

constexpr std::size_t kSlotBytes = 256;
constexpr std::size_t kMemoryShare = 4;  // at most a quarter of the device's memory

/// One matrix in all its copies, each in a slot of its own.
struct Slab {
  OperandRole role;
  runtime::DeviceBuffer memory = {};
  std::size_t slot_bytes = 0;
  std::size_t offset_bytes = 0;

  std::byte* at(int set) const { return memory.data() + std::size_t(set) * slot_bytes + offset_bytes; }
};

/// How far a base pointer lies past a slot's start, for exactly the alignment that the problem promises.
std::size_t misalignment(const Problem& problem, Scalar element) {
  const std::size_t align = std::max(std::size_t(problem.align_bytes), size_bytes(element));
  return align >= std::size_t(kDefaultAlignBytes) ? 0 : align;
}

std::size_t slot_bytes(std::int64_t matrix_bytes) {
  const std::size_t bytes = std::size_t(matrix_bytes) + kDefaultAlignBytes;
  return (bytes + kSlotBytes - 1) / kSlotBytes * kSlotBytes;
}

Slab make_slab(const Problem& problem, const OperandMatrix& matrix, int sets) {
  Slab slab{matrix.role};
  slab.slot_bytes = slot_bytes(matrix.bytes());
  slab.offset_bytes = misalignment(problem, matrix.element);
  slab.memory = runtime::DeviceBuffer(slab.slot_bytes * std::size_t(sets));
  return slab;
}

}  // namespace

int operand_set_count(std::size_t set_bytes, std::size_t l2_bytes, std::size_t memory_budget_bytes) {
  set_bytes = std::max<std::size_t>(set_bytes, 1);
  const std::size_t cold = 2 * l2_bytes / set_bytes + 1;
  const std::size_t wanted = std::clamp<std::size_t>(cold, 2, kMaxOperandSets);
  return int(std::max<std::size_t>(1, std::min(wanted, memory_budget_bytes / set_bytes)));
}

double timed_scalar(const Problem& problem, OperandRole role) {
  if (role == OperandRole::alpha) return 1;
  return problem.beta == BetaClass::zero ? 0 : is_integer(problem.type.scale) ? 1 : 0.5;
}

struct OperandSets::Impl {
  Problem problem;
  Rotation rotation;
  std::vector<Slab> slabs;
  runtime::PointerTables pointers = {};
};

OperandSets::OperandSets(RandomFill& random, const Problem& problem, std::uint64_t seed) {
  const std::vector<OperandMatrix> matrices = operands(problem);
  std::size_t set_bytes = 0;
  for (const OperandMatrix& matrix : matrices) set_bytes += slot_bytes(matrix.bytes());
  const runtime::DeviceInfo& device = random.context().info();
  const int count =
      operand_set_count(set_bytes, std::size_t(device.identity.l2_bytes), device.memory_bytes / kMemoryShare);
  impl_ = std::make_unique<Impl>(Impl{problem, Rotation(count), {}});
  const runtime::Stream stream;
  for (const OperandMatrix& matrix : matrices) {
    Slab& slab = impl_->slabs.emplace_back(make_slab(problem, matrix, count));
    if (matrix.role == OperandRole::offsets) {
      for (int set = 0; set < count; ++set)
        slab.memory.upload(std::as_bytes(std::span<const std::int32_t>(even_ends(problem.m, problem.batch))), std::size_t(set) * slab.slot_bytes + slab.offset_bytes);
      continue;
    }
    if (matrix.role == OperandRole::alpha || matrix.role == OperandRole::beta) {
      const Scale scale = runtime::to_scale(problem.type, timed_scalar(problem, matrix.role));
      for (int set = 0; set < count; ++set)
        slab.memory.upload(std::as_bytes(std::span(&scale, 1)).first(size_bytes(matrix.element)), std::size_t(set) * slab.slot_bytes + slab.offset_bytes);
      continue;
    }
    if (matrix.role == OperandRole::metadata) {
      slab.offset_bytes = 0;
      random.fill_metadata(slab.memory, 0, problem.type.a, seed * kOperandRoleCount + std::uint64_t(matrix.role), stream);
      continue;
    }
    // Filled from the first element's address on, so that elements and random values line up.
    random.fill(slab.memory, slab.offset_bytes, matrix.element, seed * kOperandRoleCount + std::uint64_t(matrix.role), stream);
  }
  stream.synchronize();
  for (int set = 0; set < count; ++set) {
    runtime::RunArgs args;
    put(set, args);  // makes arrays of pointers now, before anything is timed or captured
  }
}

OperandSets::~OperandSets() = default;
OperandSets::OperandSets(OperandSets&&) noexcept = default;
OperandSets& OperandSets::operator=(OperandSets&&) noexcept = default;

int OperandSets::count() const { return impl_->rotation.operand_sets(); }
Rotation& OperandSets::rotation() const { return impl_->rotation; }
void* OperandSets::at(OperandRole role, int set) const {
  const auto slab_of = [&](OperandRole which) { return std::ranges::find(impl_->slabs, which, &Slab::role); };
  const auto found = slab_of(role);
  return (found != impl_->slabs.end() ? found : slab_of(OperandRole::d))->at(set);  // C may be D
}
void OperandSets::put(int set, runtime::RunArgs& args) const {
  for (const Slab& slab : impl_->slabs) args.set(slab.role, slab.at(set));
  impl_->pointers.put(impl_->problem, args);
}
const Problem& OperandSets::problem() const { return impl_->problem; }

}  // namespace tilesmith::tuner
