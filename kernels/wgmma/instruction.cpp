#include "kernels/wgmma/wgmma.hpp"

#include <fmt/format.h>

#include "kernels/problem/sub_byte.hpp"
#include "kernels/wgmma/columns.cuh"
#include "kernels/wgmma/even_tiles.cuh"

namespace tilesmith::wgmma {
namespace {

std::string_view ptx_type(Scalar scalar) {
  switch (scalar) {
    case Scalar::f16: return "f16";
    case Scalar::bf16: return "bf16";
    case Scalar::tf32:
    case Scalar::f32x3: return "tf32";
    case Scalar::s8:
    case Scalar::s4:  // as bytes
      return "s8";
    case Scalar::u8:
    case Scalar::u4: return "u8";
    case Scalar::b1:
    case Scalar::b1xor:  // by the AND of both rows and their complements
      return "b1";
    case Scalar::s32: return "s32";
    case Scalar::e4m3: return "e4m3";
    case Scalar::e5m2: return "e5m2";
    default: return "f32";
  }
}

/// Whether a step's products are summed from zero, and then added to the sums.
bool begins_from_zero(const KernelTarget& target) {
  return target.type.a == Scalar::f32x3 || scales_steps(target.type, target.signature());
}

/// The instruction of so many columns from column `first` on, as a statement.
std::string statement(const Config& config, const KernelTarget& target, int first, int columns) {
  const TypePair& type = target.type;
  const bool swap = config.at("swap") == 1, packed = size_bytes(type.accumulator) == 2,
             whole = is_integer(type.accumulator);
  const int of_register = packed ? 4 : 2, registers = columns / of_register;
  const std::string_view constraint = packed || whole ? "+r" : "+f";

  std::string sums, operands;
  for (int i = 0; i < registers; ++i) {
    sums += fmt::format("{}%{}", i == 0 ? "" : ", ", i);
    operands += fmt::format("{}\"{}\"(sums[{}])", i == 0 ? "" : ", ", constraint, first / of_register + i);
  }
  const bool left_words = takes_left_words(config, type, target.signature()), zeroes = begins_from_zero(target);
  // The operands' places behind the sums: the left one's descriptor or four words, the right one's descriptor, the
  // predicate's.
  const int right = registers + (left_words ? 4 : 1);
  const std::string left =
      left_words ? fmt::format("{{%{}, %{}, %{}, %{}}}", registers, registers + 1, registers + 2, registers + 3)
                 : fmt::format("%{}", registers);
  const std::string_view left_value =
      left_words ? "\"r\"(left[0]), \"r\"(left[1]), \"r\"(left[2]), \"r\"(left[3])" : "\"l\"(left)";
  const std::string predicate = zeroes ? fmt::format("setp.ne.b32 p, %{}, 0;", right + 1) : "setp.eq.b32 p, 0, 0;";
  // Behind the predicate: the signs of the operands (floating point), and which lie MN-major (16 bits).
  std::string immediates = whole ? "" : ", 1, 1";
  const bool bits = is_bit(type.a);
  if (size_bytes(type.a) == 2) {
    const bool a = a_k_major(config, target.trans), b = b_k_major(config, target.trans);
    if (!left_words) immediates += fmt::format(", {}", int(!(swap ? b : a)));
    immediates += fmt::format(", {}", int(!(swap ? a : b)));
  }
  const std::string_view operand = ptx_type(type.a);
  const bool sparse = target.sparsity != Sparsity::dense;
  return fmt::format(
      "  asm volatile(\n"
      "      \"{{ .reg .pred p; {} \"\n"
      "      \"wgmma.mma_async{}.sync.aligned.m64n{}k{}.{}.{}.{}{} {{{}}}, {}, %{}, {}p{}; }}\"\n"
      "      : {}\n"
      "      : {}, \"l\"({}){});\n",
      predicate, sparse ? ".sp" : "", columns, bits ? 256 : (sparse ? 64 : 32) / size_bytes(type.a),
      ptx_type(type.accumulator), operand, operand, bits ? ".and.popc" : "", sums, left, right,
      sparse ? fmt::format("%{}, %{}, ", right + 1, right + 2) : "", immediates, operands, left_value,
      first == 0 ? "right" : "beyond",
      zeroes   ? ", \"r\"(adds)"
      : sparse ? ", \"r\"(metadata), \"n\"(Selector)"
               : "");
}

/// Those of a tile of so many columns, narrower by `less`.
std::string statements(const Config& config, const KernelTarget& target, int columns, int less) {
  const int first = first_columns(columns);
  if (first == columns) return statement(config, target, 0, columns - less);
  return statement(config, target, 0, first) + statement(config, target, first, columns - first - less);
}

}  // namespace

std::string instruction_source(const Config& config, const KernelTarget& target) {
  const TypePair& type = target.type;
  const Geometry g(config, type, target.signature());
  const bool sparse = target.sparsity != Sparsity::dense;
  const bool packed = size_bytes(type.accumulator) == 2, whole = is_integer(type.accumulator);
  const std::string_view sum_type = packed ? "unsigned" : whole ? "int" : "float";
  const std::string_view left_argument =
      takes_left_words(config, type, target.signature()) ? "const unsigned (&left)[4]" : "unsigned long long left";
  if (begins_from_zero(target)) {
    return fmt::format(
        "namespace tilesmith {{\n"
        "__device__ __forceinline__ void multiply({} (&sums)[{}], {}, unsigned long long right, int adds) {{\n{}}}\n"
        "}}  // namespace tilesmith\n",
        sum_type, g.right_extent / 2, left_argument, statement(config, target, 0, g.right_extent));
  }
  std::string body = statements(config, target, g.right_extent, 0);
  if (config.at("even") == 1) {
    body = fmt::format("  if constexpr (Narrow) {{\n{}  }} else {{\n{}  }}\n",
        statements(config, target, g.right_extent, kEvenStep), body);
  }
  return fmt::format(
      "namespace tilesmith {{\n"
      "template <bool Narrow{}>\n"
      "__device__ __forceinline__ void multiply({} (&sums)[{}], {}, unsigned long long right, "
      "unsigned long long beyond{}) {{\n{}}}\n"
      "}}  // namespace tilesmith\n",
      sparse ? ", int Selector" : "", sum_type, g.right_extent / (packed ? 4 : 2), left_argument,
      sparse ? ", unsigned metadata" : "", body);
}

}  // namespace tilesmith::wgmma
