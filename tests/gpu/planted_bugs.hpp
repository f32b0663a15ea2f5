// The kernel bugs that the verifier must catch, of every family.
#pragma once

#include <vector>

#include "tests/gpu/planted_batch_bugs.hpp"
#include "tests/gpu/planted_block_scale_bugs.hpp"
#include "tests/gpu/planted_bug.hpp"
#include "tests/gpu/planted_byte_bugs.hpp"
#include "tests/gpu/planted_coded_bugs.hpp"
#include "tests/gpu/planted_epilogue_bugs.hpp"
#include "tests/gpu/planted_expert_bugs.hpp"
#include "tests/gpu/planted_ffma_bugs.hpp"
#include "tests/gpu/planted_gate_bugs.hpp"
#include "tests/gpu/planted_group_bugs.hpp"
#include "tests/gpu/planted_mma_bugs.hpp"
#include "tests/gpu/planted_pointer_bugs.hpp"
#include "tests/gpu/planted_scalar_bugs.hpp"
#include "tests/gpu/planted_simt_bugs.hpp"
#include "tests/gpu/planted_sparse_bugs.hpp"
#include "tests/gpu/planted_split_bugs.hpp"
#include "tests/gpu/planted_sub_byte_bugs.hpp"
#include "tests/gpu/planted_weights_bugs.hpp"
#include "tests/gpu/planted_wgmma_bugs.hpp"

namespace tilesmith::planted {

inline constexpr int kDirect = 1, kSingleStage = 4, kTwoStages = 5;

inline std::vector<Bug> wmma_bugs() {
  return {
      {"the barrier between copy and product is missing", "wmma", kSingleStage, "f16f32", kNN,
          {{"__syncthreads();  // the step has landed", ""}}},
      {"asynchronous copies are not waited for", "wmma", kTwoStages, "bf16f32", kNT,
          {{"async_wait<kStages - 2>();", "async_wait<kStages - 1>();"}}},
      {"the K tail is dropped", "wmma", kTwoStages, "s8s32", kNN,
          {{"(args.k + kBlockK - 1) / kBlockK", "args.k / kBlockK"}}},
      {"the edge mask of the copied rows is off by one", "wmma", kTwoStages, "f16f16", kNN,
          {{"i * kRowsPerPass < rows_left_;", "i * kRowsPerPass <= rows_left_;"}}},
      {"the edge mask of the copied columns is missing", "wmma", kTwoStages, "f16f32", kNN,
          {{"max(0, min(columns, kElements))", "(columns > 0 ? kElements : 0)"}}},
      {"lda and ldb are swapped", "wmma", kTwoStages, "tf32f32", kTN,
          {{"static_cast<const Operand*>(args.a), args.lda,", "static_cast<const Operand*>(args.a), args.ldb,"}}},
      {"tf32 operands are truncated by the multiplier", "wmma", kTwoStages, "tf32f32", kNN,
          {{"fragment.x[i] = wmma::__float_to_tf32(fragment.x[i]);", ";"}}},
      {"alpha is ignored", "wmma", kTwoStages, "s8s32", kNT,
          {{"alpha = scale_as<ScaleType>(args.alpha);", "alpha = ScaleType(1);"}}},
      {"beta is ignored in the wide store", "wmma", kTwoStages, "f16f16", kTN,
          {{"linear<Output>(alpha, from[e], beta, old.x[e])", "linear<Output>(alpha, from[e])"}}},
      {"C is read where beta is 0", "wmma", kTwoStages, "f16f32", kTT,
          {{"if (beta == ScaleType(0)) {", "if (false) {"}}},
      {"the wide store runs over the edge", "wmma", kTwoStages, "f16f32", kNT,
          {{"if (wide && n + kVector <= args.n) {", "if (wide) {"}}},
      {"tiles overlap", "wmma", kTwoStages, "u8s32", kTN,
          {{"block_m0 = block.m * kBlockM;", "block_m0 = block.m * (kBlockM - 16);"}}},
      {"the last row is not written", "wmma", kTwoStages, "f64f64", kNN,
          {{"if (m >= args.m || n >= args.n) continue;", "if (m >= args.m - 1 || n >= args.n) continue;"}}},
      {"the transposition of B is ignored", "wmma", kTwoStages, "f64f64", kNT,
          {{"args.ldb, kTransB ? block_n0 : 0, kTransB ? 0 : block_n0,", "args.ldb, 0, block_n0,"}}},
      {"a fragment at the edge is read without its mask", "wmma", kDirect, "bf16f32", kNN,
          {{"if (row + FragRows <= rows && col + FragCols <= cols) {", "if (row + FragRows <= rows) {"}}},
      {"direct stores ignore beta", "wmma", kDirect, "f16f32", kTN,
          {{"linear<Output>(alpha, acc.x[e], beta, old.x[e])", "linear<Output>(alpha, acc.x[e])"}}},
      {"whole fragments are stored over the edge", "wmma", kDirect, "f16f32", kNN,
          {{"n0 + kWarpTileN <= args.n) {", "n0 < args.n) {"}}},
  };
}

inline std::vector<Bug> all_bugs() {
  std::vector<Bug> bugs = simt_bugs();
  for (const Bug& bug : wmma_bugs()) bugs.push_back(bug);
  for (const Bug& bug : mma_bugs()) bugs.push_back(bug);
  for (const Bug& bug : wgmma_bugs()) bugs.push_back(bug);
  for (const Bug& bug : batch_bugs()) bugs.push_back(bug);
  for (const Bug& bug : group_bugs()) bugs.push_back(bug);
  for (const Bug& bug : ffma_bugs()) bugs.push_back(bug);
  for (const Bug& bug : epilogue_bugs()) bugs.push_back(bug);
  for (const Bug& bug : gate_bugs()) bugs.push_back(bug);
  for (const Bug& bug : byte_bugs()) bugs.push_back(bug);
  for (const Bug& bug : pointer_bugs()) bugs.push_back(bug);
  for (const Bug& bug : split_bugs()) bugs.push_back(bug);
  for (const Bug& bug : scalar_bugs()) bugs.push_back(bug);
  for (const Bug& bug : sparse_bugs()) bugs.push_back(bug);
  for (const Bug& bug : sub_byte_bugs()) bugs.push_back(bug);
  for (const Bug& bug : weights_bugs()) bugs.push_back(bug);
  for (const Bug& bug : fast_weights_bugs()) bugs.push_back(bug);
  for (const Bug& bug : coded_bugs()) bugs.push_back(bug);
  for (const Bug& bug : q4k_bugs()) bugs.push_back(bug);
  for (const Bug& bug : q6k_bugs()) bugs.push_back(bug);
  for (const Bug& bug : expert_bugs()) bugs.push_back(bug);
  for (const Bug& bug : block_scale_bugs()) bugs.push_back(bug);
  for (const Bug& bug : scaled_mma_bugs()) bugs.push_back(bug);
  return bugs;
}

}  // namespace tilesmith::planted
