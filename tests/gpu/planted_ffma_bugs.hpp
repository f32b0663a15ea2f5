// Bugs planted in the family `ffma`, and in the f32 of `simt` and `gemv`.
#pragma once

#include <vector>

#include "tests/gpu/planted_bug.hpp"
#include "tests/gpu/planted_mma_bugs.hpp"
#include "tests/gpu/planted_simt_bugs.hpp"

namespace tilesmith::planted {

inline constexpr const char* kFfmaSliced =
    "ffma{block_m=64,block_n=64,block_k=16,thread_m=8,thread_n=8,lanes_m=4,by_columns=0,stages=4,slice_k=2,min_blocks=1,copy_bytes=4,"
    "copies_at_once=1,group_m=1,split_k=1,reduction=0,overlap=0,early_launch=0}";
inline constexpr const char* kFfmaSplit =
    "ffma{block_m=32,block_n=64,block_k=16,thread_m=4,thread_n=8,lanes_m=4,by_columns=1,stages=3,slice_k=1,min_blocks=2,copy_bytes=4,"
    "copies_at_once=4,group_m=1,split_k=2,reduction=0,overlap=1,early_launch=0}";

inline std::vector<Bug> ffma_bugs() {
  return {
      {"operands are rounded to tf32", "simt", kGeneric, "f32f32", kNN,
          {{"return Factor(element(0));", "return rounded_to_tf32(float(element(0)));"}}},
      {"operands are rounded to tf32", "ffma", 0, "f32f32", kTN,
          {{"__fmaf_rn(a[i], b[j], sums.x[i][j])",
              "__fmaf_rn(__uint_as_float(__float_as_uint(a[i]) & 0xffffe000u), b[j], sums.x[i][j])"}},
          kFfmaSliced},
      {"factors are rounded to tf32", "gemv", 0, "f32f32", kNT,
          {{"return Factor(__uint_as_float(chunk.w[i]));", "return Factor(rounded_to_tf32(chunk.w[i]));"}}, kAlong},
      {"the vector is rounded to tf32", "gemv", 0, "f32f32", kNN,
          {{"return Factor(__uint_as_float(unsigned(bits)));", "return Factor(rounded_to_tf32(unsigned(bits)));"}},
          kAcross},
      {"asynchronous copies are not waited for", "ffma", 0, "f32f32", kNN,
          {{"async_wait<kStages - 2>();", "async_wait<kStages - 1>();"}}, kFfmaSliced},
      {"a step is written over the one that is read", "ffma", 0, "f32f32", kNT,
          {{"write_ = (kStages - 1) * kStageBytes;", "write_ = 0;"}}, kFfmaSliced},
      {"the K mask of turned copies is off by one", "ffma", 0, "f32f32", kNN,
          {{"k() + j * kApart < k_left", "k() + j * kApart <= k_left"}}, kFfmaSliced},
      {"the K mask of copied rows is off by one", "ffma", 0, "f32f32", kTN,
          {{"row() + i * kRowsPerPass < k_left", "row() + i * kRowsPerPass <= k_left"}}, kFfmaSliced},
      {"one whole step too many", "ffma", 0, "f32f32", kTT, {{"last / kNextStep + 1 : 0", "last / kNextStep + 2 : 0"}},
          kFfmaSliced},
      {"a slice of a step is not added", "ffma", 0, "f32f32", kNT,
          {{"for (int slice = 1; slice < kSliceK; ++slice)", "for (int slice = 2; slice < kSliceK; ++slice)"}},
          kFfmaSliced},
      {"pieces of a thread's columns overlap", "ffma", 0, "f32f32", kTT,
          {{"j / kPiece * (kLanesN * kPiece)", "j / kPiece * kPiece"}}, kFfmaSliced},
      {"alpha scales what C held", "ffma", 0, "f32f32", kNN, {{"kBlends ? to.over() : to", "to"}}, kFfmaSliced},
      {"slices of K all begin with the first step", "ffma", 0, "f32f32", kTN,
          {{"(k0 + row()) * operand.ld", "row() * operand.ld"}}, kFfmaSplit},
      {"a slice's sums of a block go to another one's place", "ffma", 0, "f32f32", kNT,
          {{"Destination(args, work.slice), work.m0", "Destination(args, work.slice), work.n0"}}, kFfmaSplit},
  };
}

}  // namespace tilesmith::planted
