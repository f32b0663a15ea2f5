// The kernel bugs that the verifier must catch in the family `wgmma`: wrong sums, none that strays out of memory or waits for
// what never comes.
#pragma once

#include <vector>

#include "tests/gpu/planted_bug.hpp"

namespace tilesmith::planted {

// One a way through the template.
#define TILESMITH_WGMMA(block_m, block_n, block_k, warpgroups, schedule, cluster_m, store_staged, swap, pack)       \
  "wgmma{block_m=" #block_m ",block_n=" #block_n ",block_k=" #block_k ",stages=3,warpgroups=" #warpgroups           \
  ",schedule=" #schedule ",cluster_m=" #cluster_m ",cluster_n=1,min_blocks=1,group_m=1,store_staged=" #store_staged \
  ",swap=" #swap ",split_k=1,reduction=0,pack=" #pack "}"

inline constexpr const char* kOneGroup = TILESMITH_WGMMA(64, 64, 64, 1, 0, 1, 0, 0, 0);
inline constexpr const char* kTwoGroups = TILESMITH_WGMMA(128, 64, 64, 2, 0, 1, 1, 0, 0);
inline constexpr const char* kShared = TILESMITH_WGMMA(128, 64, 64, 2, 0, 2, 0, 0, 0);
inline constexpr const char* kTurns = TILESMITH_WGMMA(128, 128, 64, 2, 2, 1, 1, 0, 0);
inline constexpr const char* kSwapped = TILESMITH_WGMMA(16, 128, 64, 2, 0, 1, 0, 1, 0);
inline constexpr const char* kTurnedBytes = TILESMITH_WGMMA(64, 64, 128, 1, 0, 1, 0, 0, 2);
inline constexpr const char* kTurnedHalves = TILESMITH_WGMMA(64, 64, 64, 1, 0, 1, 0, 0, 2);
inline constexpr const char* kBothPacked = TILESMITH_WGMMA(64, 64, 64, 1, 0, 1, 1, 0, 3);
inline constexpr const char* kSplit =
    "wgmma{block_m=64,block_n=64,block_k=64,stages=3,warpgroups=1,schedule=0,cluster_m=1,cluster_n=1,min_blocks=1,"
    "group_m=1,store_staged=0,swap=0,split_k=8,reduction=0,pack=0}";
inline constexpr const char* kRoundedWords = TILESMITH_WGMMA(64, 64, 32, 1, 0, 1, 0, 0, 3);
#undef TILESMITH_WGMMA

inline std::vector<Bug> wgmma_bugs() {
  return {
      {"every slab of a step is its first",
       "wgmma",
       0,
       "f16f32",
       kNT,
       {{"LeftTile::offset(64 * i, slab)", "LeftTile::offset(64 * i, 0)"}},
       kOneGroup},
      {"slabs of an MN-major panel are taken for one",
       "wgmma",
       0,
       "bf16f32",
       kTN,
       {{"row / kPanelElements * kPanelBytes + slab * kSlabK * kPanelRowBytes", "row / kPanelElements * kPanelBytes"}},
       kOneGroup},
      {"both groups multiply the first one's rows",
       "wgmma",
       0,
       "f16f32f16",
       kNN,
       {{"unsigned(group) * LeftTile::offset(kGroupRows, 0)", "0u"}},
       kTwoGroups},
      {"blocks of a cluster copy the same part of what they share",
       "wgmma",
       0,
       "f16f32",
       kNT,
       {{"row + int(first), full, blocks", "row, full, blocks"}},
       kShared},
      {"a staged store takes the second rows for the first",
       "wgmma",
       0,
       "f16f16",
       kTT,
       {{"return 64 * i + 8 * r + g;", "return 64 * i + g;"}},
       kTurns},
      {"swapped operands' rows of C fall together",
       "wgmma",
       0,
       "f16f32",
       kNN,
       {{"to.store(m0 + m + 1, n, second);", "to.store(m0 + m, n, second);"}},
       kSwapped},
      {"bytes are turned in the wrong order",
       "wgmma",
       0,
       "s8s32",
       kNN,
       {{"__byte_perm(low01, low23, 0x5410)", "__byte_perm(low01, low23, 0x1054)"}},
       kTurnedBytes},
      {"halves of words are turned in the wrong order",
       "wgmma",
       0,
       "f16f32",
       kNN,
       {{"__byte_perm(w[0], w[1], 0x5410)", "__byte_perm(w[0], w[1], 0x1054)"}},
       kTurnedHalves},
      {"a chunk that begins in a block's second half is read from its first",
       "wgmma",
       0,
       "bf16f32",
       kNT,
       {{"(chunk.skew & 8) != 0 ? w[i + 2] : w[i]", "w[i]"}},
       kBothPacked},
      {"every slice begins with the first step",
       "wgmma",
       0,
       "f16f32",
       kNT,
       {{"int(slice) * kBlockK, k_", "0, k_"}},
       kSplit},
      {"the last quarter of the slices is not added",
       "wgmma",
       0,
       "f16f32",
       kNT,
       {{"other < kGroups", "other < kGroups - 1"}},
       kSplit},
      {"packed words are not rounded",
       "wgmma",
       0,
       "tf32f32",
       kNT,
       {{"make_uint4(rounded_to_tf32(words.x), rounded_to_tf32(words.y),", "make_uint4(words.x, words.y,"}},
       kRoundedWords},
  };
}

}  // namespace tilesmith::planted
