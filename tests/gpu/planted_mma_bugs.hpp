// The kernel bugs that the verifier must catch in the families `mma` and `gemv`. None strays out of the memory around
// its operands: a fault would be seen too, but would end the test's context.
#pragma once

#include <vector>

#include "tests/gpu/planted_bug.hpp"

namespace tilesmith::planted {

// Tiles of 32×32 warps; one config a way through the template.
#define TILESMITH_MMA(inst_k, block_n, swap, block_k, slice_k, persistent, store_staged, split_k, reduction, tma, \
    pack, pack_k_major, overlap)                                                                                  \
  "mma{inst_k=" #inst_k ",block_m=64,block_n=" #block_n ",warp_m=32,warp_n=32,swap=" #swap ",block_k=" #block_k   \
  ",stages=3,slice_k=" #slice_k ",frag_buffers=2,min_blocks=1,group_m=1,persistent=" #persistent                  \
  ",store_staged=" #store_staged ",split_k=" #split_k ",reduction=" #reduction ",copy_bytes=16,tma=" #tma         \
  ",pack=" #pack ",pack_k_major=" #pack_k_major ",overlap=" #overlap ",early_launch=0}"

inline constexpr const char* kPlain = TILESMITH_MMA(16, 64, 0, 32, 1, 0, 0, 1, 0, 0, 0, 0, 0);
inline constexpr const char* kStaged = TILESMITH_MMA(16, 64, 0, 32, 1, 0, 1, 1, 0, 0, 0, 0, 0);
inline constexpr const char* kPersistent = TILESMITH_MMA(16, 128, 0, 32, 1, 1, 0, 1, 0, 0, 0, 0, 0);
inline constexpr const char* kSliced = TILESMITH_MMA(16, 64, 0, 64, 2, 0, 0, 1, 0, 0, 0, 0, 0);
inline constexpr const char* kSplitSummed = TILESMITH_MMA(16, 64, 0, 32, 1, 0, 0, 2, 0, 0, 0, 0, 1);
inline constexpr const char* kSplitAtomic = TILESMITH_MMA(16, 64, 0, 32, 1, 0, 0, 2, 1, 0, 0, 0, 1);
inline constexpr const char* kPacked = TILESMITH_MMA(16, 64, 0, 32, 1, 0, 0, 1, 0, 0, 3, 0, 1);
inline constexpr const char* kTensorCopied = TILESMITH_MMA(16, 64, 0, 64, 1, 0, 0, 1, 0, 1, 0, 0, 0);
inline constexpr const char* kBytes = TILESMITH_MMA(32, 64, 0, 64, 1, 0, 0, 1, 0, 0, 0, 0, 0);
inline constexpr const char* kBytesStaged = TILESMITH_MMA(32, 64, 0, 64, 1, 0, 1, 1, 0, 0, 0, 0, 0);
inline constexpr const char* kBytesSplitSummed = TILESMITH_MMA(32, 64, 0, 64, 1, 0, 0, 2, 0, 0, 0, 0, 1);
inline constexpr const char* kBytesTurned = TILESMITH_MMA(32, 64, 0, 64, 1, 0, 0, 1, 0, 0, 3, 1, 1);
inline constexpr const char* kTf32 = TILESMITH_MMA(8, 64, 0, 32, 1, 0, 0, 1, 0, 0, 0, 0, 0);
inline constexpr const char* kTf32Swapped = TILESMITH_MMA(8, 64, 1, 32, 1, 0, 0, 1, 0, 0, 0, 0, 0);
#undef TILESMITH_MMA

inline constexpr const char* kSkewedRows =
    "mma{inst_k=16,block_m=64,block_n=64,warp_m=32,warp_n=32,swap=0,block_k=32,stages=3,slice_k=1,frag_buffers=1,"
    "min_blocks=1,group_m=1,persistent=0,store_staged=1,split_k=1,reduction=0,copy_bytes=2,tma=0,pack=0,"
    "pack_k_major=0,overlap=0,early_launch=0}";

inline constexpr const char* kAcross =
    "gemv{matrix=1,shifted=0,threads=128,lanes=8,rows=1,unroll=4,split_k=1,cluster=0,prefetch_bytes=0,overlap=0,early_launch=0}";
inline constexpr const char* kAlong =
    "gemv{matrix=1,shifted=0,threads=256,lanes=32,rows=1,unroll=2,split_k=1,cluster=0,prefetch_bytes=0,overlap=0,early_launch=0}";
inline constexpr const char* kAcrossSplit =
    "gemv{matrix=1,shifted=0,threads=128,lanes=8,rows=1,unroll=4,split_k=2,cluster=0,prefetch_bytes=0,overlap=1,early_launch=0}";

inline std::vector<Bug> mma_bugs() {
  return {
      {"rows are taken for aligned", "mma", 0, "bf16f32", kNT, {{"+ skew.of(row)", ""}}, kSkewedRows},
      {"rows along N share the skew of the first", "mma", 0, "f16f32", kNN, {{"skew.of(row)", "skew.of(row & ~1)"}},
          kSkewedRows},
      {"the next row follows a skewed row's end", "mma", 0, "f16f32", kNN,
          {{"max(0, min(bytes_left_ - bytes_in_front_[i], kChunkBytes))", "kChunkBytes"}}, kSkewedRows},
      {"the K tail is dropped", "mma", 0, "f16f32", kNN,
          {{"(k - k0 + kNextStep - 1) / kNextStep", "(k - k0) / kNextStep"}}, kPlain},
      {"halves of a fragment change places", "mma", 0, "bf16f32", kNT,
          {{"Tile::chunk_offset(row0 + 8 * r + row, q)", "Tile::chunk_offset(row0 + 8 * q + row, r)"}}, kPlain},
      {"tiles overlap", "mma", 0, "f16f16", kTN, {{"return {tile.m * kItemM,", "return {tile.m * (kItemM - 16),"}},
          kPlain},
      {"beta is ignored", "mma", 0, "f16f32", kTT,
          {{"linear<ScaleType>(alpha_, value_of(sums[e]), beta_, ScaleType(held.at(e)))",
              "linear<ScaleType>(alpha_, value_of(sums[e]))"}},
          kPlain},
      {"the store runs over the edge", "mma", 0, "f16f32", kNT,
          {{"align_ % alignof(StoredVector<Count>) == 0 && n + Count <= n_",
              "align_ % alignof(StoredVector<Count>) == 0"}},
          kPlain},
      {"a staged store leaves out the last row of C", "mma", 0, "bf16f32bf16", kNN,
          {{"kRowsPerTurn * Sums::kRowStep < rows_left &&", "kRowsPerTurn * Sums::kRowStep < rows_left - 1 &&"}},
          kStaged},
      {"one share of a sliced K is left out", "mma", 0, "f16f32", kTN,
          {{"part < kParts; ++part) {\n          Accumulator more[kStoredVector];",
              "part < kParts - 1; ++part) {\n          Accumulator more[kStoredVector];"}},
          kSliced},
      {"the last slice's partial sums are left out", "mma", 0, "f16f32f16", kNN,
          {{"for (int slice = 0; slice < kSlicesOfGroup; ++slice) {",
              "for (int slice = 0; slice < kSlicesOfGroup - 1; ++slice) {"}},
          kSplitSummed},
      {"C is not scaled before slices are added to it", "mma", 0, "f16f32", kNT,
          {{"Output(scaled<ScaleType>(beta, ScaleType(*to)))", "*to"}}, kSplitAtomic},
      {"packed words are shifted too little", "mma", 0, "f16f32", kNN, {{"chunk.skew % 4 * 8", "chunk.skew % 4 * 4"}},
          kPacked},
      {"pairs of bytes are parted the wrong way", "mma", 0, "s8s32", kNN, {{"0x6420", "0x7531"}}, kBytes},
      {"tf32 operands are not rounded", "mma", 0, "tf32f32", kNT,
          {{"for (Word& word : rows.w) word = rounded_to_tf32(word);", ""}}, kTf32},
      {"chunks of a word tile change places", "mma", 0, "tf32f32", kTN,
          {{"(exchanged + i % 2 * 2 + r)", "(exchanged + i % 2 + 2 * r)"}}, kTf32},
      {"neighbours of swapped sums change places", "mma", 0, "tf32f32", kNN,
          {{"sum(sums, row, i + e)", "sum(sums, row, i + kVector - 1 - e)"}}, kTf32Swapped},
      {"swapped sums are blended with the first column of their tile", "mma", 0, "tf32f32", kNN,
          {{"held[b][i].load(place.at + along(i))", "held[b][i].load(place.at)"}}, kTf32Swapped},
      {"a block's second tile is added to its first", "mma", 0, "f16f32", kNT,
          {{"tile.clear();\n    loop", "if (item == blockIdx.x) tile.clear();\n    loop"}}, kPersistent},
      {"bytes that are turned K-major keep their words", "mma", 0, "s8s32", kTN, {{"transpose_within_words(w);", ""}},
          kBytesTurned},
      {"the copying warp brings the first step's right operand every time", "mma", 0, "f16f32", kNT,
          {{"args_.b, kBKMajor ? k :", "args_.b, kBKMajor ? work.k0 :"}}, kTensorCopied},
      {"only the first warp's sums are stored", "gemv", 0, "f16f32", kNN,
          {{"part < kParts; ++part", "part < 1; ++part"}}, kAcross},
      {"the last slice is left out", "gemv", 0, "f16f32", kNN,
          {{"for (int slice = 0; slice < kSplitK; ++slice) sum",
              "for (int slice = 0; slice < kSplitK - 1; ++slice) sum"}},
          kAcrossSplit},
  };
}

}  // namespace tilesmith::planted
