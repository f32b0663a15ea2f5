// Bugs planted in kernels that multiply with weights.
#pragma once

#include <utility>
#include <vector>

#include "tests/gpu/planted_bug.hpp"
#include "tests/gpu/planted_simt_bugs.hpp"

namespace tilesmith::planted {

inline Bug weights_bug(const char* name, const char* type, const char* weights, std::vector<Edit> edits,
    const char* family = "simt", const char* config = nullptr, const char* epilogue = "linear") {
  return {name, family, config == nullptr ? kGeneric : 0, type, kNT, std::move(edits), config, epilogue,
      BatchMode::single, Scalars::host, weights};
}

constexpr const char* kScalesSums =
    "dequant{block_m=16,block_n=64,warps_n=2,warps_k=4,warp_columns=64,stages=4,scale_sums=1,split_k=1,cluster=0,min_blocks=1,overlap=0,early_launch=0,ahead=0}";
constexpr const char* kScalesWeights =
    "dequant{block_m=32,block_n=64,warps_n=2,warps_k=2,warp_columns=64,stages=3,scale_sums=0,split_k=1,cluster=0,min_blocks=1,overlap=0,early_launch=0,ahead=0}";
constexpr const char* kWeightsOnLeft =
    "wgmma{block_m=128,block_n=128,block_k=64,stages=4,warpgroups=2,schedule=0,even=0,stagger=0,cluster_m=1,cluster_n=1,min_blocks=1,group_m=1,store_staged=0,"
    "store_tma=0,swap=1,split_k=1,reduction=0,pack=0,early_launch=0}";

/// Of Q4_K, in either kernel.
inline std::vector<Bug> q4k_bugs() {
  constexpr const char* kSlices =
      "dequant{block_m=8,block_n=64,warps_n=2,warps_k=4,warp_columns=128,stages=3,scale_sums=1,split_k=2,cluster=1,min_blocks=1,overlap=0,early_launch=0,ahead=0}";
  return {
      weights_bug(
          "minima are added", "f16f32f16", "q4_k", {{"* value - factors.minimum", "* value + factors.minimum"}}),
      weights_bug("d and dmin are exchanged", "bf16f32bf16", "q4_k",
          {{"f32_of_f16_bits(super.d) *", "f32_of_f16_bits(super.dmin) *"},
              {"f32_of_f16_bits(super.dmin) * float(scales >> 8)", "f32_of_f16_bits(super.d) * float(scales >> 8)"}}),
      weights_bug("scales have four bits", "f16f32f16", "q4_k", {{"float(scales & 0xff)", "float(scales & 0xf)"}}),
      weights_bug("factors are those of the first 256 columns", "bf16f32bf16", "q4_k",
          {{"(k / kSuperColumns) * args.n + n", "(0 * k) * args.n + n"}}),
      weights_bug("minima are added", "f16f32f16", "q4_k",
          {{"sums[tile][e] -= of_row.minimum", "sums[tile][e] += of_row.minimum"}}, "dequant", kScalesSums),
      weights_bug("minima are left out of lower rows", "bf16f32bf16", "q4_k",
          {{"-= of_row.minimum *", "-= (e < 2 ? low.minimum : 0.0F) *"}}, "dequant", kScalesSums),
      weights_bug("sums of A lack the second product", "f16f32f16", "q4_k",
          {{"for (int i = 0; i < Registers; i += 2) multiply(of_a", "for (int i = 0; i < 2; i += 2) multiply(of_a"}},
          "dequant", kScalesSums),
      weights_bug("sums of A go on from group to group of a step", "bf16f32bf16", "q4_k",
          {{"    Either<kIsQ4k, ProductsLessMinima<WarpFactors>, ScaledProducts> finish;\n", ""},
              {"  LaneOfBlock blocks[kStrips];\n",
                  "  LaneOfBlock blocks[kStrips];\n  Either<kIsQ4k, ProductsLessMinima<WarpFactors>, ScaledProducts> finish;\n"}},
          "dequant", kScalesSums),
      weights_bug(
          "ones are halves", "f16f32f16", "q4_k", {{": 0x3c003c00u;", ": 0x38003800u;"}}, "dequant", kScalesSums),
      weights_bug("ones of bf16 are those of f16", "bf16f32bf16", "q4_k",
          {{"kOperandIsBf16 ? 0x3f803f80u", "kOperandIsBf16 ? 0x3c003c00u"}}, "dequant", kScalesSums),
      weights_bug("all of a step have the factors of its first 256 columns", "f16f32f16", "q4_k",
          {{"kSupersOfStep == 1 ? 0 : column / kSuperColumns", "0"}}, "dequant", kSlices),
      weights_bug("factors are those of the step behind", "bf16f32bf16", "q4_k",
          {{"const int first = Group == 0 ? 0 : step_ * kStepK / kGroup,",
              "const int first = Group == 0 ? 0 : (step_ + int(Group == kSuperColumns)) * kStepK / kGroup,"}},
          "dequant", kScalesSums),
      weights_bug("the upper rows of a strip have the factors of the lower ones", "f16f32f16", "q4_k",
          {{"low = factors.of[group][of_warp],", "low = factors.of[group][of_warp + 8],"}}, "dequant", kSlices),
      weights_bug("the bias of codes is not taken off", "f16f32f16", "q4_k",
          {{"fmaf(kCodeBias, factors.scale, factors.minimum)", "factors.minimum"}}, "dequant", kScalesSums),
      weights_bug("32 columns have the scales of those before", "bf16f32bf16", "q4_k",
          {{"scales + (group * kBlockN + row) * 2", "scales + row * 2"}}, "dequant", kSlices),
      weights_bug("factors are those of the row beside", "bf16f32bf16", "q4_k",
          {{"(supers + row * 4)", "(supers + (row ^ 1) * 4)"}}, "dequant", kScalesSums),
  };
}

/// Of Q6_K, in either kernel.
inline std::vector<Bug> q6k_bugs() {
  constexpr const char* kSlices =
      "dequant{block_m=8,block_n=64,warps_n=2,warps_k=4,warp_columns=128,stages=3,scale_sums=1,split_k=2,cluster=1,min_blocks=1,overlap=0,early_launch=0,ahead=0}";
  return {
      weights_bug("upper bits are left out", "f16f32f16", "q6_k", {{"part(at.upper) & 3", "part(at.upper) & 0"}}),
      weights_bug("32 is not taken off", "bf16f32bf16", "q6_k", {{"<< 4) - kWeightOffset", "<< 4) - 0"}}),
      weights_bug(
          "scales are bytes without sign", "f16f32f16", "q6_k", {{"float(int(scale))", "float(int(scale & 0xff))"}}),
      weights_bug("scales are those of the 16 columns beside", "bf16f32bf16", "q6_k",
          {{"k % 64 / 16 : of_group", "(k % 64 / 16 ^ 1) : of_group"}}),
      weights_bug("d is that of the 256 columns before", "f16f32f16", "q6_k",
          {{"(k / kSuperColumns) * args.n + n", "(k < 2 * kSuperColumns ? 0 : k / kSuperColumns - 1) * args.n + n"}}),
      weights_bug("upper bits are those of the lane beside", "bf16f32bf16", "q6_k",
          {{"upper = block + kCodeBlockBytes + lane * 8", "upper = block + kCodeBlockBytes + (lane ^ 1) * 8"}},
          "dequant", kScalesSums),
      weights_bug("upper bits are those of the step beside", "f16f32f16", "q6_k",
          {{"4 - 8 * (product % 2)", "4 - 8 * (product % 2 ^ 1)"}}, "dequant", kScalesSums),
      weights_bug("upper bits of the last 32 columns are those of the first", "bf16f32bf16", "q6_k",
          {{"product < 2 ? lane.upper.x : lane.upper.y", "lane.upper.x"}}, "dequant", kSlices),
      weights_bug("32 is not taken off", "f16f32f16", "q6_k",
          {{"0x64006400u>(first), kOffset", "0x64006400u>(first), twice(0x6400u)"}}, "dequant", kSlices),
      weights_bug("scales are those of the 16 columns beside", "f16f32f16", "q6_k",
          {{"scales + row * 4 + group)", "scales + row * 4 + (group ^ 1))"}}, "dequant", kScalesSums),
      weights_bug("scales are bytes without sign", "bf16f32bf16", "q6_k", {{"ld.shared.s8 %0", "ld.shared.u8 %0"}},
          "dequant", kScalesSums),
      weights_bug("d is that of the 256 columns before", "bf16f32bf16", "q6_k",
          {{"const int first = Group == 0 ? 0 : step_ * kStepK / kGroup,",
              "const int first = Group == 0 ? 0 : max(0, step_ - int(Group == kSuperColumns)) * kStepK / kGroup,"}},
          "dequant", kScalesSums),
      weights_bug("the upper rows of a strip have the factors of the lower ones", "f16f32f16", "q6_k",
          {{"high = scale_of(factors.of[group][of_warp + 8])", "high = scale_of(factors.of[group][of_warp])"}},
          "dequant", kSlices),
      weights_bug("d is that of the row beside", "f16f32f16", "q6_k",
          {{"(supers + row * 2)", "(supers + (row ^ 1) * 2)"}}, "dequant", kSlices),
      weights_bug("blocks of codes lie 512 bytes apart", "bf16f32bf16", "q6_k",
          {{"stage + block * kWeightBytes", "stage + block * kCodeBlockBytes"}}, "dequant", kSlices),
  };
}

/// In the kernels that are fast.
inline std::vector<Bug> fast_weights_bugs() {
  return {
      weights_bug("steps of 16 columns are taken in the other order", "f16f32f16", "s4_g128",
          {{"/ kProductK + half);", "/ kProductK + 1 - half);"}}, "dequant", kScalesSums),
      weights_bug("all groups of a step have the first one's scales", "f16f32f16", "s4_g128",
          {{"column / (kStepK / kScaleRows)", "0 * column"}}, "dequant", kScalesSums),
      weights_bug("the lower rows of a strip have the scales of the upper ones", "bf16f32bf16", "u4_g64+zeros",
          {{"load_pair(scales + (row + 8) *", "load_pair(scales + row *"}}, "dequant", kScalesWeights),
      weights_bug("zeros of a strip's halves are exchanged", "f16f32f16", "u4_g32+zeros",
          {{"i % 2 == 0 ? zeros.low : zeros.high", "i % 2 == 0 ? zeros.high : zeros.low"}}, "dequant", kScalesWeights),
      weights_bug(
          "A is copied beyond K", "f16f32f16", "s8_column", {{"max(0, min(16, left))", "16"}}, "dequant", kScalesSums),
      weights_bug("bytes lose their highest bit", "bf16f32bf16", "s8_g64",
          {{"\"n\"(0x00800080u), \"n\"(0x43804380u)", "\"n\"(0x00000080u), \"n\"(0x43804380u)"}}, "dequant",
          kScalesWeights),
      weights_bug("a warp's sums of K are left out", "f16f32f16", "s4_g128",
          {{"for (int k = 1; k < kWarpsK; ++k) sum += shared", "for (int k = 2; k < kWarpsK; ++k) sum += shared"}},
          "dequant", kScalesSums),
      weights_bug("scales are those of the step behind", "f16f32f16", "s4_g64",
          {{"    k_ = k;\n", "    k_ = k + kNextStep;\n"}}, "wgmma", kWeightsOnLeft),
      weights_bug("all groups of a step have the first one's scales", "bf16f32bf16", "u4_g32+zeros",
          {{"factors_[slab / kSlabsOfGroup][i]", "factors_[0 * slab][i]"}}, "wgmma", kWeightsOnLeft),
      weights_bug("two warps have each other's strips", "f16f32f16", "s8_column",
          {{"4 * i) + warp;", "4 * i) + (warp ^ 1);"}}, "wgmma", kWeightsOnLeft),
      weights_bug("scales are those of the row behind", "bf16f32bf16", "e4m3_g128",
          {{"first + min(row_ + 64 * i + 8 * r, n_ - 1)", "first + min(row_ + 1 + 64 * i + 8 * r, n_ - 1)"}}, "wgmma",
          kWeightsOnLeft),
      weights_bug("a value of the table is the next one's", "f16f32f16", "nf4_g64",
          {{"0.44070982933044434, 0.5626170039176941,", "0.5626170039176941, 0.5626170039176941,"}}, "dequant",
          kScalesSums),
      weights_bug("the table is cut off, not rounded", "bf16f32bf16", "nf4_g64",
          {{"* (1 << fraction_bits) + 0.5)", "* (1 << fraction_bits))"}}, "dequant", kScalesWeights),
      weights_bug("two nibbles have each other's half of the table", "f16f32f16", "nf4_g128",
          {{"bytes_of<0xfbd9>", "bytes_of<0xbfd9>"}}, "dequant", kScalesSums),
      weights_bug("pairs take the wrong upper number", "bf16f32bf16", "nf4_g32",
          {{"bytes_of<0x7351>(low, high)", "bytes_of<0x6351>(low, high)"}}, "wgmma", kWeightsOnLeft),
      weights_bug("even nibbles lose their sign", "f16f32f16", "e2m1_g32",
          {{"with_masked<kSign>(codes << 1 & kMagnitude, codes << 4)", "(codes << 1 & kMagnitude)"}}, "dequant",
          kScalesSums),
      weights_bug("0.5 is lost, as a subnormal", "bf16f32bf16", "e2m1_g64",
          {{"kMagnitude = 0x01c001c0u", "kMagnitude = 0x01800180u"}}, "dequant", kScalesWeights),
      weights_bug("a half of each pair is 2^14 too small", "f16f32f16", "e2m1_column",
          {{"kTwoTo14 = 0x74007400u", "kTwoTo14 = 0x74003c00u"}}, "dequant", kScalesSums),
      weights_bug("a bit of the neighbour's exponent comes along", "f16f32f16", "e2m1_g32",
          {{"kMagnitude = 0x0e0e0e0eu", "kMagnitude = 0x1e0e0e0eu"}}, "wgmma", kWeightsOnLeft),
      weights_bug("numbers are a power of two too large", "bf16f32bf16", "e2m1_g128",
          {{"kTwoTo126 = 0x7e807e80u", "kTwoTo126 = 0x7f007f00u"}}, "wgmma", kWeightsOnLeft),
  };
}

inline std::vector<Bug> weights_bugs() {
  constexpr Edit kOfGroup{"0 : k / (kWeightGroup == 0 ? 1 : kWeightGroup)", ""};
  const auto group = [&](const char* instead) { return std::vector<Edit>{{kOfGroup.find, instead}}; };
  return {
      weights_bug("the nibbles of a byte are taken in the other order", "f16f32f16", "s4_g128",
          {{">> place.shift & ((1", ">> (4 - place.shift) & ((1"}}),
      weights_bug("the weights of a pair are taken in the other order", "f16f32f16", "u4_g64+zeros",
          {{"hi = of_step % 2;", "hi = 1 - of_step % 2;"}}),
      weights_bug("the halves of a block's rows are swapped", "bf16f32bf16", "s4_g128",
          {{"of_step / 8 * 2 + row / 8,", "of_step / 8 * 2 + 1 - row / 8,"}}),
      weights_bug("a group ends one column early", "f16f32f16", "s4_g64",
          group("0 : (k + 1 == args.k ? k : k + 1) / kWeightGroup")),
      weights_bug(
          "a group ends one column late", "bf16f32bf16", "s8_g128", group("0 : (k == 0 ? 0 : k - 1) / kWeightGroup")),
      weights_bug("the last group's scale is taken for all", "f16f32f16", "e4m3_g128",
          group("0 : (args.k - 1) / kWeightGroup")),
      weights_bug("zeros are added", "f16f32f16", "u4_g128+zeros", {{"value -= float(", "value += float("}}),
      weights_bug("scales are those of the row behind", "bf16f32bf16", "u4_column+zeros",
          {{"args.scales)[of_group]", "args.scales)[of_group % args.n + 1 < args.n ? of_group + 1 : of_group]"}}),
      weights_bug("zeros are those of the group's first row", "f16f32f16", "s8_g32+zeros",
          {{"args.zeros)[of_group]", "args.zeros)[of_group - n]"}}),
      weights_bug("the code of a signed weight is taken for the weight", "bf16f32bf16", "s8_column",
          {{"float(code - kWeightOffset)", "float(code)"}}),
      weights_bug("padding is counted", "f16f32f16", "s8_column",
          {{"size_k(args.k)", "size_k((args.k + 31) / 32 * 32)"},
              {"n < args.n && k < args.k ? weight", "n < args.n ? weight"},
              {"k0 < args.k;", "k0 < (args.k + 31) / 32 * 32;"}}),
      weights_bug("subnormals of e4m3 are taken for 0", "f16f32f16", "e4m3_g64",
          {{"const int magnitude = code & 0x7f;", "const int magnitude = (code & 0x78) == 0 ? 0 : code & 0x7f;"}}),
      weights_bug("the halves of a table are exchanged", "f16f32f16", "nf4_g64",
          {{"code < 8 ? nf4_plane<0, false>(place) : nf4_plane<0, true>(place)",
              "code >= 8 ? nf4_plane<0, false>(place) : nf4_plane<0, true>(place)"}}),
      weights_bug("the table keeps its f32 values", "bf16f32bf16", "nf4_column",
          {{"return float(reinterpret_cast<const Operand&>(bits));",
              "return bits == 0 ? 0.0F : float(nf4_value(code));"}}),
      weights_bug("signs of e2m1 are left out", "f16f32f16", "e2m1_g32",
          {{"return (code & 8) != 0 ? -value : value;", "return value;"}}),
      weights_bug("zeros are not read behind a gate", "bf16f32bf16", "u4_g32+zeros",
          {{"if constexpr (kWeightZeros) value", "if (kWeightZeros && n < args.n / 2) value"}}, "simt", nullptr,
          "swiglu"),
  };
}

}  // namespace tilesmith::planted
