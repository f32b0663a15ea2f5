// Bugs planted in f32x3 of the families `wgmma` and `mma`.
#pragma once

#include <vector>

#include "tests/gpu/planted_bug.hpp"
#include "tests/gpu/planted_simt_bugs.hpp"

namespace tilesmith::planted {

inline constexpr const char* kSplitWgmma =
    "wgmma{block_m=128,block_n=128,block_k=32,stages=3,warpgroups=2,schedule=0,even=0,stagger=0,cluster_m=1,cluster_n=1,min_blocks=1,"
    "group_m=1,store_staged=0,store_tma=0,swap=0,split_k=1,reduction=0,pack=2,early_launch=0,promote=2}";
inline constexpr const char* kSplitMma =
    "mma{inst_k=8,block_m=64,block_n=64,warp_m=32,warp_n=32,swap=0,block_k=16,stages=3,slice_k=1,frag_buffers=2,min_blocks=1,group_m=1,"
    "persistent=0,store_staged=0,split_k=1,reduction=0,copy_bytes=16,tma=0,pack=0,pack_k_major=0,overlap=0,early_launch=0}";

inline std::vector<Bug> split_bugs() {
  return {
      {"small·big is lost", "wgmma", 0, "f32x3f32", kNT, {{"small[w] = parts.small;", "small[w] = 0;"}}, kSplitWgmma},
      {"big·small is lost", "wgmma", 0, "f32x3f32", kNN,
          {{"left_.big(i, slab), small, 1)", "left_.small(i, slab), small, 1)"}}, kSplitWgmma},
      {"small has the other sign", "wgmma", 0, "f32x3f32", kTN,
          {{"x - __uint_as_float(big)", "__uint_as_float(big) - x"}}, kSplitWgmma},
      {"small is the neighbour's", "wgmma", 0, "f32x3f32", kNT,
          {{"slab % kSlabsOfPanel * kSlabBytes", "(copy != 0 ? slab ^ 1 : slab) % kSlabsOfPanel * kSlabBytes"}},
          kSplitWgmma},
      {"the last part is not promoted", "wgmma", 0, "f32x3f32", kTT,
          {{"        promote();", "        if (!last) promote();"}}, kSplitWgmma},
      {"only the last part is promoted", "wgmma", 0, "f32x3f32", kNT,
          {{"sums_[i][s] += part_[i][s]", "sums_[i][s] = part_[i][s]"}}, kSplitWgmma},
      {"parts do not begin from zero", "wgmma", 0, "f32x3f32", kNN, {{"slab > 0 || !begins", "slab > 0 || step > 0"}},
          kSplitWgmma},
      {"small·big is lost", "mma", 0, "f32x3f32", kNT,
          {{"multiply(products[j], left.small,", "if (j < 0) multiply(products[j], left.small,"}}, kSplitMma},
      {"big·small is lost", "mma", 0, "f32x3f32", kNN,
          {{"right[(first + j) / 2].small, j % 2)", "right[(first + j) / 2].big, 1 - j % 2)"}}, kSplitMma},
      {"sums get the products of their neighbours", "mma", 0, "f32x3f32", kTN,
          {{".c[e] += products[j].c[e]", ".c[e] += products[j / 2 * 2].c[e]"}}, kSplitMma},
  };
}

}  // namespace tilesmith::planted
