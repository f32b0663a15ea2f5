// What a kernel is compiled for, beside the device's architecture: the types of its operands and how they are stored,
// and what it does besides multiplying.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "kernels/problem/activation.hpp"
#include "kernels/problem/type_pair.hpp"

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

/// What multiplies α·AB, in f32: nothing, one value, or one for each row or column of D. Or what multiplies A or B
/// before they are multiplied, by blocks of kScaleBlock along K: a value for each row of A (column of B) and block, or
/// one for kScaleBlock of them and the block.
enum class Scaling { none, one, each, each_by_block, block };
inline constexpr int kScaleBlock = 128;
inline bool is_by_block(Scaling scaling) { return scaling >= Scaling::each_by_block; }
enum class Bias { none, along_n, along_m };  ///< one element a column of D, or one a row
/// What is done with the sums before they are stored: D ← act(r·cᵀ ∘ α·AB + β·C + bias), in the scale type, converted
/// to D's type once. Kernels that do so take C and D as matrices of their own, which may be one (is_fused).
struct Epilogue {
  bool c_apart = false;             ///< nothing but C and D apart: of epilogues that have nothing else
  Scaling scale_m = Scaling::none;  ///< r, along M
  Scaling scale_n = Scaling::none;  ///< c, along N
  Bias bias = Bias::none;
  bool bias_is_f32 = false;  ///< else bias has D's type
  Activation activation = Activation::identity;

  friend bool operator==(const Epilogue&, const Epilogue&) = default;
  bool is_linear() const { return *this == Epilogue{}; }  ///< D ← α·AB + β·C, in D's place
  bool is_gated() const { return row_of(activation).gate != Gate::none; }
  bool has_scales() const { return scale_m != Scaling::none || scale_n != Scaling::none; }
  /// Then both are by block.
  bool has_block_scales() const { return is_by_block(scale_m) || is_by_block(scale_n); }
  /// More than C and D apart.
  bool has_terms() const { return has_scales() || bias != Bias::none || activation != Activation::identity; }
};
/// How one launch finds several problems of one shape.
enum class BatchMode {
  single,    ///< there is one
  strided,   ///< Problem::batch of them, whose matrices lie at fixed distances
  pointers,  ///< the same, whose matrices lie where arrays of pointers in device memory say
  grouped,  ///< the rows of A and D are split among Problem::batch groups, each with a B of its own, by offsets in device memory
};
/// Where α and β are when a kernel runs.
enum class Scalars {
  host,    ///< in its arguments
  device,  ///< in device memory, where it reads them (OperandRole::alpha, beta)
};
/// Which operand has zeros in known places: of each 4 elements in a row along K (of each 2 of 32 bits) half are stored.
enum class Sparsity {
  dense,  ///< none
  a,      ///< A, as `a_2to4`
  b,      ///< B, as `b_2to4`
};
/// How B's elements are stored where they are narrower than A's: as weights. `s8` and `e4m3` take 8 bits, `q6_k` 6, the
/// others 4.
/// `e2m1`: floats of 4 bits, as MXFP4 has them; `nf4`: places in a table (kernels/shared/multiply/codebook.cuh); `q4_k`,
/// `q6_k`: GGUF's Q4_K and Q6_K (kernels/shared/multiply/k_quants_layout.cuh).
enum class WeightType { none, s4, u4, s8, e4m3, e2m1, nf4, q4_k, q6_k };
/// B as weights: w[n][k] = scale[k / group][n] · (stored[n][k] − zero[k / group][n]), in the layout of
/// kernels/problem/weights.hpp. The product is that of A's type. Of q4_k the group is 32, of q6_k 16, and zeros are
/// factors of 256 columns: there are always some.
struct Weights {
  WeightType type = WeightType::none;
  int group = 0;            ///< weights along K that share a scale: 32, 64, 128, or 0: all of a column of op(B)
  bool zeros = false;       ///< whether there are zeros; else they are 0
  bool f32_scales = false;  ///< whether scales and zeros are f32; else they have A's type

  friend bool operator==(const Weights&, const Weights&) = default;
};
/// Words joined by "+", in this order: "c_apart" or "scale_m" or "scale_m1" (one value for all rows), "scale_n" or
/// "scale_n1", or of both "scale_m_1x128" (a row, 128 of K) or "scale_m_128x128", "scale_n_1x128" or "scale_n_128x128";
/// "bias_n", "bias_m", "bias_n_f32", "bias_m_f32", and the activation's name; "linear".
std::string name(const Epilogue& epilogue);
std::optional<Epilogue> parse_epilogue(std::string_view text);
std::string_view name(BatchMode mode);
std::string_view name(Scalars scalars);
std::string_view name(Sparsity sparsity);
/// "none"; else the type, "_g32", "_g64", "_g128" or "_column", then "+zeros" (not of e2m1 and nf4), "+f32":
/// "s4_g128+zeros". Or "q4_k" or "q6_k", which is all of it.
std::string name(const Weights& weights);
std::optional<Weights> parse_weights(std::string_view text);

struct KernelSignature {
  TypePair type;
  Transposes trans;
  Epilogue epilogue;
  BatchMode batch_mode = BatchMode::single;
  Sparsity sparsity = Sparsity::dense;
  Scalars scalars = Scalars::host;
  Weights weights;

  friend bool operator==(const KernelSignature&, const KernelSignature&) = default;
  /// Of what is a signature and more.
  const KernelSignature& signature() const { return *this; }
};

/// "f16f32 NN", followed, where they differ from a signature of a type pair and transposes alone, by " epilogue=..
/// batch_mode=.. sparsity=.. scalars=device weights=..". Two signatures are equal exactly when their texts are.
std::string text(const KernelSignature& signature);

/// Reads that text. Returns nullopt and sets `error` (one line, what was expected) if it does not parse.
std::optional<KernelSignature> parse_signature(std::string_view text, std::string& error);

/// For messages and help: "relu, gelu, ...", and all options that a signature's text may have.
std::string activation_names();
std::string signature_options();

/// The part of the text behind the transposes, with a space before each word.
std::string options_text(const KernelSignature& signature);
/// Sets what one word of options_text() names. False if it names nothing of a signature.
bool read_option(std::string_view word, KernelSignature& signature);

/// Whether B is stored as weights.
inline bool has_weights(const KernelSignature& signature) { return signature.weights.type != WeightType::none; }
/// Whether their codes stand for values that are no integers in order: e2m1, nf4. Such have no zeros.
inline bool is_codebook(WeightType type) { return type == WeightType::e2m1 || type == WeightType::nf4; }
/// Whether 256 columns share factors of their scales: GGUF's K-quants.
inline bool is_k_quant(WeightType type) { return type == WeightType::q4_k || type == WeightType::q6_k; }
/// The signature of the product of numbers that they stand for.
KernelSignature without_weights(const KernelSignature& signature);
/// The signature of a product whose operands have been multiplied by their scales of blocks.
KernelSignature without_block_scales(const KernelSignature& signature);

/// One type for A and B, and nothing but the product: all that a kernel family computes unless it says more.
bool is_plain(const KernelSignature& signature);
/// Whether its kernels finish sums by kernels/shared/finish/fused.cuh, and take C and D as two matrices: those with an
/// epilogue, those of integers whose results are not, and those whose results take a byte.
bool is_fused(const KernelSignature& signature);
/// The same as is_plain(), but for where α and β are.
bool is_plain_but_scalars(const KernelSignature& signature);
/// The same, but for the epilogue, too, if it has no scales of blocks.
bool is_plain_but_epilogue(const KernelSignature& signature);
/// The same, but for the batch mode, too.
bool is_plain_but_epilogue_and_batch(const KernelSignature& signature);

}  // namespace tilesmith
