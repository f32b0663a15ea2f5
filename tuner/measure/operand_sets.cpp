#include "tuner/measure/operand_sets.hpp"

#include <algorithm>
#include <span>

#include "kernels/problem/group_ends.hpp"

namespace tilesmith::tuner {
namespace {

constexpr std::size_t kSlotBytes = 256;
constexpr std::size_t kMemoryShare = 4;  // at most a quarter of the device's memory

/// How far a base pointer lies past a slot's start, for exactly the alignment that the problem promises.
std::size_t misalignment(const Problem& problem, Scalar element) {
  const std::size_t align = std::max(std::size_t(problem.align_bytes), size_bytes(element));
  return align >= std::size_t(kDefaultAlignBytes) ? 0 : align;
}

std::size_t slot_bytes(std::int64_t matrix_bytes) {
  const std::size_t bytes = std::size_t(matrix_bytes) + kDefaultAlignBytes;
  return (bytes + kSlotBytes - 1) / kSlotBytes * kSlotBytes;
}

/// As many as the device has memory for.
int sets_of(const Problem& problem, const runtime::DeviceInfo& device) {
  std::size_t set_bytes = 0;
  for (const OperandMatrix& matrix : operands(problem)) set_bytes += slot_bytes(matrix.bytes());
  return operand_set_count(set_bytes, std::size_t(device.identity.l2_bytes), device.memory_bytes / kMemoryShare);
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

OperandSets::Slab OperandSets::make_slab(const Problem& problem, const OperandMatrix& matrix, int sets) {
  Slab slab{matrix.role};
  slab.slot_bytes = slot_bytes(matrix.bytes());
  slab.offset_bytes = matrix.role == OperandRole::metadata ? 0 : misalignment(problem, matrix.element);
  slab.memory = runtime::DeviceBuffer(slab.slot_bytes * std::size_t(sets));
  return slab;
}

OperandSets::OperandSets(RandomFill& random, const Problem& problem, std::uint64_t seed)
    : problem_(problem), rotation_(sets_of(problem, random.context().info())) {
  const runtime::Stream stream;
  for (const OperandMatrix& matrix : operands(problem)) {
    Slab& slab = slabs_.emplace_back(make_slab(problem, matrix, count()));
    const std::uint64_t slab_seed = seed * kOperandRoleCount + std::uint64_t(matrix.role);
    const auto upload = [&](std::span<const std::byte> bytes) {
      for (int set = 0; set < count(); ++set)
        slab.memory.upload(bytes, std::size_t(set) * slab.slot_bytes + slab.offset_bytes);
    };
    if (matrix.role == OperandRole::offsets) {
      upload(std::as_bytes(std::span<const std::int32_t>(even_ends(problem.m, problem.batch))));
    } else if (matrix.role == OperandRole::alpha || matrix.role == OperandRole::beta) {
      const Scale scale = runtime::to_scale(problem.type, timed_scalar(problem, matrix.role));
      upload(std::as_bytes(std::span(&scale, 1)).first(size_bytes(matrix.element)));
    } else if (matrix.role == OperandRole::metadata) {
      random.fill_metadata(slab.memory, 0, problem.type.a, slab_seed, stream);
    } else {  // from the first element's address on, so that elements and random values line up
      random.fill(slab.memory, slab.offset_bytes, matrix.element, slab_seed, stream);
    }
  }
  stream.synchronize();
  for (int set = 0; set < count(); ++set) {
    runtime::RunArgs args;
    put(set, args);  // makes arrays of pointers now, before anything is timed or captured
  }
}

void* OperandSets::at(OperandRole role, int set) const {
  const auto slab_of = [&](OperandRole which) { return std::ranges::find(slabs_, which, &Slab::role); };
  const auto found = slab_of(role);
  return (found != slabs_.end() ? found : slab_of(OperandRole::d))->at(set);  // C may be D
}

void OperandSets::put(int set, runtime::RunArgs& args) const {
  for (const Slab& slab : slabs_) args.set(slab.role, slab.at(set));
  pointers_.put(problem_, args);
}

}  // namespace tilesmith::tuner
