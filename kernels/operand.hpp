// The matrices of a problem, by role: whoever allocates, fills, passes or checks operands goes through this list.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/problem.hpp"

namespace tilesmith {

/// C is read where β ≠ 0, D is written. Both have one shape and row stride, and may be one matrix.
enum class OperandRole { a, b, c, d };
inline constexpr std::size_t kOperandRoles = 4;

struct OperandMatrix {
  OperandRole role;
  Scalar element;
  std::int64_t rows = 0, cols = 0;  // as stored
  std::int64_t row_stride = 0;      // elements

  /// From the first to the last element.
  std::int64_t bytes() const;
};

/// The matrix of this role.
OperandMatrix operand(const Problem& problem, OperandRole role);

/// What one run needs memory for: A, B, and one matrix for C and D.
std::vector<OperandMatrix> operands(const Problem& problem);

}  // namespace tilesmith
