/* tilesmith_sparse.h without a device: sizes of metadata. A part of stand_in.c. */
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
