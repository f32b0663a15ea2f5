// What the families that multiply on tensor cores by PTX share on the host: split K, packing, and the launches they
// need beside the GEMM (passes.cuh).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "kernels/families/config.hpp"
#include "kernels/families/family.hpp"
#include "kernels/families/launch.hpp"
#include "kernels/problem/problem.hpp"
#include "kernels/problem/sub_byte.hpp"

namespace tilesmith::tensor_core {

/// Values of the parameter `reduction`, as in work.cuh.
enum Reduction { through_workspace = 0, atomic = 1, within_cluster = 2 };

/// Bits of the parameter `pack`.
enum Pack { pack_a = 1, pack_b = 2 };

/// Slices of K that a cluster adds.
int cluster_k(const Config& config);

/// Sums of each element that go through the workspace; 1: none does.
int partial_slices(const Config& config);

/// Whether there are launches beside the GEMM.
bool has_passes(const Config& config);

/// False where slices are added in no fixed order.
bool deterministic(const Config& config);

/// How far the rows of A and of B are aligned, bytes.
std::array<int, 2> operand_aligns(const Problem& problem);

/// Why the config cannot copy the operands in pieces of copy_bytes: a row that is not packed starts elsewhere.
std::optional<std::string> misaligned(const Config& config, const Problem& problem, int copy_bytes);

/// The packed copy of an operand.
struct PackedOperand {
  std::int64_t rows = 0, cols = 0;
  std::int64_t blocks = 0;  ///< that copy it
};
struct PackedOperands {
  PackedOperand a, b;
};

/// For a kernel that reads A, or B, in rows along K or not: as the operand is stored (AlignedCopy in pack.cuh), or,
/// where that is the other way, turned (KMajorCopy in k_major_copy.cuh).
PackedOperands packed_operands(const Problem& problem, bool a_k_major, bool b_k_major);

/// The same of operands below a byte, which are read in rows along K (sub_byte_copy.cuh); the problem as it is asked.
PackedOperands packed_sub_bytes(const Problem& problem, Widening widening);
/// Bits of those that must be packed: what does not run along K, what is widened, and whose last bytes hold more than K
/// where that would count. That is so of XOR for both, else for one, since zeros make nothing of the other.
int sub_bytes_to_pack(const Problem& problem, Widening widening);
/// Why a config must not leave them as they lie.
std::optional<std::string> ends_in_byte(int pack, const Problem& problem);
/// "Operands below a byte are read in rows along K"; none where there are no such operands. `pack_k_major`: the family
/// has this parameter.
std::vector<Rule> sub_byte_rules(const KernelTarget& target, Widening widening, bool pack_k_major);
/// `widen`; none where there are no such operands.
std::vector<Parameter> sub_byte_parameters(const KernelTarget& target, Widening widening);
/// Of a chip that multiplies bytes in the place of 4 bits bytes; where no instruction counts XOR the complement.
Widening widening(const KernelTarget& target, bool counts_xor);
Widening widening(const Config& config);

/// The product's columns as tiles have them: those of gated pairs in the order of paired_columns.cuh, by whole steps.
std::int64_t tiled_columns(const Problem& problem);

/// Of gated pairs: B must be read in rows along K.
Rule paired_columns_rule(
    const KernelTarget& target, bool (*b_k_major)(const Config&, Transposes), std::vector<std::string> reads);
/// Whether a packed B has rows in that order.
bool packs_pairs(const Config& config, const Problem& problem);

/// Why the accelerator cannot bring an unpacked B in this order; empty if it can, or need not.
std::optional<std::string> unpaired(const Config& config, const Problem& problem);
/// Says so of an unpacked B's box.
void pair_rows(TensorBox& box, const Config& config, const Problem& problem);

/// Of an operand: those of a batch, or one.
double matrices_of(const Problem& problem, OperandRole role);

/// Bytes of A or B that are read for an element of K: of a sparse operand half of them, and its metadata.
double stored_bytes(const Problem& problem, OperandRole role);

/// Of a batch: how many matrices the boxes' maps have.
void add_matrices(TensorBoxes& boxes, const Problem& problem);

/// The GEMM's launch with the passes that the config asks for, which have its operands and the caller's C. Where K = 0
/// there is nothing to pack.
LaunchSequence with_passes(
    Launch gemm, const Config& config, const Problem& problem, const PackedOperands& packed, bool overlap);

/// The same of a family that packs no operand, and has no parameter `pack`.
LaunchSequence with_passes(Launch gemm, const Config& config, const Problem& problem, bool overlap);

/// render_source(), and behind it the kernels that with_passes() launches, except for packing
/// (kernels/shared/load/passes.cuh). Groups need none: what adds their slices is the cluster.
std::string source_with_passes(const Config& config, const KernelTarget& target, const std::string& template_path,
    const std::string& definitions = {});

}  // namespace tilesmith::tensor_core
