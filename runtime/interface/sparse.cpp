#include "runtime/interface/sparse.hpp"

#include <fmt/format.h>

#include <array>
#include <initializer_list>
#include <limits>
#include <span>

#include "kernels/problem/sparsity.hpp"
#include "kernels/shared/multiply/sparse_layout.cuh"
#include "runtime/driver/context_guards.hpp"
#include "runtime/driver/driver.hpp"
#include "runtime/interface/library_state.hpp"
#include "runtime/interface/sparse_source.hpp"
#include "runtime/interface/translated.hpp"

namespace tilesmith {
namespace {

using runtime::SparseMatrixArgs;

Error bad_sparse(std::string what) { return {ErrorCode::bad_argument, std::move(what)}; }

struct Lies {
  std::int64_t ld_dense, ld_values;
};

/// Throws if it cannot be.
Lies checked(const SparseMatrix& matrix) {
  if (!has_sparse_products(matrix.element))
    throw bad_sparse(
        fmt::format("elements are {}: expected f16, bf16, tf32, s8, u8, e4m3 or e5m2", name(matrix.element)));
  if (matrix.rows < 0 || matrix.rows > kMaxDimension)
    throw bad_sparse(fmt::format("rows is {}: expected 0 to {}", matrix.rows, kMaxDimension));
  const int group = sparse_group(matrix.element);
  if (matrix.k < 0 || matrix.k > kMaxDimension || matrix.k % group != 0)
    throw bad_sparse(fmt::format("k is {}: expected a multiple of {}, up to {}", matrix.k, group, kMaxDimension));
  const Lies lies{
      matrix.ld_dense == 0 ? matrix.k : matrix.ld_dense, matrix.ld_values == 0 ? matrix.k / 2 : matrix.ld_values};
  if (lies.ld_dense < matrix.k || lies.ld_dense > kMaxDimension)
    throw bad_sparse(fmt::format(
        "ld_dense is {}: expected {} (the columns of a row) to {}", lies.ld_dense, matrix.k, kMaxDimension));
  if (lies.ld_values < matrix.k / 2 || lies.ld_values > kMaxDimension)
    throw bad_sparse(fmt::format(
        "ld_values is {}: expected {} (half the columns of a row) to {}", lies.ld_values, matrix.k / 2, kMaxDimension));
  return lies;
}

/// `align`: 0: an element.
struct Pointer {
  const char* what;
  const void* pointer;
  std::size_t align = 0;
};

void check_pointers(
    const SparseMatrix& matrix, std::initializer_list<Pointer> pointers, const char* memory = "device") {
  for (const auto& [what, pointer, asked] : pointers) {
    if (pointer == nullptr) throw bad_sparse(fmt::format("{} is null: expected {} memory", what, memory));
    const std::size_t align = asked == 0 ? size_bytes(matrix.element) : asked;
    if (reinterpret_cast<std::uintptr_t>(pointer) % align != 0)
      throw Error(
          ErrorCode::misaligned, fmt::format("{} is not aligned: expected a multiple of {} bytes", what, align));
  }
}

long long groups_of_row(const SparseMatrix& matrix) { return matrix.k / sparse_group(matrix.element); }
long long groups_of(const SparseMatrix& matrix) { return matrix.rows * groups_of_row(matrix); }
long long words_of(const SparseMatrix& matrix) {
  return metadata_rows(matrix.element, matrix.k) * metadata_columns(matrix.rows);
}

}  // namespace

struct SparseCalls {
  /// Enqueues the kernel for a matrix that has groups.
  static void launch(const Library& library, CUstream_st* stream, const SparseMatrix& matrix, const char* entry,
      SparseMatrixArgs args, long long items, std::initializer_list<Pointer> pointers) {
    const Lies lies = checked(matrix);
    if (groups_of(matrix) == 0) return;
    check_pointers(matrix, pointers);
    args.rows = matrix.rows;
    args.k = matrix.k;
    args.ld_dense = args.ld_pruned = lies.ld_dense;
    args.ld_stored = lies.ld_values;
    launch_with(library, stream, matrix, entry, &args, items);
  }

  static void launch_with(const Library& library, CUstream_st* stream, const SparseMatrix& matrix, const char* entry,
      void* args, long long items) {
    runtime::LibraryState& state = library.internals();
    const runtime::CurrentContext current(state.context());
    const runtime::LetOthersCapture let_others;
    state.helpers().launch(
        state.context(), state.can_compile(), runtime::sparse_source(matrix.element), entry, items, args, stream);
  }

  /// `row_groups`: how the kernel numbers them.
  static SparseFault look(const Library& library, CUstream_st* stream, const SparseMatrix& matrix, const char* entry,
      SparseMatrixArgs args, long long items, long long row_groups, const Pointer& pointer) {
    checked(matrix);
    if (items == 0) return {};
    check_pointers(matrix, {pointer});
    constexpr std::uint64_t kNone = std::numeric_limits<std::uint64_t>::max();
    std::array<std::uint64_t, 2> found{0, kNone};
    const runtime::CurrentContext current(library.internals().context());
    const runtime::LetOthersCapture let_others;
    runtime::DeviceBuffer memory(sizeof found);
    memory.upload(std::as_bytes(std::span(found)));
    args.found = memory.data();
    launch(library, stream, matrix, entry, args, items, {});
    runtime::check(runtime::driver().stream_synchronize(stream), "cuStreamSynchronize");
    memory.download(std::as_writable_bytes(std::span(found)));
    if (found[0] == 0) return {};
    return {std::int64_t(found[0]), std::int64_t(found[1]) / row_groups,
        std::int64_t(found[1]) % row_groups * sparse_group(matrix.element)};
  }
};

namespace {

PruneTilesArgs tiles_args(const SparseMatrix& matrix, const void* dense, void* pruned, const char* memory) {
  const Lies lies = checked(matrix);
  if (groups_of(matrix) > 0) check_pointers(matrix, {{"dense", dense}, {"pruned", pruned}}, memory);
  return {dense, pruned, matrix.rows, matrix.k, lies.ld_dense};
}

}  // namespace

std::size_t sparse_metadata_bytes(const SparseMatrix& matrix) {
  checked(matrix);
  return std::size_t(words_of(matrix)) * sizeof(std::uint32_t);
}

void sparse_prune(
    const Library& library, CUstream_st* stream, const SparseMatrix& matrix, const void* dense, void* pruned) {
  runtime::translated([&] {
    SparseCalls::launch(library, stream, matrix, "prune", {.dense = dense, .pruned = pruned}, groups_of(matrix),
        {{"dense", dense}, {"pruned", pruned}});
  });
}

void sparse_prune_tiles(
    const Library& library, CUstream_st* stream, const SparseMatrix& matrix, const void* dense, void* pruned) {
  runtime::translated([&] {
    PruneTilesArgs args = tiles_args(matrix, dense, pruned, "device");
    const long long tiles = tiles_of(args, sparse_group(matrix.element));
    if (tiles > 0) SparseCalls::launch_with(library, stream, matrix, "prune_tiles", &args, tiles);
  });
}

void sparse_prune_tiles_on_host(const SparseMatrix& matrix, const void* dense, void* pruned) {
  runtime::prune_tiles_on_host(matrix.element, tiles_args(matrix, dense, pruned, "host"));
}

SparseFault sparse_check(const Library& library, CUstream_st* stream, const SparseMatrix& matrix, const void* dense) {
  return runtime::translated([&] {
    return SparseCalls::look(library, stream, matrix, "find_dense_groups", {.dense = dense}, groups_of(matrix),
        groups_of_row(matrix), {"dense", dense});
  });
}

void sparse_compress(const Library& library, CUstream_st* stream, const SparseMatrix& matrix, const void* dense,
    void* values, void* metadata) {
  runtime::translated([&] {
    SparseCalls::launch(library, stream, matrix, "compress", {.dense = dense, .stored = values, .metadata = metadata},
        words_of(matrix), {{"dense", dense}, {"values", values}, {"metadata", metadata, kMetadataAlignBytes}});
  });
}

void sparse_decompress(const Library& library, CUstream_st* stream, const SparseMatrix& matrix, const void* values,
    const void* metadata, void* dense) {
  runtime::translated([&] {
    SparseCalls::launch(library, stream, matrix, "decompress",
        {.pruned = dense, .stored = const_cast<void*>(values), .metadata = const_cast<void*>(metadata)},
        groups_of(matrix), {{"values", values}, {"metadata", metadata, kMetadataAlignBytes}, {"dense", dense}});
  });
}

SparseFault sparse_check_metadata(
    const Library& library, CUstream_st* stream, const SparseMatrix& matrix, const void* metadata) {
  return runtime::translated([&] {
    return SparseCalls::look(library, stream, matrix, "find_disorder", {.metadata = const_cast<void*>(metadata)},
        words_of(matrix), metadata_rows(matrix.element, matrix.k) * kMetadataGroups,
        {"metadata", metadata, kMetadataAlignBytes});
  });
}

}  // namespace tilesmith
