// Bugs planted where scales of blocks of K are found and applied.
#pragma once

#include <vector>

#include "tests/gpu/planted_bug.hpp"
#include "tests/gpu/planted_simt_bugs.hpp"

namespace tilesmith::planted {

inline constexpr const char* kScaledGroups =
    "wgmma{block_m=128,block_n=128,block_k=128,stages=3,warpgroups=2,schedule=1,even=0,stagger=0,cluster_m=1,cluster_n=1,min_blocks=1,"
    "group_m=1,store_staged=1,store_tma=0,swap=0,split_k=1,reduction=0,pack=0,early_launch=0}";
inline constexpr const char* kScaledWide =
    "wgmma{block_m=128,block_n=96,block_k=128,stages=4,warpgroups=2,schedule=1,even=0,stagger=0,cluster_m=1,cluster_n=1,min_blocks=1,"
    "group_m=1,store_staged=1,store_tma=0,swap=0,split_k=1,reduction=0,pack=0,early_launch=0}";
inline constexpr const char* kScaledSlices =
    "wgmma{block_m=64,block_n=64,block_k=128,stages=3,warpgroups=1,schedule=0,even=0,stagger=0,cluster_m=1,cluster_n=1,min_blocks=1,"
    "group_m=1,store_staged=0,store_tma=0,swap=0,split_k=2,reduction=0,pack=0,early_launch=0}";
inline constexpr const char* kScaledSwapped =
    "wgmma{block_m=16,block_n=128,block_k=128,stages=3,warpgroups=2,schedule=0,even=0,stagger=0,cluster_m=1,cluster_n=1,min_blocks=1,"
    "group_m=1,store_staged=0,store_tma=0,swap=1,split_k=1,reduction=0,pack=0,early_launch=0}";

#define TILESMITH_SCALED_MMA(block, warp, split_k, overlap)                                                                    \
  "mma{inst_k=32,block_m=" #block ",block_n=" #block ",warp_m=" #warp ",warp_n=" #warp                                         \
  ",swap=0,block_k=128,stages=3,slice_k=1,frag_buffers=2,min_blocks=1,group_m=1,persistent=0,store_staged=0,split_k=" #split_k \
  ",reduction=0,copy_bytes=16,tma=0,pack=0"                                                                                    \
  ",pack_k_major=0,overlap=" #overlap ",early_launch=0}"
inline constexpr const char* kScaledMma = TILESMITH_SCALED_MMA(64, 32, 1, 0);
inline constexpr const char* kScaledMmaWarps48 = TILESMITH_SCALED_MMA(96, 48, 1, 0);
inline constexpr const char* kScaledMmaSlices = TILESMITH_SCALED_MMA(64, 32, 2, 1);
#undef TILESMITH_SCALED_MMA

/// Bugs planted in the family `mma` (kernels/mma/scaled_tile.cuh).
inline std::vector<Bug> scaled_mma_bugs() {
  constexpr const char *kUsual = "scale_m_1x128+scale_n_128x128", *kEach = "scale_m_1x128+scale_n_1x128";
  return {
      {"a row has its neighbour's scale", "mma", 0, "s8s32bf16", kNT, {{"(i, c / 2, g)]", "(i, c / 2, g ^ 1)]"}},
          kScaledMma, kUsual},
      {"rows 8 further have the scales of the first", "mma", 0, "s8s32f16", kNT, {{"(i, c / 2, g)]", "(i, 0, g)]"}},
          kScaledMma, kUsual},
      {"the products of a step go on from the step before", "mma", 0, "s8s32bf16", kNT,
          {{"    Part part[kLeftCount][2 * kRightCount];\n", ""},
              {"  ScaleRing scales_;\n", "  ScaleRing scales_;\n  Part part[kLeftCount][2 * kRightCount];\n"}},
          kScaledMma, kUsual},
      {"the last step is not added", "mma", 0, "s8s32bf16", kNT,
          {{"step = whole; step < steps;", "step = whole; step + 1 < steps;"}}, kScaledMma, kUsual},
      {"scales are read a step late", "mma", 0, "s8s32bf16", kNT,
          {{"to_(shared), from_(shared)", "to_(next(shared)), from_(shared)"}}, kScaledMma, kUsual},
      {"a slice's scales are those of all steps", "mma", 0, "s8s32bf16", kNT, {{"k_ += kNextStep;", "k_ += kBlockK;"}},
          kScaledMmaSlices, kUsual},
      {"every slice begins with the first block's scales", "mma", 0, "s8s32f16", kNT, {{"k_(work.k0)", "k_(0)"}},
          kScaledMmaSlices, kUsual},
      {"columns of a pair share a scale", "mma", 0, "s8s32bf16", kNT,
          {{"scaled_column(j, c % 2, t)", "scaled_column(j, 0, t)"}}, kScaledMma, kEach},
      {"warps of 48 columns have one scale", "mma", 0, "s8s32bf16", kNT,
          {{"kScaleBlock % kWarpN == 0 ? kWarpN : 16", "kWarpN"}}, kScaledMmaWarps48, kUsual},
      {"columns that lie in pairs have scales in their order", "mma", 0, "s8s32bf16", kNN,
          {{"+ j % 2 + 2 * e;", "+ j % 2 * 2 + e;"}}, kScaledMma, kEach},
      {"a warp's columns have the block's first scales", "mma", 0, "s8s32bf16", kNT,
          {{"kBlockM + warp_.n0", "kBlockM"}}, kScaledMma, kEach},
      {"entries of A have the first one's scales", "mma", 0, "s8s32bf16", kNT,
          {{"all.stride_a == 0 ? 0 : int(work.entry)", "0"}}, kScaledMma, kUsual, BatchMode::strided},
      {"groups have the first one's scales", "mma", 0, "s8s32bf16", kNT,
          {{"all.stride_b == 0 ? 0 : int(work.entry)", "0"}}, kScaledMma, kUsual, BatchMode::grouped},
  };
}

inline std::vector<Bug> block_scale_bugs() {
  constexpr const char *kUsual = "scale_m_1x128+scale_n_128x128", *kEach = "scale_m_1x128+scale_n_1x128",
                       *kTurned = "scale_m_128x128+scale_n_1x128", *kGated = "scale_m_1x128+scale_n_128x128+swiglu";
  const Edit next_block{"k / kScaleBlock));", "k / kScaleBlock + (k % kScaleBlock == kScaleBlock - 1)));"};
  return {
      {"the block's last column has the next block's scale", "simt", kGeneric, "e4m3f32", kNT, {next_block}, nullptr,
          kEach},
      {"scales of A are taken for those of B's kind", "simt", kGeneric, "e4m3f32bf16", kNN,
          {{"using Scales = BlockScales<kBlockScaleM>;", "using Scales = BlockScales<kBlockScaleN>;"},
              {"ScaledOperand<OperandA, kBlockScaleM>{", "ScaledOperand<OperandA, kBlockScaleN>{"}},
          nullptr, kUsual},
      {"rows of blocks begin at whole blocks of K alone", "simt", kGeneric, "e5m2f32f16", kTN,
          {{"blocks(scale_blocks(k))", "blocks(k / kScaleBlock > 0 ? k / kScaleBlock : 1)"}}, nullptr, kTurned},
      {"all entries have the first one's scales", "simt", kGeneric, "e4m3f32bf16", kNT,
          {{"const int matrix = all.stride_b == 0 ? 0 : entry;", "const int matrix = 0;"}}, nullptr, kUsual,
          BatchMode::strided},
      {"all groups have the first one's scales", "simt", kGeneric, "e4m3f32bf16", kNT,
          {{"const int matrix = all.stride_b == 0 ? 0 : entry;", "const int matrix = 0;"}}, nullptr, kUsual,
          BatchMode::grouped},
      {"a row has its neighbour's scale", "wgmma", 0, "e4m3f32bf16", kNT,
          {{"int(threadIdx.x % 32 / 4);\n#pragma unroll\n    for (int i = 0; i < kLeftTiles; ++i) {\n#pragma unroll\n      for (int r = 0; r < kOfTile",
              "int(threadIdx.x % 32 / 4 ^ 1);\n#pragma unroll\n    for (int i = 0; i < kLeftTiles; ++i) {\n#pragma unroll\n      for (int r = 0; r < kOfTile"}},
          kScaledGroups, kUsual},
      {"rows 8 further have the scales of the first", "wgmma", 0, "e4m3f32bf16", kNT,
          {{"values_[i][kOfTile == 2 ? r : 0]", "values_[i][0]"}}, kScaledGroups, kUsual},
      {"sums are added a step late", "wgmma", 0, "e4m3f32", kNT,
          {{"add<U % 2>(coming[U], item);", "add<U % 2>(coming[(U + 1) % kAhead], item);"}}, kScaledGroups, kUsual},
      {"the last step is not added", "wgmma", 0, "e4m3f32bf16", kNT,
          {{"add<U % 2>(coming[U], item);", "if constexpr (!Last) add<U % 2>(coming[U], item);"}}, kScaledGroups,
          kUsual},
      {"the products of a step go on from the step before", "wgmma", 0, "e4m3f32", kNT, {{"slab > 0);", "slab >= 0);"}},
          kScaledGroups, kUsual},
      {"scales go forwards where steps go backwards", "wgmma", 0, "e5m2f32bf16", kNT,
          {{"if (!backwards) return;", "return;"}}, kScaledGroups, kUsual},
      {"a slice's scales are those of all steps", "wgmma", 0, "e4m3f32bf16", kNT, {{"step(kSplitK) {", "step(1) {"}},
          kScaledSlices, kUsual},
      {"every slice begins with the first block's scales", "wgmma", 0, "e4m3f32f16", kNT,
          {{"block(work.k0 / kScaleBlock)", "block(0)"}}, kScaledSlices, kUsual},
      {"columns of a pair share a scale", "wgmma", 0, "e4m3f32bf16", kNT, {{"2 * run + e :", "2 * run :"}},
          kScaledSlices, kEach},
      {"the second tile of columns has the first one's scales", "wgmma", 0, "e4m3f32bf16", kNT,
          {{"item(kSwap ? work.m0 : work.n0, all.n);", "item(0, all.n);"}}, kScaledGroups, kUsual},
      {"columns have one scale up to 128 of a tile", "wgmma", 0, "e4m3f32bf16", kNT,
          {{"run * 8 / kColumns", "run * 8 / kScaleBlock"}}, kScaledWide, kUsual},
      {"where operands are swapped columns have the tile's first scales", "wgmma", 0, "e4m3f32bf16", kNT,
          {{"column = item.first + (kEach", "column = (kEach"}}, kScaledSwapped, kUsual},
      {"a second group of columns has the first one's scales", "wgmma", 0, "e4m3f32bf16", kNT,
          {{"left0 = kSwap ? work.n0 + place.n0 :", "left0 = kSwap ? work.n0 :"}}, kScaledSwapped, kEach},
      {"entries of A have the first one's scales", "wgmma", 0, "e4m3f32bf16", kNT,
          {{"const int of_a = all.stride_a == 0 ? 0 : int(work.entry);", "const int of_a = 0;"}}, kScaledGroups, kUsual,
          BatchMode::strided},
      {"groups have the first one's scales", "wgmma", 0, "e4m3f32bf16", kNT,
          {{"const int of_b = all.stride_b == 0 ? 0 : int(work.entry);", "const int of_b = 0;"}}, kScaledGroups, kUsual,
          BatchMode::grouped},
      {"gated columns y have the scales of x", "wgmma", 0, "e4m3f32bf16", kNT,
          {{"item.y[c] + kStep * min(own", "item.x[c] + kStep * min(own"}}, kScaledGroups, kGated},
      {"gated columns y have one scale up to 64", "wgmma", 0, "e4m3f32bf16", kNT,
          {{"values_[c][1] : values_[c][2]", "values_[c][1] : values_[c][1]"}}, kScaledGroups, kGated},
      {"blocks of gated columns y begin a pair late", "wgmma", 0, "e4m3f32bf16", kNT,
          {{"pairs_in_block(y[c]) - int", "pairs_in_block(y[c]) + 1 - int"}}, kScaledGroups, kGated},
      {"where operands are swapped gated columns have scales in their order", "wgmma", 0, "e4m3f32bf16", kNT,
          {{"at = IsB ? column_of_product(of_tile, scales.extent) : of_tile;", "at = of_tile;"}}, kScaledSwapped,
          kGated},
      {"scales of gated columns are read in their order", "wgmma", 0, "e4m3f32bf16", kNT,
          {{"at = IsB ? column_of_product(column, scales.extent) : column;", "at = column;"}}, kScaledSlices,
          "scale_m_1x128+scale_n_1x128+swiglu"},
  };
}

}  // namespace tilesmith::planted
