#include <utility>

#include "kernels/families/passes.hpp"
#include "kernels/families/shared_rules.hpp"
#include "kernels/mma/mma.hpp"
#include "kernels/problem/sparsity.hpp"

namespace tilesmith::mma {
namespace {

std::vector<int> scaled(std::initializer_list<int> bytes, const TypePair& type) {
  std::vector<int> elements;
  for (int value : bytes) elements.push_back(value / int(size_bytes(type.a)));
  return elements;
}

std::vector<int> instruction_ks(const KernelTarget& target) {
  if (target.type.a != Scalar::f64) return {slab_k(target.type, 0)};
  // m8n8k4 is there from sm_80 on, m16n8k8 and m16n8k16 from sm_90 on.
  return target.limits.features.wide_f64 ? std::vector{4, 8, 16} : std::vector{4};
}

std::vector<int> copy_widths(const TypePair& type) {
  switch (size_bytes(type.a)) {
    case 1: return {16, 8, 4, 1};
    case 2: return {16, 8, 4, 2};
    case 4: return {16, 8, 4};
    default: return {16, 8};
  }
}

}  // namespace

bool supports(const KernelTarget& target) {
  const bool multiplies = has_instruction(target.type.a) || (is_fp8(target.type.a) && target.limits.features.fp8_mma);
  const KernelSignature numbers = without_block_scales(without_sparsity(target));
  const bool scaled_gate = target.epilogue.has_block_scales() && target.epilogue.is_gated();
  return is_plain_but_epilogue_and_batch(numbers) && multiplies && packs_for(target) && !scaled_gate;
}

std::vector<Parameter> parameters(const KernelTarget& target) {
  const TypePair& type = target.type;
  const Features& features = target.limits.features;
  const bool sparse = target.sparsity != Sparsity::dense;
  std::vector<int> reductions{through_workspace, atomic};
  if (features.clusters) reductions.push_back(within_cluster);
  std::vector<Parameter> all{
      {"inst_k", instruction_ks(target), "elements of K of one mma instruction"},
      {"block_m", {16, 32, 64, 96, 128, 160, 192, 256}, "rows of C a block computes"},
      {"block_n", {16, 32, 64, 96, 128, 160, 192, 256}, "columns of C a block computes"},
      {"warp_m", {16, 32, 48, 64, 128}, "rows of C a warp computes"},
      {"warp_n", {16, 32, 48, 64, 128}, "columns of C a warp computes"},
      {"swap",
          sparse                                              ? std::vector{int(target.sparsity == Sparsity::b)}
          : type.a == Scalar::tf32 || type.a == Scalar::f32x3 ? std::vector{0, 1}
                                                              : std::vector{0},
          "1: B is the instruction's left operand, of 16 rows, and A the right one, of 8"},
      {"block_k", sparse ? scaled({128, 256}, type) : scaled({64, 128}, type), "K-step: elements of K in a stage"},
      {"stages", {2, 3, 4, 6, 8}, "buffers in shared memory, filled ahead by cp.async"},
      {"slice_k", sparse ? std::vector{1} : std::vector{1, 2},
          "sliced K: warps that share a tile, each taking every so-manieth slab of a K-step"},
      {"frag_buffers", type.a == Scalar::f32x3 ? std::vector{2} : std::vector{1, 2},
          "slabs of fragments in registers: 2 loads the next while one is multiplied"},
      {"min_blocks", {1, 2}, "blocks an SM must have room for: the compiler keeps to that share of the registers"},
      {"group_m", {1, 4, 8, 16}, "tile rows walked together, so that running blocks share operands in the L2"},
      {"persistent", {0, 1},
          "1: as many blocks as fit the device, each doing tile after tile, the next one's copies under way "
          "during the epilogue; 0: a block a tile"},
      {"store_staged", {0, 1},
          "1: C through shared memory, in 16-byte stores of whole rows; 0: straight from registers"},
      {"split_k", {1, 2, 4, 8, 16, 32, 64}, "slices of K computed by different blocks and added afterwards"},
      {"reduction", reductions,
          "how slices are added: 0 through the workspace and a second launch; 1 atomically (not "
          "deterministic in floating point); 2 among the up to 8 blocks of a cluster (sm_90), "
          "what is left through the workspace"},
      {"copy_bytes", copy_widths(type), "width of a copy from global to shared memory"},
      {"tma", off_or_on(features.tma && !sparse),
          "1: a warp of its own has the tensor memory accelerator copy whole tiles (sm_90); 0: every thread copies its "
          "chunks"},
      {"pack", {0, pack_a, pack_b, pack_a | pack_b}, "operands copied into aligned scratch first: 1 A, 2 B, 3 both"},
      {"pack_k_major", size_bytes(type.a) == 8 ? std::vector{0} : std::vector{0, 1},
          "1: packed operands that lie along M or N are turned K-major on the way; 0: they lie as they did"},
      {"overlap", off_or_on(features.dependent_launch),
          "1: a launch starts while the one before it ends, and waits for its results (sm_90)"},
      early_launch_parameter(target),
  };
  for (Parameter& parameter : sub_byte_parameters(target, widening(target, true))) all.push_back(std::move(parameter));
  return all;
}

}  // namespace tilesmith::mma
