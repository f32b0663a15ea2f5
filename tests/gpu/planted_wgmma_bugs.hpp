// The kernel bugs that the verifier must catch in the family `wgmma`: wrong sums, none that strays out of memory or
// waits for what never comes.
#pragma once

#include <vector>

#include "tests/gpu/planted_bug.hpp"

namespace tilesmith::planted {

// One a way through the template.
#define TILESMITH_WGMMA_BY(                                                                                 \
    store_tma, block_m, block_n, block_k, warpgroups, schedule, cluster_m, store_staged, swap, pack)        \
  "wgmma{block_m=" #block_m ",block_n=" #block_n ",block_k=" #block_k ",stages=3,warpgroups=" #warpgroups   \
  ",schedule=" #schedule ",even=0,stagger=0,cluster_m=" #cluster_m                                          \
  ",cluster_n=1,min_blocks=1,group_m=1,store_staged=" #store_staged ",store_tma=" #store_tma ",swap=" #swap \
  ",split_k=1,reduction=0,pack=" #pack ",early_launch=0}"
#define TILESMITH_WGMMA(...) TILESMITH_WGMMA_BY(0, __VA_ARGS__)

inline constexpr const char* kOneGroup = TILESMITH_WGMMA(64, 64, 64, 1, 0, 1, 0, 0, 0);
inline constexpr const char* kOddColumns = TILESMITH_WGMMA(64, 144, 64, 1, 0, 1, 0, 0, 0);
inline constexpr const char* kTwoInstructions = TILESMITH_WGMMA(128, 320, 64, 2, 0, 2, 0, 0, 0);
inline constexpr const char* kTwoGroups = TILESMITH_WGMMA(128, 64, 64, 2, 0, 1, 1, 0, 0);
inline constexpr const char* kShared = TILESMITH_WGMMA(128, 64, 64, 2, 0, 2, 0, 0, 0);
inline constexpr const char* kTurns = TILESMITH_WGMMA(128, 128, 64, 2, 2, 1, 1, 0, 0);
inline constexpr const char* kSwapped = TILESMITH_WGMMA(16, 128, 64, 2, 0, 1, 0, 1, 0);
inline constexpr const char* kTurnedBytes = TILESMITH_WGMMA(64, 64, 128, 1, 0, 1, 0, 0, 2);
inline constexpr const char* kTurnedHalves = TILESMITH_WGMMA(64, 64, 64, 1, 0, 1, 0, 0, 2);
inline constexpr const char* kBothPacked = TILESMITH_WGMMA(64, 64, 64, 1, 0, 1, 1, 0, 3);
inline constexpr const char* kSplit =
    "wgmma{block_m=64,block_n=64,block_k=64,stages=3,warpgroups=1,schedule=0,even=0,stagger=0,cluster_m=1,cluster_n=1,min_blocks=1,"
    "group_m=1,store_staged=0,store_tma=0,swap=0,split_k=8,reduction=0,pack=0,early_launch=0}";
inline constexpr const char* kSwappedSlices =
    "wgmma{block_m=16,block_n=64,block_k=64,stages=3,warpgroups=1,schedule=0,even=0,stagger=0,cluster_m=1,cluster_n=1,min_blocks=1,"
    "group_m=1,store_staged=0,store_tma=0,swap=1,split_k=2,reduction=2,pack=0,early_launch=0}";
inline constexpr const char* kEven =
    "wgmma{block_m=64,block_n=128,block_k=64,stages=3,warpgroups=1,schedule=1,even=1,stagger=0,cluster_m=1,cluster_n=1,min_blocks=1,"
    "group_m=1,store_staged=0,store_tma=0,swap=0,split_k=1,reduction=0,pack=0,early_launch=0}";
inline constexpr const char* kBoxes = TILESMITH_WGMMA_BY(1, 64, 128, 64, 1, 1, 1, 1, 0, 0);
inline constexpr const char* kTallBoxes = TILESMITH_WGMMA_BY(1, 128, 64, 64, 1, 1, 1, 1, 0, 0);
inline constexpr const char* kBoxesInTurns = TILESMITH_WGMMA_BY(1, 128, 128, 64, 2, 2, 1, 1, 0, 0);
inline constexpr const char* kSwappedBoxes = TILESMITH_WGMMA_BY(1, 80, 64, 64, 1, 0, 1, 1, 1, 0);
inline constexpr const char* kLeftWords = TILESMITH_WGMMA(64, 64, 32, 1, 0, 1, 0, 0, 0);
inline constexpr const char* kLeftBytes = TILESMITH_WGMMA(128, 64, 128, 2, 0, 1, 1, 0, 0);
inline constexpr const char* kSwappedLeftBytes = TILESMITH_WGMMA(64, 128, 128, 1, 0, 1, 0, 1, 0);
#undef TILESMITH_WGMMA
#undef TILESMITH_WGMMA_BY

inline std::vector<Bug> wgmma_bugs() {
  return {
      {"every slab of a step is its first", "wgmma", 0, "f16f32", kNT,
          {{"Tile::offset(64 * i, slab)", "Tile::offset(64 * i, 0)"}}, kOneGroup},
      {"slabs of an MN-major panel are taken for one", "wgmma", 0, "bf16f32", kTN,
          {{"row / kPanelElements * kPanelBytes + slab * kSlabK * kPanelRowBytes",
              "row / kPanelElements * kPanelBytes"}},
          kOneGroup},
      {"lanes of a quad keep what they should give", "wgmma", 0, "f16f32", kNN,
          {{"const unsigned kept = upper ? second[w] : first[w];",
              "const unsigned kept = upper ? first[w] : second[w];"}},
          kOneGroup},
      {"quads trade their halves the wrong way round", "wgmma", 0, "bf16f32bf16", kNN,
          {{"trade<2>(lower, upper, all, lane)", "trade<2>(upper, lower, all, lane)"}}, kOneGroup},
      {"columns that fill no trade are left out", "wgmma", 0, "f16f32f16", kNN,
          {{"if constexpr (kEnd < Sums::kColumns) {\n        each_run", "if constexpr (false) {\n        each_run"}},
          kOddColumns},
      {"all sums of a batch take in what C holds for the first", "wgmma", 0, "f16f32", kNN,
          {{"to.take(held[b][e],", "to.take(held[0][e],"}}, kOneGroup},
      {"α is applied again where C was taken in", "wgmma", 0, "f16f32", kNN,
          {{"if (!overwrites()) to.alpha_ = ScaleType(1);", ""}}, kOneGroup},
      {"a second instruction reads the first one's columns", "wgmma", 0, "f16f32", kNN,
          {{"RightTile::offset(kFirstColumns, slab)", "RightTile::offset(0, slab)"}}, kTwoInstructions},
      {"every slab of a second instruction is its first", "wgmma", 0, "bf16f32", kNT,
          {{"RightTile::offset(kFirstColumns, slab)", "RightTile::offset(kFirstColumns, 0)"}}, kTwoInstructions},
      {"both groups multiply the first one's rows", "wgmma", 0, "f16f32f16", kNN,
          {{"unsigned(group) * Tile::offset(kGroupRows, 0)", "0u"}}, kTwoGroups},
      {"blocks of a cluster copy the same part of what they share", "wgmma", 0, "f16f32", kNT,
          {{"row + int(first), matrix", "row, matrix"}}, kShared},
      {"a staged store takes the second rows for the first", "wgmma", 0, "f16f16", kTT,
          {{"return 64 * i + 8 * r + g;", "return 64 * i + g;"}}, kTurns},
      {"swapped operands' rows of C fall together", "wgmma", 0, "f16f32", kNN,
          {{"place.leave(row);", "if (row % 2 != 0) place.leave(row);"}}, kSwapped},
      {"swapped operands' sums take in what C holds of the first row of a batch", "wgmma", 0, "f16f32", kNT,
          {{"to.take(held[b][i],", "to.take(held[0][i],"}}, kSwapped},
      {"a thread's neighbours of a row of C change places", "wgmma", 0, "s8s32", kNN,
          {{"run[e] = sum(sums, row, i + e);", "run[e] = sum(sums, row, i + kVector - 1 - e);"}}, kSwappedLeftBytes},
      {"bytes are turned in the wrong order", "wgmma", 0, "s8s32", kNN,
          {{"__byte_perm(low01, low23, 0x5410)", "__byte_perm(low01, low23, 0x1054)"}}, kTurnedBytes},
      {"halves of words are turned in the wrong order", "wgmma", 0, "f16f32", kNN,
          {{"__byte_perm(w[0], w[1], 0x5410)", "__byte_perm(w[0], w[1], 0x1054)"}}, kTurnedHalves},
      {"a chunk that begins in a block's second half is read from its first", "wgmma", 0, "bf16f32", kNT,
          {{"(chunk.skew & 8) != 0 ? w[i + 2] : w[i]", "w[i]"}}, kBothPacked},
      {"every slice begins with the first step", "wgmma", 0, "f16f32", kNT, {{"int(slice) * kBlockK, k_", "0, k_"}},
          kSplit},
      {"the last quarter of the slices is not added", "wgmma", 0, "f16f32", kNT,
          {{"other < kGroups", "other < kGroups - 1"}}, kSplit},
      {"columns of a box change places in neighbouring rows, but not their sums", "wgmma", 0, "f16f32", kNT,
          {{"other != 0 ? sums.sum(i, r, others, e) : sums.sum(i, r, mine, e)", "sums.sum(i, r, mine, e)"}}, kBoxes},
      {"a box of half words is not swizzled", "wgmma", 0, "bf16f32bf16", kTN,
          {{"unsigned(j + lane_ / 8) ^ unsigned(lane_ % 8)", "unsigned(j + lane_ / 8)"}}, kBoxes},
      {"all boxes are stored where the first one is", "wgmma", 0, "f16f16", kNN, {{"n = n0 + col;", "n = n0;"}},
          kBoxesInTurns},
      {"columns of matrices change places in a swapped box", "wgmma", 0, "bf16f32bf16", kNN,
          {{"first_chunk + matrix % 2", "first_chunk + matrix / 2"}}, kSwappedBoxes},
      {"neighbours in a column of swapped sums are added to one row", "wgmma", 0, "f16f32", kNT,
          {{"part_of(place.m0 + column + e)[row]", "part_of(place.m0 + column)[row]"}}, kSwappedSlices},
      {"the second words of a slab are its first", "wgmma", 0, "tf32f32", kTT,
          {{"load_pair(words[2], words[3], second + at)", "load_pair(words[2], words[3], first + at)"}}, kLeftWords},
      {"half of the bytes of a word change places", "wgmma", 0, "s8s32", kNN,
          {{"exchanged ? 0x2064 : 0x6420", "0x6420"}}, kSwappedLeftBytes},
      {"the second half of a panel of bytes is read from its first", "wgmma", 0, "e4m3f32", kTT,
          {{"first ^ half % 2 * 64", "first"}}, kLeftBytes},
      {"wide tiles of a row do not move the ones behind them", "wgmma", 0, "f16f32", kNT,
          {{"(column * each + (column < wide ? column : wide)) * kEvenStep", "column * each * kEvenStep"}}, kEven},
      {"a narrow tile's last columns are stored over its neighbour's", "wgmma", 0, "f16f32", kNN,
          {{"(kSwap ? its.m : its.n) = work.end;", ""}}, kEven},
      {"α is forgotten where a box is added to C", "wgmma", 0, "f16f32", kTT,
          {{"linear<ScaleType>(alpha_, value_of(sums[e]), beta_,",
              "linear<ScaleType>(ScaleType(1), value_of(sums[e]), beta_,"}},
          kBoxesInTurns},
  };
}

}  // namespace tilesmith::planted
