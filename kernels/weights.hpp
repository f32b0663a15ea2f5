// The layout of weights: a B whose elements are narrower than A's (Weights in kernels/signature.hpp). It is the order in which the
// fragments of mma's left operand lie in registers, so that kernels load them straight. One layout for each number of bits:
//
// W is op(B) transposed: n rows, k columns. A weight's code is its value plus an offset: s4 + 8, u4, s8 + 128, e4m3's own bits. Rows are
// padded to 16 and columns to 64 (4 bits) or 32 (8 bits) by weights of value 0. Block (i, j) has rows 16·i .. and columns 64·j .. (32·j ..)
// in 512 bytes, at byte 512·(i·blocks of a row + j). In a block, lane l of 32 has the 16 bytes at 16·l, as 4 little-endian words.
// With g = l / 4, t = l % 4, and s a step of 16 columns that begins at c, a lane's 8 weights of a step are four pairs:
//
//   a0: row g, columns c + 2t, c + 2t + 1          a2: row g, columns c + 2t + 8, c + 2t + 9
//   a1: row g + 8, the same columns as a0          a3: row g + 8, the same columns as a2
//
// 4 bits: word s has step s: bits 4i .. 4i+3 the first of pair ai, bits 16+4i .. 19+4i its second.
// 8 bits: words 2s and 2s+1 have step s: the bytes of a0 and a1, then those of a2 and a3, each pair's first before its second.
//
// Scales and zeros: a row of n elements for each group of columns, packed.
#pragma once

#include <cstdint>

#include "kernels/problem.hpp"

namespace tilesmith {

inline constexpr int kWeightBlockRows = 16;
inline constexpr int kWeightBlockBytes = 512;

/// The type that a weight is stored as. Precondition: there are weights.
Scalar weight_element(WeightType type);
/// What is added to a weight of an integer type to make its code; 0 of e4m3.
int weight_offset(WeightType type);
/// The type of its scales and zeros.
Scalar weight_scale_element(const KernelSignature& signature);
/// Columns of a block: 64 or 32.
int weight_block_columns(WeightType type);
/// Blocks of so many rows of W, and of one of its rows.
std::int64_t weight_block_rows(std::int64_t n);
std::int64_t weight_blocks_along_k(WeightType type, std::int64_t k);
/// Groups along K: rows of scales and zeros.
std::int64_t weight_groups(const Weights& weights, std::int64_t k);

/// nullopt, or why a problem's weights are no such: one line, as problem_error() gives.
std::optional<std::string> weights_error(const Problem& problem);

}  // namespace tilesmith
