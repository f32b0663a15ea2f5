// Two results of one call side by side, and by how much they may differ.
//
// Neither is the exact one. With u the unit of D's type and r the root mean square of cuBLAS's results, a result y may
// be off by
//   2*u*|y| + (sums + 4*u)*r,  where sums is what sums of K products in this accumulator, of operands rounded so, commonly lose:
//   f32: sqrt(K)*2^-21, and 2^-8 more of tf32, 2^-10 of 8-bit floats; f16: sqrt(K)*2^-9; f64: sqrt(K)*2^-50.
// Integers are exact, but for 1 where they are scaled to s8. NaN and infinities are in the same places.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/cublas/calls/problem_key.hpp"

namespace tilesmith::cublas {

struct Comparison {
  std::int64_t differing = 0;
  // Of the first that differs, column-major.
  std::int64_t entry = 0, row = 0, column = 0;
  double ours = 0, theirs = 0, tolerance = 0;
};

/// Both hold D from its first element on, with the call's strides.
Comparison compare(const GemmCall& call, const ProblemKey& key, const std::vector<unsigned char>& ours,
    const std::vector<unsigned char>& theirs);

}  // namespace tilesmith::cublas
