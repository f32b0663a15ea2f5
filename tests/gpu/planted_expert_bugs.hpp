// Bugs planted in kernels that multiply by the weights of experts, plain and gated. None strays out of the memory
// around its operands.
#pragma once

#include <vector>

#include "tests/gpu/planted_weights_bugs.hpp"

namespace tilesmith::planted {

inline Bug expert_bug(const char* name, const char* family, const char* type, const char* weights,
    std::vector<Edit> edits, const char* config = nullptr, const char* epilogue = "linear") {
  return {name, family, config == nullptr ? kGeneric : 0, type, kNT, std::move(edits), config, epilogue,
      BatchMode::grouped, Scalars::host, weights};
}

constexpr const char* kSlicesInCluster =
    "dequant{block_m=8,block_n=64,warps_n=1,warps_k=4,warp_columns=64,stages=3,scale_sums=1,split_k=2,cluster=1,min_blocks=1,overlap=0,early_launch=1,ahead=0}";

inline std::vector<Bug> expert_bugs() {
  constexpr const char* kCodes = "group.number * (all.stride_b / (8 / kWeightBits))";
  return {
      expert_bug("codes are those of the expert before", "dequant", "f16f32f16", "s4_g128",
          {{kCodes, "(group.number > 0 ? group.number - 1 : 0) * (all.stride_b / (8 / kWeightBits))"}}, kScalesSums),
      expert_bug("codes of all experts are those of the first", "simt", "bf16f32bf16", "s8_column",
          {{kCodes, "0 * (all.stride_b / (8 / kWeightBits))"}}),
      expert_bug("experts lie half as far apart as they do", "dequant", "bf16f32bf16", "u4_g64+zeros",
          {{kCodes, "group.number * (all.stride_b / 2 / (8 / kWeightBits))"}}, kScalesWeights),
      expert_bug("scales are those of the expert before", "dequant", "f16f32f16", "s4_g64",
          {{"(all.scales) + terms", "(all.scales) + (group.number > 0 ? terms - terms / group.number : 0)"}},
          kSlicesInCluster),
      expert_bug("zeros are those of the first expert", "dequant", "bf16f32bf16", "u4_g128+zeros",
          {{"(all.zeros) + terms", "(all.zeros) + 0 * terms"}}, kScalesSums),
      expert_bug("factors are those of the first expert", "dequant", "f16f32f16", "q4_k",
          {{"int(entry) * (static_cast<long long>(all.k / kSuperColumns)",
              "0 * (static_cast<long long>(all.k / kSuperColumns)"}},
          kSlicesInCluster),
      expert_bug("factors are those of the first expert", "simt", "bf16f32bf16", "q6_k",
          {{"int(entry) * (static_cast<long long>(all.k / kSuperColumns)",
              "0 * (static_cast<long long>(all.k / kSuperColumns)"}}),
      expert_bug("zeros are those of the first expert", "simt", "f16f32f16", "s8_g32+zeros",
          {{"(all.zeros) + terms", "(all.zeros) + 0 * terms"}}),
      expert_bug("a group begins with the last row of the one before", "dequant", "f16f32f16", "s4_g128",
          {{"return first_row +", "return max(0, first_row - 1) +"}}, kScalesSums),
      expert_bug("the end of a group is not masked", "dequant", "bf16f32bf16", "s4_g32", {{"its.m = group.end;", ""}},
          kSlicesInCluster),
      expert_bug("an expert without rows takes no weights", "dequant", "f16f32f16", "s8_g128",
          {{"const unsigned first = of_lane == 0 ? tiles_before_ : before;",
               "const unsigned first = of_lane == 0 ? tiles_before_ : before, left = __shfl_up_sync(0xffffffff, tiles_end_, 1);\n"
               "const int there = __popc(__ballot_sync(0xffffffff, tiles_end_ <= tile && tiles_end_ > (lane() == 0 ? tiles_before_ : left)));"},
              {"min(first_ + of_lane, groups_ - 1)", "min(first_ + there, groups_ - 1)"}},
          kScalesWeights),
      expert_bug("tiles of a group are those of its first rows", "dequant", "bf16f32bf16", "s4_g128",
          {{"int(of_group % tiles_m) * kBlockM", "int(of_group % tiles_m) * 0"}}, kSlicesInCluster),
      expert_bug("y of a gate has the scales of x", "dequant", "bf16f32bf16", "s4_g128",
          {{"const int n = of_half + (is_y ? args_.n / 2 : 0);", "const int n = of_half;"}}, kScalesSums, "swiglu"),
      expert_bug("y of a gate has the codes of x", "dequant", "f16f32f16", "u4_g64+zeros",
          {{"weights_ + (is_y ? gap : 0)",
              "weights_ + (is_y ? 0ull - kStripsOfHalf * static_cast<unsigned long long>(strip_bytes) : 0)"}},
          kScalesWeights, "swiglu"),
      expert_bug("x and y of a gate are exchanged", "dequant", "f16f32f16", "s4_g128",
          {{"put(m, pair, x, y);", "put(m, pair, y, x);"}}, kSlicesInCluster, "swiglu_interleaved"),
      expert_bug("of a gate a slice of K is left out of y", "dequant", "bf16f32bf16", "s8_g64",
          {{"y += *of_block(shared + at_y, block);", "if (block > 0) y += *of_block(shared + at_y, block);"}},
          kSlicesInCluster, "bias_n+swiglu"),
  };
}

}  // namespace tilesmith::planted
