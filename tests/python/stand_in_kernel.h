/* Kernels of one's own in the stand-in: any folder is one with rows and cols, whose buffers have rows * cols elements. Included by stand_in.c. */
EXPORT char stand_in_sizes_named[256]; /* of the last run: "rows=4 cols=6" */
EXPORT uint64_t stand_in_buffers[8];
EXPORT int32_t stand_in_kernels;

struct tilesmith_kernel { char folder[256]; };

EXPORT tilesmith_status tilesmith_kernel_open(tilesmith_library* library, const char* folder, tilesmith_kernel** kernel) {
  *kernel = NULL;
  if (library == NULL) return failed(TILESMITH_BAD_ARGUMENT, "library is null");
  if (planted() != TILESMITH_OK) return TILESMITH_BAD_ARGUMENT;
  *kernel = malloc(sizeof **kernel);
  snprintf((*kernel)->folder, sizeof (*kernel)->folder, "%s", folder);
  stand_in_kernels++;
  return TILESMITH_OK;
}

EXPORT void tilesmith_kernel_close(tilesmith_kernel* kernel) {
  if (kernel != NULL) stand_in_kernels--;
  free(kernel);
}

EXPORT tilesmith_status tilesmith_kernel_elements(const tilesmith_kernel* kernel, const char* const* names, const int64_t* values, size_t sizes,
                                                  int64_t* elements, size_t buffer_count) {
  int64_t rows = 4096, cols = 1000;
  for (size_t i = 0; i < sizes; ++i) {
    if (strcmp(names[i], "rows") != 0 && strcmp(names[i], "cols") != 0) return failed(TILESMITH_BAD_ARGUMENT, "there is no such size");
    *(names[i][0] == 'r' ? &rows : &cols) = values[i];
  }
  for (size_t i = 0; i < buffer_count; ++i) elements[i] = rows * cols;
  return (void)kernel, planted();
}

EXPORT tilesmith_status tilesmith_kernel_run(const tilesmith_kernel* kernel, struct CUstream_st* stream, const char* const* names,
                                             const int64_t* values, size_t sizes, void* const* buffers, size_t buffer_count) {
  if (kernel == NULL || buffer_count > 8) return failed(TILESMITH_BAD_ARGUMENT, "no kernel, or too many buffers");
  if (planted() != TILESMITH_OK) return TILESMITH_DEVICE_FAILED;
  size_t at = 0;
  stand_in_sizes_named[0] = 0;
  for (size_t i = 0; i < sizes; ++i)
    at += (size_t)snprintf(stand_in_sizes_named + at, sizeof stand_in_sizes_named - at, "%s%s=%lld", i > 0 ? " " : "", names[i], (long long)values[i]);
  for (size_t i = 0; i < buffer_count; ++i) stand_in_buffers[i] = (uint64_t)(uintptr_t)buffers[i];
  stand_in.stream = (uint64_t)(uintptr_t)stream;
  stand_in.runs++;
  return TILESMITH_OK;
}
