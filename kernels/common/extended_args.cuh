// What kernels of signatures that are not plain (kernels/signature.hpp) find behind GemmArgs' other fields. Host and device read this
// same file, so it names only built-in types. A field that it gets retires their records, and no plain kernel's.
#pragma once

namespace tilesmith {

struct ExtendedArgs {
  const void* c;     // [m, n] row-major, row stride ldc elements: read where β ≠ 0; may be where D is
  const float* scale_m;  // [m] or [1], f32; null if there is none
  const float* scale_n;  // [n] or [1]
  const void* bias;  // [n] or [m], of BiasType; null if there is none
};

}  // namespace tilesmith
