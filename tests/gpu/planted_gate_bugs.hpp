// Bugs planted in gated epilogues: which columns make a pair, where they are read, and what is made of them.
#pragma once

#include <vector>

#include "tests/gpu/planted_bug.hpp"
#include "tests/gpu/planted_mma_bugs.hpp"
#include "tests/gpu/planted_simt_bugs.hpp"
#include "tests/gpu/planted_wgmma_bugs.hpp"

namespace tilesmith::planted {

inline std::vector<Bug> gate_bugs() {
  return {
      {"the gate is on the wrong half", "simt", kGeneric, "f16f32", kNN,
          {{"return times_sigmoid(x, x) * y;", "return times_sigmoid(y, y) * x;"}}, nullptr, "swiglu"},
      {"interleaved columns are taken for halves", "simt", kGeneric, "bf16f32", kTT,
          {{"kGateInterleaved ? 2 * pair : pair", "pair"},
              {"kGateInterleaved ? 2 * pair + 1 : n / 2 + pair", "n / 2 + pair"}},
          nullptr, "swiglu_interleaved"},
      {"y has x's bias", "simt", kGeneric, "tf32f32", kNT,
          {{"before_gate(args, m, column_of_y(pair, args.n), y)", "before_gate(args, m, column_of_x(pair), y)"}},
          nullptr, "bias_n+swiglu"},
      {"the gate comes before the bias", "mma", 0, "f16f32f16", kNT,
          {{"        gate_each(of_x, of_y);",
              "for (int e = 0; e < Product::kRun; ++e) of_x[e] = gated(of_x[e] - ScaleType(biases[b].x(e)), of_y[e]) + ScaleType(biases[b].x(e));"}},
          kPlain, "bias_n+swiglu"},
      {"x meets its neighbour's y", "mma", 0, "bf16f32bf16", kNT,
          {{"2 * (begin + b) + 1, y)", "(2 * (begin + b) + 3) % (2 * kRuns), y)"}}, kStaged, "swiglu"},
      {"the last part of a run is not read", "mma", 0, "f16f32", kTT,
          {{"pair_of(first_ + pass * RowsPerPass) < pairs_",
              "pair_of(first_ + pass * RowsPerPass) / kPairedRun < pairs_ / kPairedRun"}},
          kPlain, "swiglu_interleaved"},
      {"y of an interleaved B is read from the second half", "mma", 0, "f16f32", kNT,
          {{"kGateInterleaved ? 2 * pair + 1 : n / 2 + pair", "n / 2 + pair"}}, kPlain, "swiglu_interleaved"},
      {"where warps share K y is x", "mma", 0, "f16f32", kNT,
          {{"add_parts(row, col + kPairedRun, y);", "add_parts(row, col, y);"}}, kSliced, "swiglu"},
      {"split K's sums are gated by a neighbour", "mma", 0, "bf16f32", kNT,
          {{"+ kPairedRun]));", "+ kPairedRun + 1]));"}}, kSplitSummed, "bias_m+swiglu"},
      {"a packed B keeps its order", "wgmma", 0, "bf16f32bf16", kNN,
          {{"return pair / kPairedRun * kPairedStep + pair % kPairedRun + (of_y ? kPairedRun : 0);", "return n;"}},
          kTurnedHalves, "swiglu"},
      {"the gate is applied twice", "wgmma", 0, "bf16f32bf16", kNT,
          {{"        gate_each(of_x, of_y);", "gate_each(of_x, of_y);\n        gate_each(of_x, of_y);"}}, kBoxes,
          "swiglu"},
      {"a pair's bias is its neighbour's", "wgmma", 0, "bf16f32bf16", kNT,
          {{"run % 8 * 4 + place", "(run + 1) % 8 * 4 + place"}}, kBoxes, "bias_n+swiglu"},
      {"y is scaled as x is", "wgmma", 0, "f16f32", kNT, {{"scale[row], scales[b].y(e)", "scale[row], scales[b].x(e)"}},
          kOneGroup, "scale_m+scale_n+swiglu"},
      {"where operands are swapped y is x", "wgmma", 0, "bf16f32bf16", kNT,
          {{"sums.sum(i, 1, run, e)", "sums.sum(i, 0, run, e)"}}, kSwapped, "swiglu"},
      {"evenly dealt tiles lose their last pair", "wgmma", 0, "f16f32f16", kNT,
          {{"return work.end / 2;", "return work.end / 2 - 1;"}}, kEven, "swiglu"},
  };
}

}  // namespace tilesmith::planted
