// Operands whose elements take less than a byte. Kernels count along K in bytes of their rows, so that tiles, copies
// and fragments are those of 8-bit operands. Or a pass makes bytes of them, and these are multiplied.
#pragma once

#include <cstdint>

#include "kernels/families/config.hpp"
#include "kernels/problem/problem.hpp"

namespace tilesmith {

/// s4, u4, b1, b1xor.
bool is_sub_byte(Scalar element);
/// Of b1 and b1xor.
bool is_bit(Scalar element);

/// The problem with leading dimensions and strides of A and B in bytes: as kernels that know of such operands address
/// them. K stays.
Problem strides_in_bytes(const Problem& problem);

/// What a packing pass makes of such operands, as the parameter `widen` has it.
enum class Widening {
  none,        ///< rows stay as they are
  bytes,       ///< elements of 4 bits become bytes
  complement,  ///< rows of bits of A are followed by their complement, of B preceded: a ^ b = (a & ~b) + (~a & b)
};

/// What a kernel multiplies: 8-bit operands whose rows have K in bytes, or as it is where elements are bytes. Leading
/// dimensions and strides are strides_in_bytes(). Other problems as they are.
Problem as_multiplied(const Problem& problem, Widening widening);

/// Bytes of a row along K of what is multiplied.
std::int64_t multiplied_row_bytes(const Problem& problem, Widening widening);

/// Whether a row along K may end within a byte.
bool ends_within_byte(const Problem& problem);

}  // namespace tilesmith
