#include "runtime/interface/tilesmith_sparse.h"

#include <fmt/format.h>

#include <cstring>
#include <string_view>

#include "runtime/interface/c_calls.hpp"
#include "runtime/interface/c_values.hpp"
#include "runtime/interface/sparse.hpp"

namespace {

using tilesmith::runtime::guarded;

constexpr tilesmith::Scalar kSparseElements[] = {tilesmith::Scalar::f16, tilesmith::Scalar::bf16,
    tilesmith::Scalar::tf32, tilesmith::Scalar::s8, tilesmith::Scalar::u8, tilesmith::Scalar::e4m3,
    tilesmith::Scalar::e5m2};

tilesmith::SparseMatrix to_matrix(const tilesmith_sparse_matrix& from) {
  if (from.reserved != 0)
    throw tilesmith::Error(tilesmith::ErrorCode::bad_argument,
        "a reserved field is not 0: expected a matrix filled by tilesmith_sparse_matrix_init");
  const std::string_view element = tilesmith::runtime::text_in(from.element);
  for (const tilesmith::Scalar known : kSparseElements) {
    if (tilesmith::name(known) == element) return {known, from.rows, from.k, from.ld_dense, from.ld_values};
  }
  throw tilesmith::Error(tilesmith::ErrorCode::bad_argument,
      fmt::format("element is '{}': expected f16, bf16, tf32, s8, u8, e4m3 or e5m2", element));
}

tilesmith_sparse_fault to_fault(const tilesmith::SparseFault& fault) { return {fault.groups, fault.row, fault.column}; }

}  // namespace

extern "C" {

tilesmith_status tilesmith_sparse_matrix_init(
    tilesmith_sparse_matrix* matrix, const char* element, int64_t rows, int64_t k) {
  if (matrix != nullptr) *matrix = tilesmith_sparse_matrix{};
  return guarded(__func__, {{"matrix", matrix}, {"element", element}}, [&] {
    tilesmith_sparse_matrix made{};
    std::strncpy(made.element, element, sizeof made.element - 1);
    made.rows = rows;
    made.k = k;
    (void)tilesmith::sparse_metadata_bytes(to_matrix(made));  // throws if it cannot be
    *matrix = made;
  });
}

tilesmith_status tilesmith_sparse_metadata_bytes(const tilesmith_sparse_matrix* matrix, uint64_t* bytes) {
  if (bytes != nullptr) *bytes = 0;
  return guarded(__func__, {{"bytes", bytes}, {"matrix", matrix}},
      [&] { *bytes = tilesmith::sparse_metadata_bytes(to_matrix(*matrix)); });
}

tilesmith_status tilesmith_sparse_prune(tilesmith_library* library, struct CUstream_st* stream,
    const tilesmith_sparse_matrix* matrix, const void* dense, void* pruned) {
  return guarded(__func__, {{"library", library}, {"matrix", matrix}},
      [&] { tilesmith::sparse_prune(library->library, stream, to_matrix(*matrix), dense, pruned); });
}

tilesmith_status tilesmith_sparse_prune_tiles(tilesmith_library* library, struct CUstream_st* stream,
    const tilesmith_sparse_matrix* matrix, const void* dense, void* pruned) {
  return guarded(__func__, {{"library", library}, {"matrix", matrix}},
      [&] { tilesmith::sparse_prune_tiles(library->library, stream, to_matrix(*matrix), dense, pruned); });
}

tilesmith_status tilesmith_sparse_prune_tiles_on_host(
    const tilesmith_sparse_matrix* matrix, const void* dense, void* pruned) {
  return guarded(__func__, {{"matrix", matrix}},
      [&] { tilesmith::sparse_prune_tiles_on_host(to_matrix(*matrix), dense, pruned); });
}

tilesmith_status tilesmith_sparse_check(tilesmith_library* library, struct CUstream_st* stream,
    const tilesmith_sparse_matrix* matrix, const void* dense, tilesmith_sparse_fault* fault) {
  if (fault != nullptr) *fault = {};
  return guarded(__func__, {{"fault", fault}, {"library", library}, {"matrix", matrix}},
      [&] { *fault = to_fault(tilesmith::sparse_check(library->library, stream, to_matrix(*matrix), dense)); });
}

tilesmith_status tilesmith_sparse_compress(tilesmith_library* library, struct CUstream_st* stream,
    const tilesmith_sparse_matrix* matrix, const void* dense, void* values, void* metadata) {
  return guarded(__func__, {{"library", library}, {"matrix", matrix}},
      [&] { tilesmith::sparse_compress(library->library, stream, to_matrix(*matrix), dense, values, metadata); });
}

tilesmith_status tilesmith_sparse_decompress(tilesmith_library* library, struct CUstream_st* stream,
    const tilesmith_sparse_matrix* matrix, const void* values, const void* metadata, void* dense) {
  return guarded(__func__, {{"library", library}, {"matrix", matrix}},
      [&] { tilesmith::sparse_decompress(library->library, stream, to_matrix(*matrix), values, metadata, dense); });
}

tilesmith_status tilesmith_sparse_check_metadata(tilesmith_library* library, struct CUstream_st* stream,
    const tilesmith_sparse_matrix* matrix, const void* metadata, tilesmith_sparse_fault* fault) {
  if (fault != nullptr) *fault = {};
  return guarded(__func__, {{"fault", fault}, {"library", library}, {"matrix", matrix}}, [&] {
    *fault = to_fault(tilesmith::sparse_check_metadata(library->library, stream, to_matrix(*matrix), metadata));
  });
}

}  // extern "C"
