#include "kernels/signature.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace tilesmith {
namespace {

// All values of each option, in words: what is not here can be neither written nor read.
constexpr std::array kEpilogues{Epilogue::linear};
constexpr std::array kBatchModes{BatchMode::single};
constexpr std::array kSparsities{Sparsity::dense};

template <typename Value, std::size_t Count>
bool read_value(const std::array<Value, Count>& values, std::string_view text, Value& into) {
  const auto found = std::ranges::find_if(values, [&](Value value) { return name(value) == text; });
  if (found == values.end()) return false;
  into = *found;
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

std::string_view name(Epilogue) { return "linear"; }
std::string_view name(BatchMode) { return "single"; }
std::string_view name(Sparsity) { return "dense"; }

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
      return fail(fmt::format("'{}': expected epilogue=, batch_mode= or sparsity= with a name of this version", parts[i]));
  }
  return signature;
}

bool is_plain(const KernelSignature& signature) {
  return signature == KernelSignature{signature.type, signature.trans} && signature.type.a == signature.type.b;
}

std::vector<std::string_view> words(std::string_view text) {
  std::vector<std::string_view> result;
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t start = text.find_first_not_of(" \t\r\n", at);
    if (start == std::string_view::npos) break;
    at = std::min(text.find_first_of(" \t\r\n", start), text.size());
    result.push_back(text.substr(start, at - start));
  }
  return result;
}

}  // namespace tilesmith
