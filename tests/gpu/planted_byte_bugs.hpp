// Bugs planted in results of a byte: how they are rounded, bounded, read again and stored.
#pragma once

#include <vector>

#include "tests/gpu/planted_bug.hpp"
#include "tests/gpu/planted_mma_bugs.hpp"
#include "tests/gpu/planted_simt_bugs.hpp"
#include "tests/gpu/planted_wgmma_bugs.hpp"

namespace tilesmith::planted {

inline std::vector<Bug> byte_bugs() {
  const Edit truncated{"cvt.rni.sat.s8.f32", "cvt.rzi.sat.s8.f32"}, wrapped{"cvt.rni.sat.s8.f32", "cvt.rni.s32.f32"};
  const Edit unsigned_c{"return float(bits);", "return float(static_cast<unsigned char>(bits));"};
  return {
      {"s8 results are truncated", "simt", kGeneric, "s8s32s8", kNN, {truncated}},
      {"s8 results wrap", "simt", kGeneric, "u8s32s8", kNT, {wrapped}},
      {"s8 of C is taken for u8", "simt", kGeneric, "s8s32s8", kTN, {unsigned_c}},
      {"e4m3 results are truncated", "simt", kGeneric, "e4m3f32e4m3", kNN,
          {{"return Output(fused<ScaleType>(linear<ScaleType>(alpha, product, beta, held), bias));",
              "return Output(__uint_as_float(__float_as_uint(fused<ScaleType>(linear<ScaleType>(alpha, product, beta, held), bias)) & 0xfff00000u));"}}},
      {"s8 results are truncated", "mma", 0, "s8s32s8", kNT, {truncated}, kBytes},
      {"s8 results wrap", "mma", 0, "u8s32s8", kNT, {wrapped}, kBytesStaged},
      {"s8 of C is taken for u8", "mma", 0, "s8s32s8", kNT, {unsigned_c}, kBytesStaged, "bias_n+relu"},
      {"staged bytes are stored a row off", "mma", 0, "s8s32s8", kNT,
          {{"reinterpret_cast<Staged*>(scratch) + lane / 4 * kStride",
              "reinterpret_cast<Staged*>(scratch) + (lane / 4 ^ 1) * kStride"}},
          kBytesStaged},
      {"split K's s8 results wrap", "mma", 0, "s8s32s8", kNT, {wrapped}, kBytesSplitSummed},
      {"s8 results are truncated", "wgmma", 0, "s8s32s8", kNN, {truncated}, kTurnedBytes},
      {"e4m3 results are truncated", "wgmma", 0, "e4m3f32e4m3", kNN,
          {{"return linear<Stored>(alpha_, value_of(sum));",
              "return Stored(__uint_as_float(__float_as_uint(linear<float>(alpha_, value_of(sum))) & 0xfff00000u));"}},
          kTurnedBytes, "scale_m+scale_n"},
      {"beta is ignored of e4m3", "wgmma", 0, "e5m2f32e4m3", kNN,
          {{"beta_(scale_as<ScaleType>(args.beta))", "beta_(0)"}}, kTurnedBytes},
  };
}

}  // namespace tilesmith::planted
