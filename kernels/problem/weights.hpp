// Weights: a B whose elements are narrower than A's (Weights in kernels/problem/signature.hpp), in the layout of
// shared/multiply/weights_layout.cuh, or of weights_layout8.cuh where A's elements have 8 bits. Scales and zeros are a
// row of n elements for each group of columns, packed. Of q4_k a row of scales has n pairs of bytes (s, m) for each
// group, and a row of zeros n pairs of f16 (d, dmin) for each 256 columns; of q6_k a row of scales has n times four bytes
// for each 64 columns, and a row of zeros n f16 (shared/multiply/k_quants_layout.cuh).
#pragma once

#include <cstdint>

#include "kernels/problem/problem.hpp"
#include "kernels/shared/multiply/k_quants_layout.cuh"

namespace tilesmith {

/// The type that a weight is stored as; of e2m1 and nf4 u4, their codes, of q6_k that of the lower bits. Precondition: there
/// are weights.
Scalar weight_element(WeightType type);
/// What is added to a weight of an integer type to make its code; 0 of the others.
int weight_offset(WeightType type);
/// The type of its scales and zeros: A's, or D's where A's has 8 bits, or f32. Of q4_k one of the size of a pair of
/// scales, of q6_k s8.
Scalar weight_scale_element(const KernelSignature& signature);
/// Columns of a block, 64 or 32, and its bytes.
int weight_block_columns(WeightType type);
int weight_block_bytes(WeightType type);
/// Blocks of so many rows of W, and of one of its rows.
std::int64_t weight_block_rows(std::int64_t n);
std::int64_t weight_blocks_along_k(WeightType type, std::int64_t k);
/// What K is a multiple of: 256 of q4_k and q6_k, else the group.
std::int64_t weight_k_multiple(const Weights& weights);
/// Groups along K: rows of scales and zeros.
std::int64_t weight_groups(const Weights& weights, std::int64_t k);

/// Whether products of such a type pair may have such weights.
bool takes_weights(const TypePair& type, const Weights& weights);
/// nullopt, or why a problem's weights are no such: one line, as problem_error() gives.
std::optional<std::string> weights_error(const Problem& problem);

}  // namespace tilesmith
