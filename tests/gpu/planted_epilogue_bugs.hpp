// Bugs planted in what a kernel does behind α and β.
#pragma once

#include <vector>

#include "tests/gpu/planted_bug.hpp"
#include "tests/gpu/planted_mma_bugs.hpp"
#include "tests/gpu/planted_simt_bugs.hpp"
#include "tests/gpu/planted_wgmma_bugs.hpp"

namespace tilesmith::planted {

inline std::vector<Bug> epilogue_bugs() {
  return {
      {"a bias along N is taken along M", "simt", kGeneric, "f16f32", kNN, {{"[kBiasAlongN ? n : m]", "[kBiasAlongN ? m : n]"}}, nullptr, "bias_n"},
      {"the activation comes before the bias",
       "simt",
       kGeneric,
       "tf32f32",
       kNT,
       {{"activated(kHasBias ? added<S>(sum, S(bias)) : sum)", "added<S>(activated(sum), S(bias))"}},
       nullptr,
       "bias_n+relu"},
      {"C is read where D lies",
       "simt",
       kGeneric,
       "bf16f32bf16",
       kTN,
       {{"static_cast<const Output*>(args.more.c)[m", "static_cast<const Output*>(args.c)[m"}},
       nullptr,
       "c_apart"},
      {"C is read where beta is 0", "simt", kGeneric, "f16f16", kTT, {{"beta == ScaleType(0) ? ScaleType(0) : ScaleType(static_cast", "ScaleType(static_cast"}}, nullptr, "bias_m"},
      {"alpha scales twice",
       "mma",
       0,
       "f16f32",
       kNT,
       {{"scaled<ScaleType>(alpha, ScaleType(mine[e]))", "scaled<ScaleType>(alpha, scaled<ScaleType>(alpha, ScaleType(mine[e])))"}},
       kPlain,
       "bias_n"},
      {"alpha scales what is blended", "mma", 0, "bf16f32bf16", kNT, {{"to.overwrites() ? to.alpha() : ScaleType(1)", "to.alpha()"}}, kPlain, "bias_n+relu"},
      {"the first run's bias is every run's", "mma", 0, "f16f32f16", kNN, {{"to.bias() + at, runs_end - at, whole", "to.bias() + runs_at, runs_end - at, whole"}}, kStaged, "bias_n"},
      {"a bias along M is the same for all rows of a thread", "mma", 0, "tf32f32", kNT, {{": of_row[row]", ": of_row[0]"}}, kTf32, "bias_m"},
      {"the bias's last element is not loaded", "mma", 0, "f16f16", kNN, {{"if (e < left) run_.x[e]", "if (e + 1 < left) run_.x[e]"}}, kPlain, "bias_n"},
      {"where warps share K the bias is every column's first", "mma", 0, "f16f32", kNN, {{"bias = bias_[kBiasAlongN ? n + e : m]", "bias = bias_[kBiasAlongN ? n : m]"}}, kSliced, "bias_n"},
      {"split K's sums get no bias", "mma", 0, "bf16f32", kNN, {{"linear<ScaleType>(alpha, sum, beta, held), bias)", "linear<ScaleType>(alpha, sum, beta, held), BiasType(0))"}}, kSplitSummed, "bias_n+relu"},
      {"split K's sums are not activated",
       "mma",
       0,
       "f16f32",
       kNT,
       {{"Output(fused<ScaleType>(linear<ScaleType>(alpha, sum, beta, held), bias))", "Output(linear<ScaleType>(alpha, sum, beta, held) + ScaleType(bias))"}},
       kSplitSummed,
       "bias_n+silu"},
      {"what is stored by boxes is not activated",
       "wgmma",
       0,
       "bf16f32bf16",
       kNT,
       {{"Accumulator(fused<ScaleType>(sum, kAlongRuns ? of_run[b].at(e) : of_row[row]))", "Accumulator(sum + ScaleType(kAlongRuns ? of_run[b].at(e) : of_row[row]))"}},
       kBoxes,
       "bias_n+gelu"},
      {"gelu is the other gelu",
       "wgmma",
       0,
       "f16f32",
       kNT,
       {{"error_function(x * S(0.70710678118654752440))", "tanhf(S(0.79788456) * (x + S(0.044715) * x * x * x))"}},
       kOneGroup,
       "gelu"},
      {"silu's sigmoid has the other sign", "wgmma", 0, "tf32f32", kNT, {{"S(1) + exponential(-of)", "S(1) + exponential(of)"}}, kLeftWords, "silu"},
      {"where operands are swapped a bias along N is read across",
       "wgmma",
       0,
       "f16f32f16",
       kNT,
       {{"kAlongRuns = Sums::kSwapped ? kBiasAlongM : kBiasAlongN", "kAlongRuns = kBiasAlongN"}},
       kSwapped,
       "bias_n"},
      {"C is loaded from D", "wgmma", 0, "f16f32", kNT, {{"return c_ + m * stride_ + n;", "return rows_ + m * stride_ + n;"}}, kTwoGroups, "c_apart"},
  };
}

}  // namespace tilesmith::planted
