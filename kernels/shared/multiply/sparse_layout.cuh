// How the metadata of a 2:4 sparse operand lies. Host and device read this same file. (tilesmith_sparse.h has the whole
// picture.)
//
// A row along K is cut into groups: 4 elements of which 2 are stored, or, of 4-byte elements, 2 of which 1 is. Each
// group has 4 bits: the places of the stored ones in ascending order, 2 bits each, the lower first. Of 4-byte elements
// they are 0100 for the first and 1110 for the second.
//
//   a block   16 rows × 16 groups: 32 words of 32 bits, in the order of a warp's lanes, as mma.sp and wgmma.sp take them
//   blocks    of all rows for the first 16 groups, then for the next: [group / 16][row / 16][32]
//
//   word 4g + t    2- and 4-byte elements: bits 0..15 row g, bits 16..31 row g + 8, groups 4t .. 4t + 3
//                  bytes: row g + t % 2 · 8, groups t / 2 · 8 .. t / 2 · 8 + 7
#pragma once

#include "kernels/shared/host_device.cuh"

namespace tilesmith {

constexpr int kMetadataRows = 16, kMetadataGroups = 16, kMetadataWords = 32;  // of a block

// Elements of a group, and how many of them are stored.
TILESMITH_HOST_DEVICE constexpr int group_elements(int element_bytes) { return element_bytes == 4 ? 2 : 4; }
TILESMITH_HOST_DEVICE constexpr int stored_elements(int element_bytes) { return group_elements(element_bytes) / 2; }

// Elements of K that a block has.
TILESMITH_HOST_DEVICE constexpr int metadata_block_k(int element_bytes) {
  return kMetadataGroups * group_elements(element_bytes);
}

TILESMITH_HOST_DEVICE constexpr long long metadata_blocks(long long extent, int of_block) {
  return (extent + of_block - 1) / of_block;
}

struct MetadataPlace {
  long long word;
  int shift;  // of the group's four bits
};

TILESMITH_HOST_DEVICE constexpr MetadataPlace metadata_place(
    long long row, long long group, long long row_blocks, int element_bytes) {
  const long long block = group / kMetadataGroups * row_blocks + row / kMetadataRows;
  const int g = int(row % 8), high = int(row % kMetadataRows / 8), of_block = int(group % kMetadataGroups);
  if (element_bytes == 1) return {block * kMetadataWords + 4 * g + high + of_block / 8 * 2, of_block % 8 * 4};
  return {block * kMetadataWords + 4 * g + of_block / 4, 16 * high + of_block % 4 * 4};
}

// The other way round: which group a word's i-th four bits are of.
struct GroupPlace {
  long long row, group;
};

TILESMITH_HOST_DEVICE constexpr GroupPlace group_place(long long word, int i, long long row_blocks, int element_bytes) {
  const long long block = word / kMetadataWords, first_row = block % row_blocks * kMetadataRows,
                  first_group = block / row_blocks * kMetadataGroups;
  const int g = int(word % kMetadataWords) / 4, t = int(word % 4);
  if (element_bytes == 1) return {first_row + g + t % 2 * 8, first_group + t / 2 * 8 + i};
  return {first_row + g + i / 4 * 8, first_group + 4 * t + i % 4};
}

// Where in its group the stored element of number `i` stands, by the group's four bits.
TILESMITH_HOST_DEVICE constexpr int place_in_group(unsigned bits, int i, int element_bytes) {
  return element_bytes == 4 ? int(bits >> 1 & 1) : int(bits >> (2 * i) & 3);
}

// Whether the bits are any that instructions take: ascending places.
TILESMITH_HOST_DEVICE constexpr bool is_metadata(unsigned bits, int element_bytes) {
  if (element_bytes == 4) return bits == 0x4 || bits == 0xe;
  return (bits & 3) < (bits >> 2 & 3);
}

// Of groups that are not there: the first places.
constexpr unsigned kNoGroups = 0x44444444u;

}  // namespace tilesmith
