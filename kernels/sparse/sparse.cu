// Makes 2:4 sparse operands of dense matrices, and looks at them (runtime/interface/sparse.hpp). Behind a prefix that
// the host writes, in namespace tilesmith:
//   using Element = ...;      an unsigned integer of the element's size
//   constexpr unsigned kSign  its sign bit, 0 of u8;   constexpr bool kTwosComplement, of s8
//   #define TILESMITH_ELEMENT_FORMAT  what initialises an ElementFormat (tiles.cuh)
//
// A matrix has `rows` rows of `k` elements. A thread has a word of metadata: of two rows four groups each, or, of
// bytes, eight of one.
#include "kernels/shared/multiply/sparse_layout.cuh"
#include "kernels/sparse/tiles.cuh"

namespace tilesmith {

constexpr int kBytes = int(sizeof(Element)), kGroup = group_elements(kBytes), kStored = stored_elements(kBytes);

struct SparseMatrixArgs {
  const void* dense;          // [rows, k], row stride ld_dense elements
  void* pruned;               // the same
  void* stored;               // [rows, k / 2], row stride ld_stored
  unsigned* metadata;         // sparse_layout.cuh
  unsigned long long* found;  // how many groups, and the first: row · groups of a row + group
  long long rows, k, ld_dense, ld_pruned, ld_stored;
};

__device__ __forceinline__ long long thread_number() { return (long long)blockIdx.x * blockDim.x + threadIdx.x; }
__device__ __forceinline__ long long thread_count() { return (long long)gridDim.x * blockDim.x; }

// Grows with an element's magnitude; NaN are the largest. 0 of both zeros.
__device__ __forceinline__ unsigned magnitude(Element value) {
  if constexpr (kTwosComplement) {
    const int signed_value = static_cast<signed char>(value);
    return unsigned(signed_value < 0 ? -signed_value : signed_value);
  } else {
    return unsigned(value) & ~kSign;
  }
}

// The group's elements that are stored, as its four bits: those of the largest keys, of equal ones the first, in
// ascending order.
template <typename Key>
__device__ __forceinline__ unsigned chosen_bits(const Element (&group)[kGroup], const Key& key) {
  if constexpr (kGroup == 2) {
    return key(group[1]) > key(group[0]) ? 0xe : 0x4;
  } else {
    int first = 0, second = -1;
#pragma unroll
    for (int i = 1; i < kGroup; ++i) {
      if (key(group[i]) > key(group[first])) first = i;
    }
#pragma unroll
    for (int i = 0; i < kGroup; ++i) {
      if (i != first && (second < 0 || key(group[i]) > key(group[second]))) second = i;
    }
    return unsigned(first < second ? first | second << 2 : second | first << 2);
  }
}

__device__ __forceinline__ bool is_stored(unsigned bits, int place) {
#pragma unroll
  for (int i = 0; i < kStored; ++i) {
    if (place_in_group(bits, i, kBytes) == place) return true;
  }
  return false;
}

__device__ __forceinline__ void load_group(
    Element (&group)[kGroup], const SparseMatrixArgs& args, long long row, long long number) {
  const Element* from = static_cast<const Element*>(args.dense) + row * args.ld_dense + number * kGroup;
#pragma unroll
  for (int i = 0; i < kGroup; ++i) group[i] = from[i];
}

__device__ __forceinline__ void report(const SparseMatrixArgs& args, long long at) {
  atomicAdd(&args.found[0], 1ull);
  atomicMin(&args.found[1], (unsigned long long)at);
}

}  // namespace tilesmith

// Keeps of each group the elements of largest magnitude; the others become 0.
extern "C" __global__ void prune(const __grid_constant__ tilesmith::SparseMatrixArgs args) {
  using namespace tilesmith;
  const long long groups = args.k / kGroup;
  for (long long at = thread_number(); at < args.rows * groups; at += thread_count()) {
    const long long row = at / groups, number = at % groups;
    Element group[kGroup];
    load_group(group, args, row, number);
    const unsigned bits = chosen_bits(group, [](Element value) { return magnitude(value); });
    Element* to = static_cast<Element*>(args.pruned) + row * args.ld_pruned + number * kGroup;
#pragma unroll
    for (int i = 0; i < kGroup; ++i) to[i] = is_stored(bits, i) ? group[i] : Element(0);
  }
}

// Keeps of each tile what leaves it and its transpose 2:4 sparse, a thread a tile.
extern "C" __global__ void prune_tiles(const __grid_constant__ tilesmith::PruneTilesArgs args) {
  using namespace tilesmith;
  constexpr ElementFormat kFormat TILESMITH_ELEMENT_FORMAT;
  for (long long tile = thread_number(); tile < tiles_of(args, kGroup); tile += thread_count())
    prune_tile<Element>(args, tile, kFormat);
}

// Finds groups with more elements that are not 0 than are stored.
extern "C" __global__ void find_dense_groups(const __grid_constant__ tilesmith::SparseMatrixArgs args) {
  using namespace tilesmith;
  const long long groups = args.k / kGroup;
  for (long long at = thread_number(); at < args.rows * groups; at += thread_count()) {
    Element group[kGroup];
    load_group(group, args, at / groups, at % groups);
    int count = 0;
#pragma unroll
    for (int i = 0; i < kGroup; ++i) count += magnitude(group[i]) != 0;
    if (count > kStored) report(args, at);
  }
}

// Stores of each group what is not 0; where there is room, a −0 before a 0.
extern "C" __global__ void compress(const __grid_constant__ tilesmith::SparseMatrixArgs args) {
  using namespace tilesmith;
  const long long groups = args.k / kGroup, row_blocks = metadata_blocks(args.rows, kMetadataRows);
  const long long words = row_blocks * metadata_blocks(groups, kMetadataGroups) * kMetadataWords;
  for (long long word = thread_number(); word < words; word += thread_count()) {
    unsigned made = 0;
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      const GroupPlace place = group_place(word, i, row_blocks, kBytes);
      unsigned bits = kNoGroups & 15;
      if (place.row < args.rows && place.group < groups) {
        Element group[kGroup];
        load_group(group, args, place.row, place.group);
        bits = chosen_bits(group, [](Element value) { return magnitude(value) != 0 ? 2 : value != 0 ? 1 : 0; });
        Element* to = static_cast<Element*>(args.stored) + place.row * args.ld_stored + place.group * kStored;
#pragma unroll
        for (int j = 0; j < kStored; ++j) {
#pragma unroll
          for (int e = 0; e < kGroup; ++e) {
            if (place_in_group(bits, j, kBytes) == e) to[j] = group[e];
          }
        }
      }
      made |= bits << (4 * i);
    }
    args.metadata[word] = made;
  }
}

// The dense matrix again.
extern "C" __global__ void decompress(const __grid_constant__ tilesmith::SparseMatrixArgs args) {
  using namespace tilesmith;
  const long long groups = args.k / kGroup, row_blocks = metadata_blocks(args.rows, kMetadataRows);
  for (long long at = thread_number(); at < args.rows * groups; at += thread_count()) {
    const long long row = at / groups, number = at % groups;
    const MetadataPlace place = metadata_place(row, number, row_blocks, kBytes);
    const unsigned bits = args.metadata[place.word] >> place.shift & 15;
    const Element* from = static_cast<const Element*>(args.stored) + row * args.ld_stored + number * kStored;
    Element* to = static_cast<Element*>(args.pruned) + row * args.ld_pruned + number * kGroup;
#pragma unroll
    for (int e = 0; e < kGroup; ++e) {
      Element value = 0;
#pragma unroll
      for (int j = 0; j < kStored; ++j) {
        if (place_in_group(bits, j, kBytes) == e) value = from[j];
      }
      to[e] = value;
    }
  }
}

// Finds groups whose places do not ascend. Those of no row or behind K count, too: kernels read them.
extern "C" __global__ void find_disorder(const __grid_constant__ tilesmith::SparseMatrixArgs args) {
  using namespace tilesmith;
  const long long row_blocks = metadata_blocks(args.rows, kMetadataRows),
                  k_blocks = metadata_blocks(args.k / kGroup, kMetadataGroups);
  for (long long word = thread_number(); word < row_blocks * k_blocks * kMetadataWords; word += thread_count()) {
    const unsigned bits = args.metadata[word];
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      const GroupPlace place = group_place(word, i, row_blocks, kBytes);
      if (!is_metadata(bits >> (4 * i) & 15, kBytes))
        report(args, place.row * (k_blocks * kMetadataGroups) + place.group);
    }
  }
}
