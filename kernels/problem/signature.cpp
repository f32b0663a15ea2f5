#include "kernels/problem/signature.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>
#include <stdexcept>

#include "kernels/base/words.hpp"

namespace tilesmith {
namespace {

template <typename Value>
struct Named {
  Value value;
  std::string_view name;
};

// All values of each option: what is not here can be neither written nor read.
constexpr std::array kBatchModes{Named{BatchMode::single, "single"}, Named{BatchMode::strided, "strided"},
    Named{BatchMode::pointers, "pointers"}, Named{BatchMode::grouped, "grouped"}};
constexpr std::array kScalars{Named{Scalars::host, "host"}, Named{Scalars::device, "device"}};
constexpr std::array kSparsities{
    Named{Sparsity::dense, "dense"}, Named{Sparsity::a, "a_2to4"}, Named{Sparsity::b, "b_2to4"}};
constexpr std::array kScalings{Named{Scaling::each, ""}, Named{Scaling::one, "1"},  // behind scale_m or scale_n
    Named{Scaling::each_by_block, "_1x128"}, Named{Scaling::block, "_128x128"}};
constexpr std::array kWeightTypes{Named{WeightType::s4, "s4"}, Named{WeightType::u4, "u4"}, Named{WeightType::s8, "s8"},
    Named{WeightType::e4m3, "e4m3"}, Named{WeightType::e2m1, "e2m1"}, Named{WeightType::nf4, "nf4"}};
constexpr std::array kWeightGroups{Named{32, "g32"}, Named{64, "g64"}, Named{128, "g128"}, Named{0, "column"}};

template <typename Value, std::size_t Count>
std::string_view name_in(const std::array<Named<Value>, Count>& values, Value value) {
  const auto found = std::ranges::find(values, value, &Named<Value>::value);
  if (found == values.end())
    throw std::invalid_argument(fmt::format("a signature's option has the value {}, which has no name", int(value)));
  return found->name;
}

template <typename Value>
bool read_value(const auto& values, std::string_view text, Value& into) {
  const auto found = std::ranges::find(values, text, [](const auto& one) { return one.name; });
  if (found == std::end(values)) return false;
  into = found->value;
  return true;
}

}  // namespace

std::string_view name(Transposes trans) {
  if (trans.a) return trans.b ? "TT" : "TN";
  return trans.b ? "NT" : "NN";
}

std::optional<Transposes> parse_transposes(std::string_view text) {
  for (Transposes trans : kAllTransposes) {
    if (name(trans) == text) return trans;
  }
  return std::nullopt;
}

std::string name(const Epilogue& epilogue) {
  std::string words;
  const auto add = [&words](std::string_view word) { words.append(words.empty() ? "" : "+").append(word); };
  if (epilogue.c_apart) add("c_apart");
  if (epilogue.scale_m != Scaling::none) add("scale_m"), words += name_in(kScalings, epilogue.scale_m);
  if (epilogue.scale_n != Scaling::none) add("scale_n"), words += name_in(kScalings, epilogue.scale_n);
  if (epilogue.bias != Bias::none) {
    add(epilogue.bias == Bias::along_n ? "bias_n" : "bias_m");
    if (epilogue.bias_is_f32) words += "_f32";
  }
  if (epilogue.activation != Activation::identity) add(row_of(epilogue.activation).name);
  return words.empty() ? "linear" : words;
}

std::optional<Epilogue> parse_epilogue(std::string_view text) {
  Epilogue epilogue;
  for (std::string_view rest = text; !rest.empty();) {
    const std::string_view word = rest.substr(0, rest.find('+'));
    rest.remove_prefix(std::min(word.size() + 1, rest.size()));
    if (word == "c_apart") epilogue.c_apart = true;
    else if (word.starts_with("scale_m") || word.starts_with("scale_n")) {
      if (!read_value(kScalings, word.substr(7), word[6] == 'm' ? epilogue.scale_m : epilogue.scale_n))
        return std::nullopt;
    } else if (word.starts_with("bias_n") || word.starts_with("bias_m"))
      epilogue.bias = word.starts_with("bias_n") ? Bias::along_n : Bias::along_m,
      epilogue.bias_is_f32 = word.ends_with("_f32");
    else if (word != "linear" && !read_value(kActivations, word, epilogue.activation)) return std::nullopt;
  }
  if (name(epilogue) != text) return std::nullopt;  // a word that is not all there, one twice, or another order
  return epilogue;
}

std::string_view name(BatchMode mode) { return name_in(kBatchModes, mode); }
std::string_view name(Scalars scalars) { return name_in(kScalars, scalars); }
std::string_view name(Sparsity sparsity) { return name_in(kSparsities, sparsity); }

std::string name(const Weights& weights) {
  if (weights.type == WeightType::none) return "none";
  if (is_k_quant(weights.type)) return weights.type == WeightType::q4_k ? "q4_k" : "q6_k";
  return fmt::format("{}_{}{}{}", name_in(kWeightTypes, weights.type), name_in(kWeightGroups, weights.group),
      weights.zeros ? "+zeros" : "", weights.f32_scales ? "+f32" : "");
}

std::optional<Weights> parse_weights(std::string_view text) {
  if (text == "q4_k") return Weights{WeightType::q4_k, 32, true};
  if (text == "q6_k") return Weights{WeightType::q6_k, 16, true};
  Weights weights;
  const std::size_t line = text.find('_'), plus = std::min(text.find('+'), text.size());
  if (line >= plus || !read_value(kWeightTypes, text.substr(0, line), weights.type)) return std::nullopt;
  if (!read_value(kWeightGroups, text.substr(line + 1, plus - line - 1), weights.group)) return std::nullopt;
  const std::string_view more = text.substr(plus);
  weights.zeros = more.starts_with("+zeros");
  weights.f32_scales = more.ends_with("+f32");
  if (name(weights) != text || (weights.zeros && is_codebook(weights.type))) return std::nullopt;
  return weights;
}

std::string activation_names() {
  std::string names;
  for (const ActivationRow& row : std::span(kActivations).subspan(1))
    names += (names.empty() ? "" : ", ") + std::string(row.name);
  return names;
}

std::string signature_options() {
  return "epilogue= (scale_m, scale_m1, scale_n, scale_n1, scale_m_1x128, scale_m_128x128, scale_n_1x128, "
         "scale_n_128x128, bias_n, bias_m, bias_n_f32, bias_m_f32, " +
         activation_names() +
         ", joined by +, or c_apart), batch_mode= (strided, pointers, grouped), scalars= (device), sparsity= (a_2to4, b_2to4), or weights= (s4, u4, "
         "s8, e4m3, e2m1 or nf4, then _g32, _g64, _g128 or _column, then +zeros (not of e2m1, nf4), +f32; or q4_k or q6_k)";
}

std::string options_text(const KernelSignature& signature) {
  // By all fields at once: a field that a signature gets does not compile here until it is in the text.
  const auto& [type, trans, epilogue, batch_mode, sparsity, scalars, weights] = signature;
  std::string result;
  if (!epilogue.is_linear()) result += fmt::format(" epilogue={}", name(epilogue));
  if (batch_mode != BatchMode::single) result += fmt::format(" batch_mode={}", name(batch_mode));
  if (sparsity != Sparsity::dense) result += fmt::format(" sparsity={}", name(sparsity));
  if (scalars != Scalars::host) result += fmt::format(" scalars={}", name(scalars));
  if (weights != Weights{}) result += fmt::format(" weights={}", name(weights));
  return result;
}

bool read_option(std::string_view word, KernelSignature& signature) {
  const std::size_t equals = word.find('=');
  if (equals == std::string_view::npos) return false;
  const std::string_view key = word.substr(0, equals), value = word.substr(equals + 1);
  if (key == "epilogue") {
    const auto epilogue = parse_epilogue(value);
    if (epilogue) signature.epilogue = *epilogue;
    return epilogue.has_value();
  }
  if (key == "batch_mode") return read_value(kBatchModes, value, signature.batch_mode);
  if (key == "sparsity") return read_value(kSparsities, value, signature.sparsity);
  if (key == "scalars") return read_value(kScalars, value, signature.scalars);
  if (key == "weights") {
    const auto weights = parse_weights(value);
    if (weights) signature.weights = *weights;
    return weights.has_value();
  }
  return false;
}

std::string text(const KernelSignature& signature) {
  return fmt::format("{} {}{}", signature.type.name, name(signature.trans), options_text(signature));
}

std::optional<KernelSignature> parse_signature(std::string_view text, std::string& error) {
  const auto fail = [&](std::string what) {
    error = std::move(what);
    return std::nullopt;
  };
  const std::vector<std::string_view> parts = words(text);
  if (parts.size() < 2) return fail(fmt::format("'{}': expected 'type transposes', e.g. 'f16f32 NN'", text));
  const TypePair* type = find_type_pair(parts[0]);
  if (type == nullptr) return fail(unknown_type_pair(parts[0]));
  const auto trans = parse_transposes(parts[1]);
  if (!trans) return fail(fmt::format("unknown transposes '{}': expected NN, NT, TN or TT", parts[1]));
  KernelSignature signature{*type, *trans};
  for (std::size_t i = 2; i < parts.size(); ++i) {
    if (!read_option(parts[i], signature)) return fail(fmt::format("'{}': expected {}", parts[i], signature_options()));
  }
  return signature;
}

KernelSignature without_block_scales(const KernelSignature& signature) {
  KernelSignature numbers = signature;
  if (!numbers.epilogue.has_block_scales()) return numbers;
  numbers.epilogue.scale_m = numbers.epilogue.scale_n = Scaling::none;
  if (numbers.epilogue.is_linear()) numbers.epilogue.c_apart = true;
  return numbers;
}

KernelSignature without_weights(const KernelSignature& signature) {
  KernelSignature numbers = signature;
  numbers.weights = {};
  return numbers;
}

bool is_plain(const KernelSignature& signature) {
  return signature == KernelSignature{signature.type, signature.trans} && signature.type.a == signature.type.b;
}

bool is_fused(const KernelSignature& signature) {
  return !signature.epilogue.is_linear() || makes_integers_real(signature.type) || has_byte_results(signature.type);
}

bool is_plain_but_scalars(const KernelSignature& signature) {
  KernelSignature plain = signature;
  plain.scalars = Scalars::host;
  return is_plain(plain);
}

bool is_plain_but_epilogue(const KernelSignature& signature) {
  if (signature.epilogue.has_block_scales()) return false;
  KernelSignature plain = signature;
  plain.epilogue = {};
  return is_plain_but_scalars(plain);
}

bool is_plain_but_epilogue_and_batch(const KernelSignature& signature) {
  KernelSignature plain = signature;
  plain.batch_mode = BatchMode::single;
  return is_plain_but_epilogue(plain);
}

}  // namespace tilesmith
