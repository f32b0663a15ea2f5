// The one argument of every kernel of Tilesmith. Host and device read this same file, so it names only built-in types.
#pragma once

namespace tilesmith {

// α or β in the type pair's scale type, or where it lies in device memory (kScalarsOnDevice; null: it is 0). The bytes
// beyond the member in use are zero.
union Scale {
  float f32;
  int s32;
  double f64;
  const void* at;
};

// What every kernel reads.
struct PlainArgs {
  const void* a;    // [a_rows, a_cols] row-major, row stride lda elements
  const void* b;    // [b_rows, b_cols] row-major, row stride ldb elements
  void* d;          // [m, n] row-major, row stride ldc elements
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
};

// Fields that a signature does not have are zero, and its kernels do not read them.
struct GemmArgs : PlainArgs {
  // For an epilogue and for batches (kHasEpilogue, kIsBatched).
  const void* c;         // [m, n] row-major, row stride ldc elements: read where β ≠ 0; may be where D is
  const float* scale_m;  // [m] or [1], f32; null if there is none
  const float* scale_n;  // [n] or [1]
  const void* bias;      // [n] or [m], of BiasType; null if there is none
  long long stride_a;    // elements from an entry of a strided batch to the next; 0 of A and B: all entries read one
  long long stride_b;
  long long stride_c;  // C's and D's
  int batch;           // entries, or groups
  // For groups (kIsGrouped).
  const int* ends;  // [batch]: where the rows of each group end
  int*
      fault;  // memory that the host reads, too: where an end is wrong, 1 + the group's number is put there; may be null
  // For weights and a 2:4 sparse operand (kHasWeights, kIsSparse).
  const void* metadata;  // where an operand's elements lie among its zeros
  const void* scales;    // [groups of columns, n] packed: of weights
  const void* zeros;     // the same; null if there are none
};

}  // namespace tilesmith
