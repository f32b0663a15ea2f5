// 2:4 sparse operands, for C++: makes them of dense matrices, and looks at them. tilesmith_sparse.h says how they lie.
//
//   tilesmith::SparseMatrix weights{tilesmith::Scalar::f16, n, k};
//   tilesmith::sparse_prune(library, stream, weights, dense, dense);            of each 4 the 2 of largest magnitude
//   tilesmith::sparse_compress(library, stream, weights, dense, values, metadata);
//   problem.sparsity = tilesmith::Sparsity::b;                                  then gemm() with b = values and these metadata
//
// The kernels are compiled when a library first needs them: NVRTC must be there, and LibraryOptions::allow_compile set.
// All pointers are device memory. Errors: tilesmith::Error, before anything is launched. Threads: as Library. Not while
// the stream is captured, the first time.
#pragma once

#include <cstddef>
#include <cstdint>

#include "gemm.hpp"

namespace tilesmith {

/// A matrix of `rows` rows that run along K, dense and as its stored elements.
struct SparseMatrix {
  Scalar element = Scalar::f16;  ///< f16, bf16, tf32, s8, u8, e4m3 or e5m2
  std::int64_t rows = 0;         ///< M of a sparse A, N of a sparse B
  std::int64_t k = 0;            ///< a multiple of 4; of tf32, of 2
  std::int64_t ld_dense = 0;     ///< row stride of [rows, k], elements; 0: packed
  std::int64_t ld_values = 0;    ///< row stride of [rows, k/2]; 0: packed
};

/// Bytes of the metadata. Throws Error (bad_argument) for a matrix that cannot be.
std::size_t sparse_metadata_bytes(const SparseMatrix& matrix);

/// Enqueues: of each group the elements of largest magnitude stay, of equal ones the first; the others become 0. NaN is
/// the largest. `pruned`: [rows, k] with row stride ld_dense; may be `dense`.
void sparse_prune(
    const Library& library, CUstream_st* stream, const SparseMatrix& matrix, const void* dense, void* pruned);

/// Enqueues: of each tile of 4×4 (tf32: 2×2) two elements (one) of each row and column stay, so that the matrix and its
/// transpose are both 2:4 sparse, with the largest sum of magnitudes; tilesmith_sparse.h says more. `pruned` as above.
void sparse_prune_tiles(
    const Library& library, CUstream_st* stream, const SparseMatrix& matrix, const void* dense, void* pruned);
/// The same in host memory, at once, bit for bit.
void sparse_prune_tiles_on_host(const SparseMatrix& matrix, const void* dense, void* pruned);

/// How many groups are wrong, and the first of them in the order of rows. Columns are along K, of a group's first
/// element.
struct SparseFault {
  std::int64_t groups = 0;
  std::int64_t row = 0, column = 0;  ///< 0 if there is none
};

/// Groups with more elements other than 0 (and −0) than are stored. Waits for the stream.
SparseFault sparse_check(const Library& library, CUstream_st* stream, const SparseMatrix& matrix, const void* dense);

/// Enqueues: of each group what is not 0 is stored, bit by bit; where there is room, a −0 before a 0. Of a group that
/// sparse_check() finds wrong the first ones are. `metadata`: sparse_metadata_bytes(), aligned to 16 bytes. Neither may
/// overlap `dense`.
void sparse_compress(const Library& library, CUstream_st* stream, const SparseMatrix& matrix, const void* dense,
    void* values, void* metadata);

/// Enqueues the dense matrix again, with 0 where nothing is stored.
void sparse_decompress(const Library& library, CUstream_st* stream, const SparseMatrix& matrix, const void* values,
    const void* metadata, void* dense);

/// Groups whose places do not ascend; those of the padding, which kernels read too, have rows and columns beyond the
/// matrix. Waits for the stream.
SparseFault sparse_check_metadata(
    const Library& library, CUstream_st* stream, const SparseMatrix& matrix, const void* metadata);

}  // namespace tilesmith
