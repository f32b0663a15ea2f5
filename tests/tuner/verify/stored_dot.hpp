// One element of a product by definition, as no reference of the tuner computes it.
#pragma once

#include "tuner/verify/host_reference.hpp"

namespace tilesmith::tuner {

/// From stored operands at `a` and `b` (element (0, 0)).
inline double dot(const Problem& problem, const std::byte* a, const std::byte* b, std::int64_t i, std::int64_t j) {
  double sum = 0;
  for (std::int64_t k = 0; k < problem.k; ++k) {
    const std::int64_t in_a = problem.trans.a ? k * problem.lda + i : i * problem.lda + k;
    const std::int64_t in_b = problem.trans.b ? j * problem.ldb + k : k * problem.ldb + j;
    sum +=
        product(problem.type.a, decode_operand_at(problem.type.a, a, in_a), decode_operand_at(problem.type.b, b, in_b));
  }
  return sum;
}

}  // namespace tilesmith::tuner
