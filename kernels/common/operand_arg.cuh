// What a kernel is told of an operand besides A, B and the output: a parameter of its own behind GemmArgs. Kernels that take none do not
// include this, so that a new operand changes no other kernel. Host and device read this file, so it names only built-in types.
#pragma once

namespace tilesmith {

struct OperandArg {
  const void* data;      // row-major
  long long row_stride;  // elements
};

}  // namespace tilesmith
