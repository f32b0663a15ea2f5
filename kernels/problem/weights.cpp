#include "kernels/problem/weights.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "kernels/problem/operand.hpp"

namespace tilesmith {

Scalar weight_element(WeightType type) {
  switch (type) {
    case WeightType::s4: return Scalar::s4;
    case WeightType::u4:
    case WeightType::q4_k:
    case WeightType::q6_k:
    case WeightType::e2m1:
    case WeightType::nf4: return Scalar::u4;
    case WeightType::s8: return Scalar::s8;
    case WeightType::e4m3: return Scalar::e4m3;
    case WeightType::none: break;
  }
  throw std::invalid_argument("a signature without weights was asked for their type");
}

int weight_offset(WeightType type) {
  return type == WeightType::s4 ? 8 : type == WeightType::s8 ? 128 : type == WeightType::q6_k ? 32 : 0;
}

Scalar weight_scale_element(const KernelSignature& signature) {
  const TypePair& type = signature.type;
  if (signature.weights.type == WeightType::q6_k) return Scalar::s8;
  return signature.weights.f32_scales ? Scalar::f32 : size_bytes(type.a) == 1 ? type.output : type.a;
}

int weight_block_columns(WeightType type) { return code_block_columns(int(size_bits(weight_element(type)))); }

int weight_block_bytes(WeightType type) { return type == WeightType::q6_k ? kSixBitBlockBytes : kCodeBlockBytes; }

std::int64_t weight_block_rows(std::int64_t n) { return (n + kCodeBlockRows - 1) / kCodeBlockRows; }

std::int64_t weight_blocks_along_k(WeightType type, std::int64_t k) {
  const std::int64_t columns = weight_block_columns(type);
  return (k + columns - 1) / columns;
}

std::int64_t weight_k_multiple(const Weights& weights) {
  return is_k_quant(weights.type) ? kSuperColumns : std::max(1, weights.group);
}

std::int64_t weight_groups(const Weights& weights, std::int64_t k) {
  return weights.group == 0 ? 1 : k / weights.group;
}

bool takes_weights(const TypePair& type, const Weights& weights) {
  if (type.name == "f16f32f16" || type.name == "bf16f32bf16") return true;
  const bool bytes = type.name == "e4m3f32" || type.name == "e4m3f32f16" || type.name == "e4m3f32bf16" ||
                     type.name == "s8s32f16" || type.name == "s8s32bf16";
  const bool codes =
      weights.type == WeightType::s4 || weights.type == WeightType::u4 || weights.type == WeightType::e2m1;
  return bytes && codes && (type.output != Scalar::f32 || weights.f32_scales);  // one text for scales of f32
}

std::optional<std::string> weights_error(const Problem& problem) {
  const Weights& weights = problem.weights;
  if (weights.type == WeightType::none) return std::nullopt;
  const std::string text = name(weights);
  if (!takes_weights(problem.type, weights))
    return fmt::format(
        "weights are {}: expected type f16f32f16 or bf16f32bf16, or of s4, u4 and e2m1 e4m3f32bf16, e4m3f32f16, "
        "s8s32bf16, s8s32f16, or e4m3f32 with +f32, not {}",
        text, problem.type.name);
  if (weights.zeros && is_codebook(weights.type))
    return fmt::format("weights are {}: expected no zeros of e2m1 and nf4", text);
  if (!problem.trans.b)
    return fmt::format("weights are {}: expected transposes NT or TT, not {}", text, name(problem.trans));
  if (problem.batch_mode != BatchMode::single && problem.batch_mode != BatchMode::grouped)
    return fmt::format("weights are {}: expected no batch_mode={}, only grouped", text, name(problem.batch_mode));
  if (problem.sparsity != Sparsity::dense)
    return fmt::format("weights are {}: expected no sparsity={}", text, name(problem.sparsity));
  if (problem.scalars != Scalars::host)
    return fmt::format("weights are {}: expected no scalars={}", text, name(problem.scalars));
  if (is_k_quant(weights.type) && weights != parse_weights(text))
    return fmt::format(
        "weights are {}: expected groups of {} with zeros, and no +f32", text, parse_weights(text)->group);
  if (const std::int64_t columns = weight_k_multiple(weights); problem.k % columns != 0)
    return fmt::format("K is {}: expected a multiple of {}, the {} of weights={}", problem.k, columns,
        is_k_quant(weights.type) ? "blocks" : "group", text);
  if (problem.ldb != std::max<std::int64_t>(1, problem.k))
    return fmt::format("ldb is {}: expected K ({}), weights have no row stride", problem.ldb, problem.k);
  if (const OperandMatrix codes = operand(problem, OperandRole::b);
      problem.batch_mode == BatchMode::grouped && problem.stride_b != codes.rows * codes.row_stride)
    return fmt::format(
        "stride_b is {}: expected {}, the codes of a group with their padding: weights lie one behind the other",
        problem.stride_b, codes.rows * codes.row_stride);
  return std::nullopt;
}

}  // namespace tilesmith
