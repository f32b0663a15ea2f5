#include "kernels/families/render.hpp"

#include <fmt/format.h>

#include <cctype>
#include <utility>

#include "kernels/problem/sub_byte.hpp"
#include "kernels/problem/weights.hpp"

namespace tilesmith {
namespace {

std::string_view device_type(Scalar scalar) {
  switch (scalar) {
    case Scalar::f16: return "__half";
    case Scalar::bf16: return "__nv_bfloat16";
    case Scalar::tf32:
    case Scalar::f32:
    case Scalar::f32x3: return "float";
    case Scalar::f64: return "double";
    case Scalar::s8:
    case Scalar::s4: return "signed char";
    case Scalar::u8:
    case Scalar::u4:
    case Scalar::b1:
    case Scalar::b1xor: return "unsigned char";
    case Scalar::s32: return "int";
    case Scalar::e4m3: return "__nv_fp8_e4m3";
    case Scalar::e5m2: return "__nv_fp8_e5m2";
  }
  return "void";
}

bool uses(const TypePair& type, Scalar scalar) {
  return type.a == scalar || type.b == scalar || type.accumulator == scalar || type.output == scalar;
}

/// Some families have these parameters for some signatures only. Elsewhere their constants get these values.
constexpr std::pair<std::string_view, int> kOfSomeSignatures[] = {{"entries", 1}, {"promote", 1}, {"widen", 0}};

}  // namespace

std::string constant_name(std::string_view parameter) {
  std::string result = "k";
  bool upper = true;
  for (char c : parameter) {
    if (c == '_') {
      upper = true;
      continue;
    }
    result += upper ? char(std::toupper(static_cast<unsigned char>(c))) : c;
    upper = false;
  }
  return result;
}

std::string block_scale_constants(const KernelTarget& target) {
  const auto kind = [](Scaling scaling) { return is_by_block(scaling) ? int(scaling) - int(Scaling::each) : 0; };
  return fmt::format("namespace tilesmith {{\nconstexpr int kBlockScaleM = {}, kBlockScaleN = {};\n}}\n",
      kind(target.epilogue.scale_m), kind(target.epilogue.scale_n));
}

std::string render_source(const Config& config, const KernelTarget& target, const std::string& template_path,
    const std::string& definitions) {
  const TypePair& type = target.type;
  // Appended to piece by piece: a plan's hash (plan_hash.hpp) is made of this, of many thousand configs at a time.
  std::string out;
  out.reserve(2048 + definitions.size());
  const auto add = [&out](const auto&... pieces) { (out.append(pieces), ...); };
  const auto add_type = [&](const char* as, Scalar scalar) { add("using ", as, " = ", device_type(scalar), ";\n"); };
  const auto add_flag = [&](std::string_view flag, bool value) {
    add("constexpr bool ", flag, " = ", value ? "true" : "false", ";\n");
  };
  const auto add_number = [&](std::string_view name, auto value) {
    add("constexpr int ", name, " = ", std::to_string(value), ";\n");
  };
  add("// ", config.text(), " for ", text(target.signature()), " on ", target.limits.arch, "\n");
  if (uses(type, Scalar::f16)) add("#include <cuda_fp16.h>\n");
  if (uses(type, Scalar::bf16)) add("#include <cuda_bf16.h>\n");
  if (type.output == Scalar::s8) add("#include \"kernels/shared/finish/rounded_s8.cuh\"\n");
  if (is_fp8(type.a) || target.weights.type == WeightType::e4m3) add("#include <cuda_fp8.h>\n");
  const bool fused = is_fused(target);
  const bool gated = target.epilogue.is_gated();
  const Weights& weights = target.weights;
  const bool weighted = weights.type != WeightType::none, by_block = target.epilogue.has_block_scales();
  add("namespace tilesmith {\n");
  if (by_block && type.a == Scalar::s8) add("enum Operand : signed char {};\n");  // simt multiplies it as a real number
  else add_type("Operand", type.a);
  // What integers come to in a group of weights, or a block of K, is scaled, and summed as f32.
  const bool sums_real = (has_weights(target) || by_block) && is_integer(type.accumulator);
  add_type("Accumulator", sums_real ? Scalar::f32 : type.accumulator);
  if (type.output == Scalar::s8) {
    add("using Output = RoundedS8;\n");
  } else {
    add_type("Output", type.output);
  }
  add_type("ScaleType", type.scale);
  add_flag("kOperandIsTf32", type.a == Scalar::tf32);
  add_flag("kOperandIsBf16", type.a == Scalar::bf16);
  add_flag("kOperandIsSigned", type.a == Scalar::s8 || type.a == Scalar::s4);
  add_flag("kOperandIsXor", type.a == Scalar::b1xor);
  add_number("kOperandBits", size_bits(type.a));
  add_flag("kIsPlain", is_plain(target) && !fused);
  add_flag("kThreeProducts", type.a == Scalar::f32x3);
  add_flag("kScalarsOnDevice", target.scalars == Scalars::device);
  add_flag("kTransA", target.trans.a);
  add_flag("kTransB", target.trans.b);
  add_flag("kIsBatched", target.batch_mode != BatchMode::single);
  add_flag("kIsGrouped", target.batch_mode == BatchMode::grouped);
  add_flag("kByPointers", target.batch_mode == BatchMode::pointers);
  add_flag("kIsSparse", target.sparsity != Sparsity::dense);
  add_flag("kSparseB", target.sparsity == Sparsity::b);
  const Epilogue& epilogue = target.epilogue;
  add_flag("kHasEpilogue", fused);
  if (epilogue.bias_is_f32) {
    add_type("BiasType", Scalar::f32);
  } else {
    add("using BiasType = Output;\n");
  }
  add_flag("kScaleM", epilogue.scale_m != Scaling::none && !by_block);
  add_flag("kScaleN", epilogue.scale_n != Scaling::none && !by_block);
  add_flag("kScaleEachRow", epilogue.scale_m == Scaling::each);
  add_flag("kScaleEachColumn", epilogue.scale_n == Scaling::each);
  add_flag("kBiasAlongN", epilogue.bias == Bias::along_n);
  add_flag("kBiasAlongM", epilogue.bias == Bias::along_m);
  for (const ActivationRow& row : kActivations) add_flag(constant_name(row.name), epilogue.activation == row.value);
  add_flag("kIsGated", gated);
  add_flag("kGateInterleaved", row_of(epilogue.activation).gate == Gate::interleaved);
  add_flag("kHasWeights", weighted);
  if (weights.type == WeightType::q4_k) {
    add("using WeightScale = unsigned short;\n");  // kIsQ4k (k_quants.cuh) follows from it
  } else {
    add_type("WeightScale", weighted ? weight_scale_element(target) : type.a);
  }
  add_number("kWeightBits", weighted ? size_bits(weight_element(weights.type)) : 8);
  add_number("kWeightGroup", weights.group);
  add_number("kWeightOffset", weight_offset(weights.type));
  add_flag("kWeightIsFloat", weights.type == WeightType::e4m3);
  add_flag("kWeightZeros", weights.zeros && !is_k_quant(weights.type));
  add_flag("kWeightIsCodebook", is_codebook(weights.type));
  add_flag("kWeightIsE2m1", weights.type == WeightType::e2m1);
  add_number("kSm", target.limits.sm);
  for (const auto& [parameter, value] : config.values()) add_number(constant_name(parameter.text()), value);
  for (const auto& [parameter, value] : kOfSomeSignatures) {
    if (!config.has(parameter)) add_number(constant_name(parameter), value);
  }
  add("}  // namespace tilesmith\n", definitions, "#include \"", template_path, "\"\n");
  return out;
}

}  // namespace tilesmith
