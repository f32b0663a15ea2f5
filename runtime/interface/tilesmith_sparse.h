/* 2:4 sparse operands: functions that make them from dense matrices, and check them. Errors, threads and contexts: as
 * in tilesmith.h. Pointers are device memory unless a function says otherwise.
 *
 * Hazard: the places in a group's metadata must ascend. If they do not, the behaviour of a run is undefined;
 * tilesmith_sparse_check_metadata finds such groups.
 * The first call of a library compiles the kernels by NVRTC (TILESMITH_NO_KERNEL if NVRTC is missing). Do not make that
 * call while a stream is captured.
 *
 *   tilesmith_sparse_matrix weights;
 *   tilesmith_sparse_matrix_init(&weights, "f16", n, k);
 *   tilesmith_sparse_metadata_bytes(&weights, &bytes);                   allocate values (n x k/2) and metadata (bytes)
 *   tilesmith_sparse_prune(library, stream, &weights, dense, dense);       keeps the 2 largest of each 4 elements
 *   tilesmith_sparse_compress(library, stream, &weights, dense, values, metadata);
 *   problem.sparsity = TILESMITH_B_2TO4;
 *   run.operands[TILESMITH_B] = values; run.operands[TILESMITH_METADATA] = metadata;  then tilesmith_gemm (tilesmith.h)
 *
 * Rows of the matrix run along K: an A has M of them, a B has N. A row is cut into groups of 4 elements, and 2 elements
 * of each group are stored. With tf32 a group has 2 elements, of which 1 is stored. The stored elements of a row are
 * k/2 values in their original order.
 *
 * Metadata has 4 bits for each group: the places of its two stored elements within the group, 2 bits each, in ascending
 * order, the first one in the lower bits (0100: elements 0 and 1; 1000: 0, 2; 1100: 0, 3; 1001: 1, 2; 1101: 1, 3;
 * 1110: 2, 3). With tf32, 0100 is the first element and 1110 the second. Metadata lies in blocks of 16 rows x 16
 * groups, which are 32 words of 32 bits. Rows and groups are padded to whole blocks by any ascending places. Blocks are
 * [k / 16 groups][row / 16]. Word 4 g + t of a block has, from its lowest bits on:
 *
 *   elements of 2 and 4 bytes   row g, groups 4 t .. 4 t + 3; then row g + 8, the same groups
 *   elements of 1 byte          row g + t % 2 * 8, groups t / 2 * 8 .. t / 2 * 8 + 7
 *
 * The instructions mma.sp and wgmma.sp read metadata in this order.
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
  int64_t k;         /* a multiple of 4 (tf32: of 2) */
  int64_t ld_dense;  /* row stride of the dense matrix, elements; 0 (the initial value): packed */
  int64_t ld_values; /* row stride of the stored elements; 0 (the initial value): packed */
  int64_t reserved;  /* 0 */
} tilesmith_sparse_matrix;

/* The number of wrong groups, and the first of them in the order of rows: its row, and the column of its first element
 * along K. All 0 if no group is wrong. */
typedef struct tilesmith_sparse_fault {
  int64_t groups;
  int64_t row, column;
} tilesmith_sparse_fault;

tilesmith_status tilesmith_sparse_matrix_init(tilesmith_sparse_matrix* matrix, const char* element, int64_t rows,
                                              int64_t k);
tilesmith_status tilesmith_sparse_metadata_bytes(const tilesmith_sparse_matrix* matrix, uint64_t* bytes);

/* Keeps the elements of largest magnitude of each group, and the first of equal ones; the others become 0. NaN counts
 * as the largest. `pruned` has the row stride of `dense`, and may be `dense`. */
tilesmith_status tilesmith_sparse_prune(tilesmith_library* library, struct CUstream_st* stream,
                                        const tilesmith_sparse_matrix* matrix, const void* dense, void* pruned);

/* Makes a matrix that is 2:4 sparse along its rows and along its columns, so that its transpose can be used, too, as
 * training needs it. A tile is 4 x 4 elements (tf32: 2 x 2). In each tile, two elements (tf32: one) of each row and of
 * each column stay, and the others become 0. Of the 90 (tf32: 2) ways to choose them, the one with the largest sum of
 * magnitudes is taken.
 * - Ties: the first way is taken, ordered by the places of the first row's elements (01 02 03 12 13 23; tf32: 0 1),
 *   then by the second row's, and so on. Sums are f64; sums that differ only by f64 rounding (possible with bf16 and
 *   tf32) may count as equal.
 * - A way that keeps more NaN is better than one that keeps fewer; then one that keeps more infinities is better.
 * - The number of rows need not be a multiple of 4. Rows behind the last count as zeros, so in the last tiles each row
 *   keeps two elements and each column at most two.
 * `pruned` has the row stride of `dense`, and may be `dense`. */
tilesmith_status tilesmith_sparse_prune_tiles(tilesmith_library* library, struct CUstream_st* stream,
                                              const tilesmith_sparse_matrix* matrix, const void* dense, void* pruned);

/* The same result, bit for bit, in host memory. Needs no device; the work is done when the call returns. */
tilesmith_status tilesmith_sparse_prune_tiles_on_host(const tilesmith_sparse_matrix* matrix, const void* dense,
                                                      void* pruned);

/* Finds groups that have more elements other than 0 (and -0) than can be stored. Waits for the stream. */
tilesmith_status tilesmith_sparse_check(tilesmith_library* library, struct CUstream_st* stream,
                                        const tilesmith_sparse_matrix* matrix, const void* dense,
                                        tilesmith_sparse_fault* fault);

/* Stores the elements of each group that are not 0, unchanged; if there is room, a -0 is stored rather than a 0. Of a
 * group that tilesmith_sparse_check finds wrong, the first elements are stored. `metadata` must be aligned to 16 bytes.
 * `values` and `metadata` must not overlap `dense`. */
tilesmith_status tilesmith_sparse_compress(tilesmith_library* library, struct CUstream_st* stream,
                                           const tilesmith_sparse_matrix* matrix, const void* dense, void* values,
                                           void* metadata);

/* Makes the dense matrix again, with 0 where nothing is stored. */
tilesmith_status tilesmith_sparse_decompress(tilesmith_library* library, struct CUstream_st* stream,
                                             const tilesmith_sparse_matrix* matrix, const void* values,
                                             const void* metadata, void* dense);

/* Finds groups whose places do not ascend. A wrong group in the padding is reported with a row or column beyond the
 * matrix. Waits for the stream. */
tilesmith_status tilesmith_sparse_check_metadata(tilesmith_library* library, struct CUstream_st* stream,
                                                 const tilesmith_sparse_matrix* matrix, const void* metadata,
                                                 tilesmith_sparse_fault* fault);

#ifdef __cplusplus
}
#endif
#endif
