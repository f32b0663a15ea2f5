// Bugs planted in what a kernel does behind α and β.
#pragma once

#include <vector>

#include "tests/gpu/planted_bug.hpp"
#include "tests/gpu/planted_mma_bugs.hpp"
#include "tests/gpu/planted_simt_bugs.hpp"
#include "tests/gpu/planted_wgmma_bugs.hpp"

namespace tilesmith::planted {

inline constexpr const char* kColumnVector =
    "gemv{matrix=0,shifted=0,threads=128,lanes=8,rows=1,unroll=4,split_k=1,cluster=0,prefetch_bytes=0,overlap=0,early_launch=0}";

inline std::vector<Bug> epilogue_bugs() {
  return {
      {"a bias along N is taken along M", "simt", kGeneric, "f16f32", kNN,
          {{"[kBiasAlongN ? n : m]", "[kBiasAlongN ? m : n]"}}, nullptr, "bias_n"},
      {"the activation comes before the bias", "simt", kGeneric, "tf32f32", kNT,
          {{"activated(kHasBias ? added<S>(sum, S(bias)) : sum)", "added<S>(activated(sum), S(bias))"}}, nullptr,
          "bias_n+relu"},
      {"C is read where D lies", "simt", kGeneric, "bf16f32bf16", kTN,
          {{"static_cast<const Output*>(args.c)[m", "static_cast<const Output*>(args.d)[m"}}, nullptr, "c_apart"},
      {"C is read where beta is 0", "simt", kGeneric, "f16f16", kTT,
          {{"beta == ScaleType(0) ? ScaleType(0) : ScaleType(static_cast", "ScaleType(static_cast"}}, nullptr,
          "bias_m"},
      {"alpha scales twice", "mma", 0, "f16f32", kNT,
          {{"added<ScaleType>(scaled<ScaleType>(alpha, values[e]), ScaleType(bias.at(e)))",
              "added<ScaleType>(scaled<ScaleType>(alpha, scaled<ScaleType>(alpha, values[e])), ScaleType(bias.at(e)))"}},
          kPlain, "bias_n"},
      {"alpha scales what is blended", "mma", 0, "bf16f32bf16", kNT,
          {{"to.overwrites() ? to.alpha() : ScaleType(1)", "to.alpha()"}}, kPlain, "bias_n+relu"},
      {"the first run's bias is every run's", "mma", 0, "f16f32f16", kNN,
          {{"place_.runs_at + Sums::offset(first + i)", "place_.runs_at"}}, kStaged, "bias_n"},
      {"a bias along M is the same for all rows of a thread", "mma", 0, "tf32f32", kNT,
          {{"place_.rows_at + Sums::row(row / 2, row % 2)", "place_.rows_at + Sums::row(0, 0)"}}, kTf32, "bias_m"},
      {"the bias's last element is not loaded", "mma", 0, "f16f16", kNN,
          {{"if (e < left) reinterpret_cast<Element*>(&words_)[e]",
              "if (e + 1 < left) reinterpret_cast<Element*>(&words_)[e]"}},
          kPlain, "bias_n"},
      {"where warps share K the bias is every column's first", "mma", 0, "f16f32", kNN,
          {{"bias = this->bias()[kBiasAlongN ? n + e : m]", "bias = this->bias()[kBiasAlongN ? n : m]"}}, kSliced,
          "bias_n"},
      {"split K's sums get no bias", "mma", 0, "bf16f32", kNN, {{"beta, held), bias)", "beta, held), BiasType(0))"}},
          kSplitSummed, "bias_n+relu"},
      {"split K's sums are not activated", "mma", 0, "f16f32", kNT,
          {{"Output(fused<ScaleType>(linear<ScaleType>(alpha, product, beta, held), bias))",
              "Output(linear<ScaleType>(alpha, product, beta, held) + ScaleType(bias))"}},
          kSplitSummed, "bias_n+silu"},
      {"what is stored by boxes is not activated", "wgmma", 0, "bf16f32bf16", kNT,
          {{"          activate(values);", ""}}, kBoxes, "bias_n+gelu"},
      {"gelu is the other gelu", "wgmma", 0, "f16f32", kNT,
          {{"error_function(x * S(0.70710678118654752440))", "tanhf(S(0.79788456) * (x + S(0.044715) * x * x * x))"}},
          kOneGroup, "gelu"},
      {"negative sums are squared too", "mma", 0, "bf16f32bf16", kNT,
          {{"return x < S(0) ? S(0) : x * x;", "return x * x;"}}, kPlain, "relu_squared"},
      {"silu's sigmoid has the other sign", "wgmma", 0, "tf32f32", kNT,
          {{"return kMinusLog2E * x;", "return -kMinusLog2E * x;"}}, kLeftWords, "silu"},
      {"where operands are swapped a bias along N is read across", "wgmma", 0, "f16f32f16", kNT,
          {{"kBiasAlongRuns = Sums::kSwapped ? kBiasAlongM : kBiasAlongN", "kBiasAlongRuns = kBiasAlongN"}}, kSwapped,
          "bias_n"},
      {"one row's bias is another's", "gemv", 0, "f16f32", kNN,
          {{"kMatrixIsB ? 0 : output, kMatrixIsB ? output : 0, sum", "0, kMatrixIsB ? output : 0, sum"}}, kColumnVector,
          "bias_m"},
      {"a scale is applied twice", "mma", 0, "bf16f32bf16", kNT,
          {{"values[e] *= ScaleType(by.at(e));", "values[e] *= ScaleType(by.at(e)) * ScaleType(by.at(e));"}}, kPlain,
          "scale_n"},
      {"what C holds is scaled too", "simt", kGeneric, "f16f32", kNT,
          {{"linear<ScaleType>(alpha, product, beta, held)",
              "times_scales(linear<ScaleType>(alpha, ScaleType(sum), beta, held), args, m, n)"}},
          nullptr, "scale_m+scale_n"},
      {"split K's sums are not scaled", "mma", 0, "f16f32f16", kNN,
          {{"product = times_scales(ScaleType(sum), args, m, n)", "product = ScaleType(sum)"}}, kSplitSummed,
          "scale_m"},
      {"rows take the columns' scales", "wgmma", 0, "f16f32", kNT,
          {{"of_row(scales_across<Sums>(to_), row)", "of_row(scales_along<Sums>(to_), row)"}}, kOneGroup,
          "scale_m+scale_n"},
      {"one scale is taken for each", "simt", kGeneric, "bf16f32", kNN,
          {{"args.scale_m[kScaleEachRow ? m : 0]", "args.scale_m[m]"}}, nullptr, "scale_m1"},
      {"what integers became is taken for integers", "mma", 0, "s8s32bf16", kNT,
          {{"return __int_as_float(kept);", "return ScaleType(kept);"}}, kBytes, "scale_m"},
      {"C is loaded from D", "wgmma", 0, "f16f32", kNT,
          {{"return held_ + m * stride_ + n;", "return rows_ + m * stride_ + n;"}}, kTwoGroups, "c_apart"},
      {"a run's bias is its neighbour's", "wgmma", 0, "bf16f32bf16", kNT,
          {{"run % 8 * 4 + place", "(run + 1) % 8 * 4 + place"}}, kBoxes, "bias_n"},
      {"behind eight runs the bias begins anew", "wgmma", 0, "f16f32", kNT, {{"kept_[run / 8]", "kept_[0]"}}, kEven,
          "bias_n"},
      {"four threads share one's bias", "wgmma", 0, "f16f32f16", kNN, {{"place = int(threadIdx.x % 4)", "place = 0"}},
          kOneGroup, "bias_n_f32"},
      {"tiles behind the first have no bias", "wgmma", 0, "bf16f32bf16", kNT,
          {{"ahead_.load(to, work.m0", "if (work.m0 + work.n0 == 0) ahead_.load(to, work.m0"}}, kBoxes, "bias_n+relu"},
      {"what C holds of the last steps' part is not brought", "wgmma", 0, "bf16f32bf16", kNT,
          {{"if (step != part) continue;", "if (step != part || part == kParts - 1) continue;"}}, kTallBoxes,
          "c_apart"},
      {"what C holds is brought for one of two rows", "wgmma", 0, "f16f32f16", kNT,
          {{"across = Sums::row(row / 2, row % 2);", "across = Sums::row(row / 2, 0);"}}, kOneGroup, "c_apart"},
      {"of two powers one meets its own", "wgmma", 0, "bf16f32bf16", kNT,
          {{"second = less_left(a, of_both)", "second = less_left(b, of_both)"}}, kBoxes, "bias_n+silu"},
      {"a power that overflows takes its neighbour with it", "wgmma", 0, "f16f32", kNT,
          {{"kMostPower = 63", "kMostPower = 999"}}, kOneGroup, "gelu_tanh"},
  };
}

}  // namespace tilesmith::planted
