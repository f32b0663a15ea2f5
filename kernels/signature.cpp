#include "kernels/signature.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <stdexcept>

#include "kernels/words.hpp"

namespace tilesmith {
namespace {

template <typename Value>
struct Named {
  Value value;
  std::string_view name;
};

// All values of each option: what is not here can be neither written nor read.
constexpr std::array kEpilogues{Named{Epilogue::linear, "linear"}};
constexpr std::array kBatchModes{Named{BatchMode::single, "single"}};
constexpr std::array kSparsities{Named{Sparsity::dense, "dense"}};

template <typename Value, std::size_t Count>
std::string_view name_in(const std::array<Named<Value>, Count>& values, Value value) {
  const auto found = std::ranges::find(values, value, &Named<Value>::value);
  if (found == values.end()) throw std::invalid_argument(fmt::format("a signature's option has the value {}, which has no name", int(value)));
  return found->name;
}

template <typename Value, std::size_t Count>
bool read_value(const std::array<Named<Value>, Count>& values, std::string_view text, Value& into) {
  const auto found = std::ranges::find(values, text, &Named<Value>::name);
  if (found == values.end()) return false;
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

std::string_view name(Epilogue epilogue) { return name_in(kEpilogues, epilogue); }
std::string_view name(BatchMode mode) { return name_in(kBatchModes, mode); }
std::string_view name(Sparsity sparsity) { return name_in(kSparsities, sparsity); }

std::string options_text(const KernelSignature& signature) {
  // By all fields at once: a field that a signature gets does not compile here until it is in the text.
  const auto& [type, trans, epilogue, batch_mode, sparsity] = signature;
  std::string result;
  if (epilogue != Epilogue::linear) result += fmt::format(" epilogue={}", name(epilogue));
  if (batch_mode != BatchMode::single) result += fmt::format(" batch_mode={}", name(batch_mode));
  if (sparsity != Sparsity::dense) result += fmt::format(" sparsity={}", name(sparsity));
  return result;
}

bool read_option(std::string_view word, KernelSignature& signature) {
  const std::size_t equals = word.find('=');
  if (equals == std::string_view::npos) return false;
  const std::string_view key = word.substr(0, equals), value = word.substr(equals + 1);
  if (key == "epilogue") return read_value(kEpilogues, value, signature.epilogue);
  if (key == "batch_mode") return read_value(kBatchModes, value, signature.batch_mode);
  if (key == "sparsity") return read_value(kSparsities, value, signature.sparsity);
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
    if (!read_option(parts[i], signature))
      return fail(fmt::format("'{}': expected {}", parts[i], kSignatureOptions));
  }
  return signature;
}

bool is_plain(const KernelSignature& signature) {
  return signature == KernelSignature{signature.type, signature.trans} && signature.type.a == signature.type.b;
}

}  // namespace tilesmith
