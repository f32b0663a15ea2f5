// Bugs planted in kernels that multiply weights of 4 bits with an A of 8 bits.
#pragma once

#include "tests/gpu/planted_weights_bugs.hpp"

namespace tilesmith::planted {

constexpr const char* kCodesOfSums =
    "dequant{block_m=16,block_n=64,warps_n=2,warps_k=2,warp_columns=64,stages=4,scale_sums=1,split_k=1,cluster=0,min_blocks=1,overlap=0,early_launch=0,ahead=0}";
constexpr const char* kCodesOnLeft =
    "wgmma{block_m=64,block_n=128,block_k=128,stages=4,warpgroups=2,schedule=0,even=0,stagger=0,cluster_m=1,cluster_n=1,min_blocks=1,group_m=1,store_staged=0,"
    "store_tma=0,swap=1,split_k=1,reduction=0,pack=0,early_launch=0}";
constexpr const char* kCodesInSlices =
    "wgmma{block_m=16,block_n=64,block_k=128,stages=4,warpgroups=1,schedule=0,even=0,stagger=0,cluster_m=1,cluster_n=1,min_blocks=1,group_m=1,store_staged=0,"
    "store_tma=0,swap=1,split_k=2,reduction=0,pack=0,early_launch=0}";

constexpr const char* kCodesInCluster =
    "wgmma{block_m=64,block_n=128,block_k=128,stages=4,warpgroups=2,schedule=1,even=0,stagger=0,cluster_m=1,cluster_n=2,min_blocks=1,group_m=1,store_staged=0,"
    "store_tma=0,swap=1,split_k=1,reduction=0,pack=0,early_launch=0}";

inline std::vector<Bug> coded_bugs() {
  return {
      weights_bug("codes are those of the strip behind", "e4m3f32bf16", "s4_g128",
          {{"\"r\"(row / kCodeBlockRows)", "\"r\"(row / kCodeBlockRows + 1)"}}, "wgmma", kCodesOnLeft),
      weights_bug("codes are those of the block behind", "s8s32bf16", "s4_g64",
          {{"\"r\"(k / kCodeColumns)", "\"r\"(k / kCodeColumns + 1)"}}, "wgmma", kCodesInSlices),
      weights_bug("blocks of a cluster copy the same rows of A", "e4m3f32bf16", "u4_g128+zeros",
          {{"row + int(first), matrix, full,", "row, matrix, full,"}}, "wgmma", kCodesInCluster),
      weights_bug("rows of a block's halves are exchanged", "e4m3f32bf16", "s4_g128",
          {{"of_half % 4 + row / 8 * 4", "of_half % 4 + (1 - row / 8) * 4"}}),
      weights_bug("columns are those of the neighbouring lane", "s8s32bf16", "u4_g64+zeros",
          {{"row % 8 * 4 + of_half / 4,", "row % 8 * 4 + (of_half / 4 ^ 1),"}}),
      weights_bug("the two steps of a block are exchanged", "e4m3f32f16", "s4_g64",
          {{"product == 0 ? codes.x : codes.z", "product == 1 ? codes.x : codes.z"},
              {"product == 0 ? codes.y : codes.w", "product == 1 ? codes.y : codes.w"}},
          "dequant", kCodesOfSums),
      weights_bug("the lower rows of a strip have the zeros of the upper ones", "s8s32f16", "u4_g32+zeros",
          {{"table_of_zero(load_scale(zeros + (row + 8) *", "table_of_zero(load_scale(zeros + row *"}}, "dequant",
          kCodesOfSums),
      weights_bug("groups of 32 all have the first one's columns of A", "s8s32bf16", "s4_g32",
          {{"column * kElementBytes / 16 +", "column / 64 * 64 * kElementBytes / 16 +"}}, "dequant", kCodesOfSums),
      weights_bug("odd nibbles have the highest bit of even ones", "e4m3f32bf16", "s4_g128",
          {{"bytes_of<0xd9c8>", "bytes_of<0x9988>"}}, "dequant", kCodesOfSums),
      weights_bug("two of the upper nibbles have each other's highest bit", "s8s32bf16", "s4_g128",
          {{"bytes_of<0xfbea>", "bytes_of<0xfbae>"}}, "dequant", kCodesOfSums),
      weights_bug("integers below zero lose their sign", "e4m3f32", "s4_column+f32",
          {{"0x80u | unsigned(-value)", "unsigned(-value)"}}, "wgmma", kCodesOnLeft),
      weights_bug(
          "0.5 is lost", "e4m3f32bf16", "e2m1_g32", {{"ends == 1 ? 0x30u", "ends == 1 ? 0u"}}, "wgmma", kCodesOnLeft),
      weights_bug(
          "the largest of e2m1 is 4", "s8s32f16", "e2m1_g64", {{"ends == 6 ? 8 : 12", "8"}}, "dequant", kCodesOfSums),
      weights_bug("zeros of signed weights are taken off codes", "e4m3f32bf16", "s4_g128+zeros",
          {{"__float2int_rn(zero) + kWeightOffset", "__float2int_rn(zero)"}}, "wgmma", kCodesOnLeft),
      weights_bug("scales are those of the row behind", "e4m3f32bf16", "s4_g128",
          {{"min(row + 64 * i + 8 * r, args.n - 1)", "min(row + 1 + 64 * i + 8 * r, args.n - 1)"}}, "wgmma",
          kCodesOnLeft),
      weights_bug("all groups of a step have the first one's scales", "e4m3f32bf16", "u4_g32+zeros",
          {{"min(k / kLength + group, last)", "min(k / kLength, last)"}}, "wgmma", kCodesOnLeft),
      weights_bug("scales are those of the step behind", "e4m3f32f16", "s4_g128",
          {{"add(coming[U].scales[of_step]);", "add(coming[(U + 1) % kAhead].scales[of_step]);"}}, "wgmma",
          kCodesOnLeft),
      weights_bug("every slice begins with the first group's scales", "e4m3f32bf16", "s4_g64",
          {{"int k = work.k0;", "int k = 0;"}}, "wgmma", kCodesInSlices),
      weights_bug("a slice's scales are those of all steps", "s8s32bf16", "s4_g128",
          {{"      k += kNextStep;\n", "      k += kBlockK;\n"}}, "wgmma", kCodesInSlices),
      weights_bug("a group goes on from the products of the one before", "s8s32bf16", "s4_g32",
          {{"of_group > 0);", "slab > 0);"}}, "wgmma", kCodesOnLeft),
      weights_bug("two warps have each other's strips", "e4m3f32bf16", "u4_column",
          {{"4 * i) + warp;\n#pragma unroll\n      for (int block",
              "4 * i) + (warp ^ 1);\n#pragma unroll\n      for (int block"}},
          "wgmma", kCodesOnLeft),
      weights_bug("every other step has the bytes of the one before", "e4m3f32bf16", "s4_g128",
          {{"if (ends && !Last) make_bytes(", "if (ends && !Last && U > 0) make_bytes("}}, "wgmma", kCodesOnLeft),
      weights_bug("zeros are those of the step before", "e4m3f32bf16", "u4_g128+zeros",
          {{"make_bytes(coming[(U + 1) % kAhead]);", "make_bytes(coming[U]);"}}, "wgmma", kCodesOnLeft),
      weights_bug("bytes are half as large as they are", "e4m3f32bf16", "u4_g128", {{"512.0F", "256.0F"}}, "wgmma",
          kCodesOnLeft),
  };
}

}  // namespace tilesmith::planted
