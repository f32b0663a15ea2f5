/* tilesmith_sparse.h without a device: sizes of metadata, and a record of what is to be made of what. A part of stand_in.c. */
EXPORT const size_t stand_in_sparse_sizes[] = {sizeof(tilesmith_sparse_matrix), sizeof(tilesmith_sparse_fault)};

EXPORT tilesmith_status tilesmith_sparse_matrix_init(tilesmith_sparse_matrix* matrix, const char* element, int64_t rows, int64_t k) {
  const int64_t group = strcmp(element, "tf32") == 0 ? 2 : 4;
  memset(matrix, 0, sizeof *matrix);
  if (k % group != 0) return failed(TILESMITH_BAD_ARGUMENT, "k is no multiple of a group");
  snprintf(matrix->element, sizeof matrix->element, "%s", element);
  matrix->rows = rows;
  matrix->k = k;
  return TILESMITH_OK;
}

EXPORT tilesmith_status tilesmith_sparse_metadata_bytes(const tilesmith_sparse_matrix* matrix, uint64_t* bytes) {
  const int64_t of_block = strcmp(matrix->element, "tf32") == 0 ? 32 : 64;
  *bytes = (uint64_t)((matrix->rows + 15) / 16 * ((matrix->k + of_block - 1) / of_block) * 128);
  return TILESMITH_OK;
}

/* The last call that makes or checks something. */
EXPORT struct {
  char name[32];
  int64_t rows, k, ld_dense, runs;
  const void *from, *from_metadata, *to, *to_metadata;
  uint64_t stream;
} stand_in_sparse;
EXPORT int64_t stand_in_sparse_wrong = 0; /* groups that a check finds, the first at row 3, column 8 */

static tilesmith_status sparse_call(const char* name, const tilesmith_sparse_matrix* matrix, struct CUstream_st* stream, const void* from,
                                    const void* from_metadata, const void* to, const void* to_metadata) {
  snprintf(stand_in_sparse.name, sizeof stand_in_sparse.name, "%s", name);
  stand_in_sparse.rows = matrix->rows, stand_in_sparse.k = matrix->k, stand_in_sparse.ld_dense = matrix->ld_dense;
  stand_in_sparse.from = from, stand_in_sparse.from_metadata = from_metadata, stand_in_sparse.to = to, stand_in_sparse.to_metadata = to_metadata;
  stand_in_sparse.stream = (uint64_t)(uintptr_t)stream;
  ++stand_in_sparse.runs;
  return TILESMITH_OK;
}

EXPORT tilesmith_status tilesmith_sparse_prune(tilesmith_library* library, struct CUstream_st* stream, const tilesmith_sparse_matrix* matrix,
                                               const void* dense, void* pruned) {
  return sparse_call("prune", matrix, stream, dense, NULL, pruned, NULL);
}

EXPORT tilesmith_status tilesmith_sparse_prune_tiles(tilesmith_library* library, struct CUstream_st* stream, const tilesmith_sparse_matrix* matrix,
                                                     const void* dense, void* pruned) {
  return sparse_call("prune_tiles", matrix, stream, dense, NULL, pruned, NULL);
}

EXPORT tilesmith_status tilesmith_sparse_check(tilesmith_library* library, struct CUstream_st* stream, const tilesmith_sparse_matrix* matrix,
                                               const void* dense, tilesmith_sparse_fault* fault) {
  *fault = (tilesmith_sparse_fault){stand_in_sparse_wrong, stand_in_sparse_wrong ? 3 : 0, stand_in_sparse_wrong ? 8 : 0};
  return sparse_call("check", matrix, stream, dense, NULL, NULL, NULL);
}

EXPORT tilesmith_status tilesmith_sparse_compress(tilesmith_library* library, struct CUstream_st* stream, const tilesmith_sparse_matrix* matrix,
                                                  const void* dense, void* values, void* metadata) {
  return sparse_call("compress", matrix, stream, dense, NULL, values, metadata);
}

EXPORT tilesmith_status tilesmith_sparse_decompress(tilesmith_library* library, struct CUstream_st* stream, const tilesmith_sparse_matrix* matrix,
                                                    const void* values, const void* metadata, void* dense) {
  return sparse_call("decompress", matrix, stream, values, metadata, dense, NULL);
}
