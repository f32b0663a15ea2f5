// The one argument of every kernel of Tilesmith. Host and device read this same file, so it names only built-in types. TILESMITH_EXTENDED:
// of a signature that is not plain (kernels/render.hpp).
#pragma once

#ifdef TILESMITH_EXTENDED
#include "kernels/common/extended_args.cuh"
#endif
#ifdef TILESMITH_GROUPED
#include "kernels/common/grouped_args.cuh"
#endif
#ifdef TILESMITH_CODED
#include "kernels/common/coded_args.cuh"
#endif

namespace tilesmith {

#ifdef TILESMITH_DEVICE_SCALARS
// Where α or β lies in device memory, in the type pair's scale type; null: it is 0. Stands where a value stands else.
struct Scale {
  const void* at;
};
#else
// α or β in the type pair's scale type. The bytes beyond the member in use are zero.
union Scale {
  float f32;
  int s32;
  double f64;
};
#endif

struct GemmArgs {
  const void* a;    // [a_rows, a_cols] row-major, row stride lda elements
  const void* b;    // [b_rows, b_cols] row-major, row stride ldb elements
  void* c;          // [m, n] row-major, row stride ldc elements
  void* workspace;  // as many bytes as the plan asks for, 256-byte aligned; null if it asks for none
  long long lda;
  long long ldb;
  long long ldc;
  int m;
  int n;
  int k;  // 0 if α = 0: A and B are then not read
  int reserved;
  Scale alpha;
  Scale beta;
#ifdef TILESMITH_EXTENDED
  ExtendedArgs more;
#endif
#ifdef TILESMITH_GROUPED
  GroupedArgs grouped;
#endif
#ifdef TILESMITH_CODED
  CodedArgs coded;
#endif
};

}  // namespace tilesmith
