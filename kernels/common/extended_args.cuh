// What kernels of signatures that are not plain (kernels/signature.hpp) find behind GemmArgs' other fields. Host and device read this
// same file, so it names only built-in types. A field that it gets retires their records, and no plain kernel's.
#pragma once

namespace tilesmith {

struct ExtendedArgs {
  const void* c;         // [m, n] row-major, row stride ldc elements: read where β ≠ 0; may be where D is
  const float* scale_m;  // [m] or [1], f32; null if there is none
  const float* scale_n;  // [n] or [1]
  const void* bias;      // [n] or [m], of BiasType; null if there is none
  long long stride_a;    // elements from an entry of a strided batch to the next; 0 of A and B: all entries read one
  long long stride_b;
  long long stride_c;    // C's and D's
  int batch;             // entries
  int reserved;
};

}  // namespace tilesmith
