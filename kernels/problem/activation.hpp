// Activations as a table, which is all that host code has of one: signatures, help, the kernels' flags, the verifier
// and the cuBLASLt peer read it. Kernels compute activations in kernels/shared/finish/fused.cuh, gates in gate.cuh.
#pragma once

#include <cmath>
#include <cstddef>
#include <optional>
#include <string_view>

namespace tilesmith {

/// The values are those of tilesmith_activation (tilesmith.h).
enum class Activation { identity, relu, gelu, gelu_tanh, silu, swiglu, swiglu_interleaved, relu_squared };

/// A gate makes one column of D of two of the product, x and y. Scales and bias are applied before it.
enum class Gate {
  none,
  halves,       ///< x: the first half of the product's columns, y: the second
  interleaved,  ///< x: the even columns, y: the odd ones
};

struct ActivationRow {
  Activation value;
  std::string_view name;
  Gate gate;
  double error_units;           ///< of kernels' formulas, in the scale type's last place; 0: exact, on integers too
  double slope, curvature;      ///< an error before it grows by at most slope + curvature·|x|
  std::optional<int> epilogue;  ///< cublasLtEpilogue_t without a bias; 0: none (a kernel gates); empty: no equivalent
  double (*reference)(double x, double y);  ///< by another formula than the kernels' own
  const char* reference_text;               ///< the same for the verifier's device kernels
};

// NaN stays NaN, and an infinity becomes what the formula makes of it: silu(−∞) and gelu(−∞) are NaN, relu(−∞) is 0.
#define TILESMITH_TEXT(...) #__VA_ARGS__
#define TILESMITH_ROW(name, gate, error_units, slope, curvature, epilogue, ...)                                \
  {                                                                                                            \
    Activation::name, #name, Gate::gate, error_units, slope, curvature, epilogue,                              \
        [](double x, [[maybe_unused]] double y) -> double { return __VA_ARGS__; }, TILESMITH_TEXT(__VA_ARGS__) \
  }
#define TILESMITH_SWIGLU x*(x < 0.0 ? exp(x) : 1.0) / (1.0 + exp(x < 0.0 ? x : -x)) * y
inline constexpr ActivationRow kActivations[] = {
    TILESMITH_ROW(identity, none, 0, 1, 0, 0, x),
    TILESMITH_ROW(relu, none, 0, 1, 0, 2, x <= 0.0 ? 0.0 : x),
    TILESMITH_ROW(gelu, none, 16, 1.13, 0, {}, 0.5 * x * erfc(x * -0.70710678118654752440)),
    TILESMITH_ROW(
        gelu_tanh, none, 16, 1.13, 0, 32, 0.5 * x * (1.0 + tanh(0.79788456080286535588 * (x + 0.044715 * x * x * x)))),
    TILESMITH_ROW(silu, none, 16, 1.13, 0, {}, 0.5 * x * (1.0 + tanh(0.5 * x))),
    TILESMITH_ROW(swiglu, halves, 16, 1.13, 0, 0, TILESMITH_SWIGLU),
    TILESMITH_ROW(swiglu_interleaved, interleaved, 16, 1.13, 0, 0, TILESMITH_SWIGLU),
    TILESMITH_ROW(relu_squared, none, 1, 0, 2, {}, x <= 0.0 ? 0.0 : x * x),
};
#undef TILESMITH_SWIGLU
#undef TILESMITH_ROW
#undef TILESMITH_TEXT

/// Rows stand in the order of their values, which a test checks.
constexpr const ActivationRow& row_of(Activation activation) { return kActivations[std::size_t(activation)]; }
constexpr bool is_exact(Activation activation) { return row_of(activation).error_units == 0; }

}  // namespace tilesmith
