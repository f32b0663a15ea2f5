// How far a right kernel may be from the f64 reference on real-valued data.
#pragma once

#include <cstdint>

#include "tuner/verify/exact_data.hpp"

namespace tilesmith::tuner {

/// |C − reference| ≤ absolute + relative·|reference|; both 0 where results must be exact.
struct Tolerance {
  double absolute = 0;
  double relative = 0;
};

/// On operands uniform in [-1, 1], α = 1, β = 0: |C − reference| ≤ real_bound(pair, k)·√k, and one unit of the output's
/// format (half a unit where the accumulator is wider). Stated per accumulator and derived in tolerance.cpp; 0 for
/// integers, which are exact.
double real_bound(const TypePair& type, std::int64_t k);
Tolerance tolerance(const Problem& problem, Stage stage, const Scales& scales);

}  // namespace tilesmith::tuner
