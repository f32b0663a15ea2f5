// Activations as a table. A row is all that host code knows of one: signatures and help read its name, kernels get a flag of that name, the
// verifier takes its formula and how far a kernel may be off, and the cuBLASLt peer the library's own value. Kernels compute it in
// kernels/common/fused.cuh, gates in gate.cuh.
#pragma once

#include <cmath>
#include <optional>
#include <string>
#include <string_view>

namespace tilesmith {

/// The values are those of tilesmith_activation (tilesmith.h).
enum class Activation { identity, relu, gelu, gelu_tanh, silu, swiglu, swiglu_interleaved };

/// A gate makes one column of D of two of the product, x and y, and D has n/2 columns. Scales and bias are those of the product's columns, and come
/// before the gate.
enum class Gate {
  none,
  halves,       ///< x: the first half of the product's columns, y: the second
  interleaved,  ///< x: the even columns, y: the odd ones
};

struct ActivationRow {
  Activation value;
  std::string_view name;
  Gate gate;
  double error_units;          ///< what a kernel's formula is off by, in units of the scale type's last place; 0: it is exact, on integers too
  double slope;                ///< an error before it grows by at most slope + curvature·|x|
  double curvature;
  std::optional<int> cublaslt; ///< cublasLtEpilogue_t without a bias, 0 for none. Of a gate: before our own kernel gates (gate_kernel.hpp). Empty: no equivalent
  double (*reference)(double x, double y);  ///< by another formula than the kernels' own
  const char* reference_text;               ///< the same for the verifier's device kernels: an expression in x and y
};

// NaN stays NaN, and an infinity becomes what the formula makes of it: silu(−∞) and gelu(−∞) are NaN, relu(−∞) is 0.
#define TILESMITH_REFERENCE(...) [](double x, [[maybe_unused]] double y) -> double { return __VA_ARGS__; }, #__VA_ARGS__
#define TILESMITH_SWIGLU TILESMITH_REFERENCE(x * (x < 0.0 ? exp(x) : 1.0) / (1.0 + exp(x < 0.0 ? x : -x)) * y)
inline constexpr ActivationRow kActivations[] = {
    {Activation::identity, "identity", Gate::none, 0, 1, 0, 0, TILESMITH_REFERENCE(x)},
    {Activation::relu, "relu", Gate::none, 0, 1, 0, 2, TILESMITH_REFERENCE(x <= 0.0 ? 0.0 : x)},
    // x·Φ(x)
    {Activation::gelu, "gelu", Gate::none, 16, 1.13, 0, {}, TILESMITH_REFERENCE(0.5 * x * erfc(x * -0.70710678118654752440))},
    // x·σ(2u), u = √(2/π)·(x + 0.044715·x³): known as the tanh approximation
    {Activation::gelu_tanh, "gelu_tanh", Gate::none, 16, 1.13, 0, 32,
     TILESMITH_REFERENCE(0.5 * x * (1.0 + tanh(0.79788456080286535588 * (x + 0.044715 * x * x * x))))},
    // x·σ(x), known as swish too
    {Activation::silu, "silu", Gate::none, 16, 1.13, 0, {}, TILESMITH_REFERENCE(0.5 * x * (1.0 + tanh(0.5 * x)))},
    // silu(x)·y
    {Activation::swiglu, "swiglu", Gate::halves, 16, 1.13, 0, 0, TILESMITH_SWIGLU},
    {Activation::swiglu_interleaved, "swiglu_interleaved", Gate::interleaved, 16, 1.13, 0, 0, TILESMITH_SWIGLU},
};
#undef TILESMITH_SWIGLU
#undef TILESMITH_REFERENCE

constexpr const ActivationRow& row_of(Activation activation) { return kActivations[std::size_t(activation)]; }
constexpr bool is_exact(Activation activation) { return row_of(activation).error_units == 0; }

static_assert([] {
  for (int i = 0; const ActivationRow& row : kActivations) {
    if (int(row.value) != i++) return false;
  }
  return true;
}(), "rows stand in the order of their values");

/// "relu, gelu, ...": all that an epilogue may name, for messages and help.
std::string activation_names();

}  // namespace tilesmith
