// The kernel bugs that the verifier must catch in kernels of groups of rows. None strays out of the memory around its
// operands.
#pragma once

#include <vector>

#include "tests/gpu/planted_ffma_bugs.hpp"
#include "tests/gpu/planted_mma_bugs.hpp"
#include "tests/gpu/planted_simt_bugs.hpp"
#include "tests/gpu/planted_wgmma_bugs.hpp"

namespace tilesmith::planted {

inline Bug group_bug(const char* name, const char* family, const char* type, Transposes trans, std::vector<Edit> edits,
    const char* config = nullptr) {
  return {name, family, config == nullptr ? kGeneric : 0, type, trans, std::move(edits), config, "linear",
      BatchMode::grouped};
}

inline std::vector<Bug> group_bugs() {
  return {
      group_bug(
          "the last group is lost", "simt", "f16f32", kNN, {{"g < groups_; g += 32", "g < groups_ - 1; g += 32"}}),
      group_bug("wrong ends are not reported", "simt", "s8s32", kNT,
          {{"*reinterpret_cast<volatile int*>(fault) = g + 1;", ";"}}),
      group_bug("offsets are taken for starts", "simt", "f64f64", kNN,
          {{"g < groups_ ? min(ends_[g], m_) : 0",
              "g < groups_ ? (g + 1 < groups_ ? min(ends_[g + 1], m_) : m_) : 0"}}),
      group_bug("a group's B is that of the group before", "mma", "f16f32", kNN,
          {{"group.number * all.stride_b", "(group.number > 0 ? group.number - 1 : 0) * all.stride_b"}}, kPlain),
      group_bug("an empty group shifts those behind it", "simt", "bf16f32bf16", kNN,
          {{"const unsigned first = of_lane == 0 ? tiles_before_ : before;",
               "const unsigned first = of_lane == 0 ? tiles_before_ : before, left = __shfl_up_sync(0xffffffff, tiles_end_, 1);\n"
               "const int there = __popc(__ballot_sync(0xffffffff, tiles_end_ <= tile && tiles_end_ > (lane() == 0 ? tiles_before_ : left)));"},
              {"min(first_ + of_lane, groups_ - 1)", "min(first_ + there, groups_ - 1)"}}),
      group_bug("rows behind the last end are written", "mma", "f16f32", kNT,
          {{"g < groups_ ? min(ends_[g], m_) : 0", "g + 1 < groups_ ? min(ends_[g], m_) : m_"}}, kPersistent),
      group_bug("the second 32 groups begin at the first row", "mma", "bf16f32", kNN,
          {{"rows_before_ = first == 0 ? 0 : last(rows_end_);", "rows_before_ = 0;"}}, kPersistent),
      group_bug("the end of a group is not masked", "wgmma", "f16f32", kNT, {{"its.m = group.end;", ""}}, kOneGroup),
      group_bug("blocks that share operands copy the first group's B", "wgmma", "bf16f32bf16", kNN,
          {{"kSwap ? of_a : of_b", "kSwap ? of_a : 0"}}, kShared),
      group_bug("all groups share the first one's B", "ffma", "f32f32", kNT,
          {{"group.number * all.stride_b", "0 * all.stride_b"}}, kFfmaSliced),
      group_bug("a group's tiles begin one further", "wgmma", "bf16f32bf16", kNT,
          {{"number - of.first * tiles_n_", "(number - of.first * tiles_n_ + 1) % (of.count * tiles_n_)"},
              {"of.first_row + tile.m * kItemM", "of.first_row + tile.m * (kItemM - 8)"}},
          kTurns),
      group_bug("a box with rows of two groups is stored whole", "wgmma", "bf16f32bf16", kNT,
          {{"if (kIsGrouped && m + kBoxRows > to.rows()) {", "if (false) {"}}, kBoxes),
      group_bug("of a box with rows of two groups nothing is stored", "wgmma", "bf16f32bf16", kNN,
          {{"if (m + row < to.rows() && col < to.cols())", "if (false)"}}, kBoxesInTurns),
  };
}

}  // namespace tilesmith::planted
