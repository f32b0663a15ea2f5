#include <fmt/format.h>

#include <algorithm>

#include "kernels/families/passes.hpp"
#include "kernels/problem/sub_byte.hpp"
#include "kernels/shared/load/sub_byte_layout.cuh"

namespace tilesmith::tensor_core {
namespace {

std::int64_t whole(std::int64_t items, std::int64_t of_one) { return (items + of_one - 1) / of_one; }

/// Those whose rows do not run along K.
int turned_operands(Transposes trans) { return (trans.a ? int(pack_a) : 0) | (trans.b ? 0 : int(pack_b)); }

}  // namespace

PackedOperands packed_sub_bytes(const Problem& problem, Widening widening) {
  const int bits = int(size_bits(problem.type.a));
  const std::int64_t row_bytes = multiplied_row_bytes(problem, widening);
  const auto of = [&](std::int64_t extent, bool turns) {  // along M or N
    const std::int64_t blocks =
        turns ? whole(storage_bytes(problem.type.a, problem.k), kTurnedTileBytes) * whole(extent, turned_rows(bits))
              : whole(extent * pieces_of_row(problem.k, bits, int(widening)), kPackThreads * kPackedPieces);
    return PackedOperand{extent, row_bytes, blocks};
  };
  return {of(problem.m, problem.trans.a), of(problem.n, !problem.trans.b)};
}

int sub_bytes_to_pack(const Problem& problem, Widening widening) {
  if (!is_sub_byte(problem.type.a)) return 0;
  if (widening != Widening::none) return pack_a | pack_b;
  const int turned = turned_operands(problem.trans);
  if (!ends_within_byte(problem)) return turned;
  if (problem.type.a == Scalar::b1xor) return pack_a | pack_b;
  if (turned != 0) return turned;
  return problem.m <= problem.n ? pack_a : pack_b;
}

std::optional<std::string> ends_in_byte(int pack, const Problem& problem) {
  if (!ends_within_byte(problem) || pack == (pack_a | pack_b)) return std::nullopt;
  if (pack != 0 && problem.type.a != Scalar::b1xor) return std::nullopt;
  return fmt::format("K is {}: rows end within a byte, whose other bits would count unless {} packed", problem.k,
      problem.type.a == Scalar::b1xor ? "both operands are" : "an operand is");
}

Widening widening(const KernelTarget& target, bool counts_xor) {
  if (!is_sub_byte(target.type.a)) return Widening::none;
  if (!is_bit(target.type.a)) return target.limits.features.four_bit_products ? Widening::none : Widening::bytes;
  return target.type.a == Scalar::b1xor && !counts_xor ? Widening::complement : Widening::none;
}

Widening widening(const Config& config) { return config.has("widen") ? Widening(config.at("widen")) : Widening::none; }

std::vector<Parameter> sub_byte_parameters(const KernelTarget& target, Widening widening) {
  if (!is_sub_byte(target.type.a)) return {};
  return {{"widen", {int(widening)},
      "what packing makes of operands below a byte: 0 nothing else; 1 bytes of 4 bits, since the chip multiplies these (sm_90); 2 rows of bits "
      "and their complement, since the instruction counts AND alone"}};
}

std::vector<Rule> sub_byte_rules(const KernelTarget& target, Widening widening, bool pack_k_major) {
  if (!is_sub_byte(target.type.a)) return {};
  const int turned = turned_operands(target.trans), least = widening != Widening::none ? pack_a | pack_b : turned;
  std::vector<std::string> reads{"pack"};
  if (pack_k_major) reads.emplace_back("pack_k_major");
  return {{"rows along K",
      "operands below a byte are read in rows along K: those that lie otherwise are packed, and all that are widened",
      [=](const Config& c) {
        if ((c.at("pack") & least) != least) return false;
        return !pack_k_major || c.at("pack_k_major") == (turned != 0 ? 1 : 0);
      },
      std::move(reads)}};
}

}  // namespace tilesmith::tensor_core
