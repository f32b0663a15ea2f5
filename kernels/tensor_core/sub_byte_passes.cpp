#include <fmt/format.h>

#include <algorithm>

#include "kernels/sub_byte.hpp"
#include "kernels/tensor_core/passes.hpp"
#include "kernels/tensor_core/sub_byte_layout.cuh"

namespace tilesmith::tensor_core {
namespace {

std::int64_t whole(std::int64_t items, std::int64_t of_one) { return (items + of_one - 1) / of_one; }

/// Those whose rows do not run along K.
int turned_operands(Transposes trans) { return (trans.a ? int(pack_a) : 0) | (trans.b ? 0 : int(pack_b)); }

}  // namespace

PackedOperands packed_sub_bytes(const Problem& problem, bool unpacked) {
  const int bits = int(size_bits(problem.type.a));
  const auto of = [&](std::int64_t extent, bool turns) {  // along M or N
    const std::int64_t row_bytes = unpacked ? problem.k : whole(problem.k * bits, 8);
    const std::int64_t chunks_of_row = packed_row_stride(row_bytes, 1) / (kPackedChunkBytes * (unpacked ? 8 / bits : 1));
    const std::int64_t blocks = turns ? whole(problem.k * bits, 8 * kTurnedTileBytes) * whole(extent, turned_rows(bits))
                                      : whole(extent * chunks_of_row, kPackThreads * kPackChunks);
    return PackedOperand{extent, row_bytes, blocks};
  };
  return {of(problem.m, problem.trans.a), of(problem.n, !problem.trans.b)};
}

int sub_bytes_to_pack(const Problem& problem, bool unpacked) {
  if (!is_sub_byte(problem.type.a)) return 0;
  if (unpacked) return pack_a | pack_b;
  const int turned = turned_operands(problem.trans);
  if (!ends_within_byte(problem)) return turned;
  if (problem.type.a == Scalar::b1xor) return pack_a | pack_b;
  if (turned != 0) return turned;
  return problem.m <= problem.n ? pack_a : pack_b;
}

std::optional<std::string> unpacked_sub_bytes(int pack, const Problem& problem) {
  if (!ends_within_byte(problem) || pack == (pack_a | pack_b)) return std::nullopt;
  if (pack != 0 && problem.type.a != Scalar::b1xor) return std::nullopt;
  return fmt::format("K is {}: rows end within a byte, whose other bits would count unless {} packed", problem.k,
                     problem.type.a == Scalar::b1xor ? "both operands are" : "an operand is");
}

bool unpacks(const KernelTarget& target) { return is_sub_byte(target.type.a) && !is_bit(target.type.a) && target.limits.sm >= 90; }

bool unpacks(const Config& config) { return config.has("unpack") && config.at("unpack") == 1; }

std::vector<Parameter> sub_byte_parameters(const KernelTarget& target) {
  if (!is_sub_byte(target.type.a)) return {};
  return {{"unpack", {unpacks(target) ? 1 : 0}, "1: elements of 4 bits become bytes as they are packed, since the chip multiplies these (sm_90)"}};
}

std::vector<Rule> sub_byte_rules(const KernelTarget& target, bool pack_k_major) {
  if (!is_sub_byte(target.type.a)) return {};
  const int turned = turned_operands(target.trans), least = unpacks(target) ? pack_a | pack_b : turned;
  std::vector<std::string> reads{"pack"};
  if (pack_k_major) reads.emplace_back("pack_k_major");
  return {{"rows along K",
           "operands below a byte are read in rows along K: those that lie otherwise are packed, and all that are unpacked",
           [=](const Config& c) {
             if ((c.at("pack") & least) != least) return false;
             return !pack_k_major || c.at("pack_k_major") == (turned != 0 ? 1 : 0);
           },
           std::move(reads)}};
}

}  // namespace tilesmith::tensor_core
