// What a kernel is compiled for, beside the device's architecture: the types of its operands and how they are stored, and what it does
// besides multiplying.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "kernels/type_pair.hpp"

namespace tilesmith {

struct Transposes {
  bool a = false;  ///< true: A is stored transposed (k×m)
  bool b = false;  ///< true: B is stored transposed (n×k)
  friend bool operator==(const Transposes&, const Transposes&) = default;
};

/// "NN", "NT", "TN" or "TT".
std::string_view name(Transposes trans);
std::optional<Transposes> parse_transposes(std::string_view text);
inline constexpr Transposes kAllTransposes[] = {{false, false}, {false, true}, {true, false}, {true, true}};

/// What is done with the sums before they are stored.
enum class Epilogue { linear };  ///< D ← α·AB + β·C
/// How one launch finds several problems of one shape.
enum class BatchMode { single };  ///< there is one
/// Which operand has zeros in known places.
enum class Sparsity { dense };  ///< none
std::string_view name(Epilogue epilogue);
std::string_view name(BatchMode mode);
std::string_view name(Sparsity sparsity);

struct KernelSignature {
  TypePair type;
  Transposes trans;
  Epilogue epilogue = Epilogue::linear;
  BatchMode batch_mode = BatchMode::single;
  Sparsity sparsity = Sparsity::dense;

  friend bool operator==(const KernelSignature&, const KernelSignature&) = default;
  /// Of what is a signature and more.
  const KernelSignature& signature() const { return *this; }
};

/// "f16f32 NN", followed, where they differ from a signature of a type pair and transposes alone, by " epilogue=.. batch_mode=..
/// sparsity=..". Two signatures are equal exactly when their texts are.
std::string text(const KernelSignature& signature);

/// Reads that text. Returns nullopt and sets `error` (one line, what was expected) if it does not parse.
std::optional<KernelSignature> parse_signature(std::string_view text, std::string& error);

/// The options that a signature's text may have, for messages.
inline constexpr std::string_view kSignatureOptions = "epilogue=, batch_mode= or sparsity= with a name of this version";

/// The part of the text behind the transposes, with a space before each word.
std::string options_text(const KernelSignature& signature);
/// Sets what one word of options_text() names. False if it names nothing of a signature.
bool read_option(std::string_view word, KernelSignature& signature);

/// One type for A and B, and nothing but the product: all that a kernel family computes unless it says more.
bool is_plain(const KernelSignature& signature);

}  // namespace tilesmith
