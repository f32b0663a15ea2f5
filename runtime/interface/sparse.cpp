#include "runtime/interface/sparse.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <span>

#include "kernels/shared/multiply/sparse_layout.cuh"
#include "kernels/problem/sparsity.hpp"
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
    throw bad_sparse(fmt::format("elements are {}: expected f16, bf16, tf32, s8, u8, e4m3 or e5m2", name(matrix.element)));
  if (matrix.rows < 0 || matrix.rows > kMaxDimension) throw bad_sparse(fmt::format("rows is {}: expected 0 to {}", matrix.rows, kMaxDimension));
  const int group = sparse_group(matrix.element);
  if (matrix.k < 0 || matrix.k > kMaxDimension || matrix.k % group != 0)
    throw bad_sparse(fmt::format("k is {}: expected a multiple of {}, up to {}", matrix.k, group, kMaxDimension));
  const Lies lies{matrix.ld_dense == 0 ? matrix.k : matrix.ld_dense, matrix.ld_values == 0 ? matrix.k / 2 : matrix.ld_values};
  if (lies.ld_dense < matrix.k || lies.ld_dense > kMaxDimension)
    throw bad_sparse(fmt::format("ld_dense is {}: expected {} (the columns of a row) to {}", lies.ld_dense, matrix.k, kMaxDimension));
  if (lies.ld_values < matrix.k / 2 || lies.ld_values > kMaxDimension)
    throw bad_sparse(fmt::format("ld_values is {}: expected {} (half the columns of a row) to {}", lies.ld_values, matrix.k / 2, kMaxDimension));
  return lies;
}

void check_pointer(const char* what, const void* pointer, std::size_t align, const char* memory = "device") {
  if (pointer == nullptr) throw bad_sparse(fmt::format("{} is null: expected {} memory", what, memory));
  if (reinterpret_cast<std::uintptr_t>(pointer) % align != 0)
    throw Error(ErrorCode::misaligned, fmt::format("{} is not aligned: expected a multiple of {} bytes", what, align));
}

}  // namespace

struct SparseCalls {
  static void launch(const Library& library, CUstream_st* stream, const SparseMatrix& matrix, const char* entry, SparseMatrixArgs args, long long items) {
    const Lies lies = checked(matrix);
    args.rows = matrix.rows;
    args.k = matrix.k;
    args.ld_dense = args.ld_pruned = lies.ld_dense;
    args.ld_stored = lies.ld_values;
    launch_with(library, stream, matrix, entry, &args, items);
  }

  static void launch_with(const Library& library, CUstream_st* stream, const SparseMatrix& matrix, const char* entry, void* args, long long items) {
    runtime::LibraryState& state = library.internals();
    const runtime::KeepCurrentContext keep;
    const runtime::LetOthersCapture let_others;
    state.context().make_current();
    state.helpers().launch(state.context(), state.can_compile(), runtime::sparse_source(matrix.element), entry, items, args, stream);
  }

  /// `groups_of_row`: how the kernel numbers them.
  static SparseFault look(const Library& library, CUstream_st* stream, const SparseMatrix& matrix, const char* entry, SparseMatrixArgs args,
                          long long items, long long groups_of_row) {
    constexpr std::uint64_t kNone = std::numeric_limits<std::uint64_t>::max();
    std::array<std::uint64_t, 2> found{0, kNone};
    if (items == 0) return {};
    const runtime::KeepCurrentContext keep;
    const runtime::LetOthersCapture let_others;
    library.internals().context().make_current();
    runtime::DeviceBuffer memory(sizeof found);
    memory.upload(std::as_bytes(std::span(found)));
    args.found = memory.data();
    launch(library, stream, matrix, entry, args, items);
    runtime::check(runtime::driver().stream_synchronize(stream), "cuStreamSynchronize");
    memory.download(std::as_writable_bytes(std::span(found)));
    if (found[0] == 0) return {};
    return {std::int64_t(found[0]), std::int64_t(found[1]) / groups_of_row, std::int64_t(found[1]) % groups_of_row * sparse_group(matrix.element)};
  }
};

namespace {

long long groups_of(const SparseMatrix& matrix) { return matrix.rows * (matrix.k / sparse_group(matrix.element)); }
long long words_of(const SparseMatrix& matrix) { return metadata_rows(matrix.element, matrix.k) * metadata_columns(matrix.rows); }

PruneTilesArgs tiles_args(const SparseMatrix& matrix, const void* dense, void* pruned, const char* memory) {
  const Lies lies = checked(matrix);
  if (groups_of(matrix) > 0) {
    check_pointer("dense", dense, size_bytes(matrix.element), memory);
    check_pointer("pruned", pruned, size_bytes(matrix.element), memory);
  }
  return {dense, pruned, matrix.rows, matrix.k, lies.ld_dense};
}

}  // namespace

std::size_t sparse_metadata_bytes(const SparseMatrix& matrix) {
  checked(matrix);
  return std::size_t(words_of(matrix)) * sizeof(std::uint32_t);
}

void sparse_prune(const Library& library, CUstream_st* stream, const SparseMatrix& matrix, const void* dense, void* pruned) {
  runtime::translated([&] {
    checked(matrix);
    if (groups_of(matrix) == 0) return;
    check_pointer("dense", dense, size_bytes(matrix.element));
    check_pointer("pruned", pruned, size_bytes(matrix.element));
    SparseMatrixArgs args;
    args.dense = dense;
    args.pruned = pruned;
    SparseCalls::launch(library, stream, matrix, "prune", args, groups_of(matrix));
  });
}

void sparse_prune_tiles(const Library& library, CUstream_st* stream, const SparseMatrix& matrix, const void* dense, void* pruned) {
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
    checked(matrix);
    if (groups_of(matrix) > 0) check_pointer("dense", dense, size_bytes(matrix.element));
    SparseMatrixArgs args;
    args.dense = dense;
    return SparseCalls::look(library, stream, matrix, "find_dense_groups", args, groups_of(matrix), std::max<long long>(1, matrix.k / sparse_group(matrix.element)));
  });
}

void sparse_compress(const Library& library, CUstream_st* stream, const SparseMatrix& matrix, const void* dense, void* values, void* metadata) {
  runtime::translated([&] {
    checked(matrix);
    if (groups_of(matrix) == 0) return;
    check_pointer("dense", dense, size_bytes(matrix.element));
    check_pointer("values", values, size_bytes(matrix.element));
    check_pointer("metadata", metadata, kMetadataAlignBytes);
    SparseMatrixArgs args;
    args.dense = dense;
    args.stored = values;
    args.metadata = metadata;
    SparseCalls::launch(library, stream, matrix, "compress", args, words_of(matrix));
  });
}

void sparse_decompress(const Library& library, CUstream_st* stream, const SparseMatrix& matrix, const void* values, const void* metadata, void* dense) {
  runtime::translated([&] {
    checked(matrix);
    if (groups_of(matrix) == 0) return;
    check_pointer("values", values, size_bytes(matrix.element));
    check_pointer("metadata", metadata, kMetadataAlignBytes);
    check_pointer("dense", dense, size_bytes(matrix.element));
    SparseMatrixArgs args;
    args.stored = const_cast<void*>(values);
    args.metadata = const_cast<void*>(metadata);
    args.pruned = dense;
    SparseCalls::launch(library, stream, matrix, "decompress", args, groups_of(matrix));
  });
}

SparseFault sparse_check_metadata(const Library& library, CUstream_st* stream, const SparseMatrix& matrix, const void* metadata) {
  return runtime::translated([&] {
    checked(matrix);
    if (words_of(matrix) > 0) check_pointer("metadata", metadata, kMetadataAlignBytes);
    SparseMatrixArgs args;
    args.metadata = const_cast<void*>(metadata);
    const long long groups = metadata_rows(matrix.element, matrix.k) * kMetadataGroups;
    return SparseCalls::look(library, stream, matrix, "find_disorder", args, words_of(matrix), std::max<long long>(1, groups));
  });
}

}  // namespace tilesmith
