// How far a right kernel may be from the f64 reference on real-valued data.
#pragma once

#include <cstdint>

#include "kernels/problem/signature.hpp"
#include "tuner/verify/exact_data.hpp"

namespace tilesmith::tuner {

/// |C − reference| ≤ absolute + relative·|reference|; both 0 where results must be exact.
struct Tolerance {
  double absolute = 0;
  double relative = 0;
};

/// For operands, C and bias uniform in [-1, 1], and the linear epilogue. Built on real_bound(); the derivation is in the .cpp.
Tolerance real_tolerance(const TypePair& type, std::int64_t k, const Scales& scales);
Tolerance tolerance(const KernelSignature& signature, Stage stage, std::int64_t k, const Scales& scales);

}  // namespace tilesmith::tuner
