/* 2:4 sparse operands: makes them from dense matrices, and checks them. The behaviour of a run whose metadata do not
 * ascend is undefined (tilesmith_sparse_check_metadata finds them). Errors, threads and contexts: as in tilesmith.h.
 * Pointers are device memory unless a function says otherwise. NVRTC compiles the kernels at a library's first call
 * (TILESMITH_NO_KERNEL without it), which must not be made while a stream is captured.
 *
 *   tilesmith_sparse_matrix weights;
 *   tilesmith_sparse_matrix_init(&weights, "f16", n, k);
 *   tilesmith_sparse_metadata_bytes(&weights, &bytes);                                allocate values (n x k/2) and metadata (bytes)
 *   tilesmith_sparse_prune(library, stream, &weights, dense, dense);                  of each 4 the 2 of largest magnitude
 *                                              (tilesmith_sparse_prune_tiles: so that its transpose is 2:4 sparse, too)
 *   tilesmith_sparse_compress(library, stream, &weights, dense, values, metadata);
 *   problem.sparsity = TILESMITH_B_2TO4;
 *   run.operands[TILESMITH_B] = values; run.operands[TILESMITH_METADATA] = metadata;  then tilesmith_gemm (tilesmith.h)
 *
 * A matrix has rows that run along K: M of them of an A, N of a B. A row is cut into groups of 4 elements, of which 2
 * are stored, or, of tf32, of 2 elements of which 1 is. What is stored lies in rows of k/2 elements, in its order.
 *
 * Metadata are 4 bits a group: the places within the group of its stored elements in ascending order, 2 bits each, the
 * first one's in the lower bits (0100 0, 1; 1000 0, 2; 1100 0, 3; 1001 1, 2; 1101 1, 3; 1110 2, 3). Of tf32: 0100 the
 * first element, 1110 the second. They come in blocks of 16 rows x 16 groups of 32 words of 32 bits; both are padded to
 * whole blocks, by any places that ascend. Blocks lie [k / 16 groups][row / 16]. A block's word 4 g + t has, from its
 * lowest bits on,
 *
 *   elements of 2 and 4 bytes   row g, groups 4 t .. 4 t + 3; then row g + 8, the same groups
 *   elements of 1 byte          row g + t % 2 * 8, groups t / 2 * 8 .. t / 2 * 8 + 7
 *
 * which is how the instructions mma.sp and wgmma.sp take them.
 */
#ifndef TILESMITH_SPARSE_H
#define TILESMITH_SPARSE_H

#include "tilesmith.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Fill it with tilesmith_sparse_matrix_init, then change what differs. */
typedef struct tilesmith_sparse_matrix {
  char element[8];   /* "f16", "bf16", "tf32", "s8", "u8", "e4m3" or "e5m2"; the rest 0 */
  int64_t rows;      /* 0 to 2^28 */
  int64_t k;         /* a multiple of 4, of tf32 of 2 */
  int64_t ld_dense;  /* row stride of the dense matrix, elements; 0: packed, as at first */
  int64_t ld_values; /* row stride of what is stored; 0: packed, as at first */
  int64_t reserved;  /* 0 */
} tilesmith_sparse_matrix;

/* How many groups are wrong, and the first of them in the order of rows: its row, and along K its first element's
 * column. 0 if there is none. */
typedef struct tilesmith_sparse_fault {
  int64_t groups;
  int64_t row, column;
} tilesmith_sparse_fault;

tilesmith_status tilesmith_sparse_matrix_init(tilesmith_sparse_matrix* matrix, const char* element, int64_t rows,
                                              int64_t k);
tilesmith_status tilesmith_sparse_metadata_bytes(const tilesmith_sparse_matrix* matrix, uint64_t* bytes);

/* Of each group the elements of largest magnitude stay, of equal ones the first; the others become 0. NaN is the
 * largest. `pruned` has the row stride of `dense`, and may be `dense`. */
tilesmith_status tilesmith_sparse_prune(tilesmith_library* library, struct CUstream_st* stream,
                                        const tilesmith_sparse_matrix* matrix, const void* dense, void* pruned);

/* Keeps what leaves the matrix and its transpose both 2:4 sparse, as training and backward passes want it. A tile is 4
 * x 4 elements, of tf32 2 x 2. Two (one) of each row and of each column of a tile stay, those with the largest sum of
 * magnitudes of all 90 (2) ways to choose; the others become 0. Of ways as good, the first stays: by the places of the
 * first row's elements in the order 01 02 03 12 13 23 (0 1), then the second row's, and so on. Sums are made in f64;
 * those that differ by its rounding alone (bf16 and tf32 have such) may count as equal. A way that keeps more NaN is
 * better than all that keep fewer, then one that keeps more infinities. Rows need be no multiple of 4: behind the last
 * there are zeros, so each row there keeps two, and each column two at most. `pruned` has the row stride of `dense`,
 * and may be `dense`. */
tilesmith_status tilesmith_sparse_prune_tiles(tilesmith_library* library, struct CUstream_st* stream,
                                              const tilesmith_sparse_matrix* matrix, const void* dense, void* pruned);

/* The same, bit for bit, of host memory: needs no device, and is done when the call returns. */
tilesmith_status tilesmith_sparse_prune_tiles_on_host(const tilesmith_sparse_matrix* matrix, const void* dense,
                                                      void* pruned);

/* Groups with more elements other than 0 (and -0) than are stored. Waits for the stream. */
tilesmith_status tilesmith_sparse_check(tilesmith_library* library, struct CUstream_st* stream,
                                        const tilesmith_sparse_matrix* matrix, const void* dense,
                                        tilesmith_sparse_fault* fault);

/* Of each group what is not 0 is stored, bit by bit; where there is room, a -0 before a 0. Of a group that
 * tilesmith_sparse_check finds wrong the first ones are. `metadata` is aligned to 16 bytes. Neither may overlap
 * `dense`. */
tilesmith_status tilesmith_sparse_compress(tilesmith_library* library, struct CUstream_st* stream,
                                           const tilesmith_sparse_matrix* matrix, const void* dense, void* values,
                                           void* metadata);

/* The dense matrix again, with 0 where nothing is stored. */
tilesmith_status tilesmith_sparse_decompress(tilesmith_library* library, struct CUstream_st* stream,
                                             const tilesmith_sparse_matrix* matrix, const void* values,
                                             const void* metadata, void* dense);

/* Groups whose places do not ascend, which kernels must not meet; those of the padding have rows and columns beyond the
 * matrix. Waits for the stream. */
tilesmith_status tilesmith_sparse_check_metadata(tilesmith_library* library, struct CUstream_st* stream,
                                                 const tilesmith_sparse_matrix* matrix, const void* metadata,
                                                 tilesmith_sparse_fault* fault);

#ifdef __cplusplus
}
#endif
#endif
