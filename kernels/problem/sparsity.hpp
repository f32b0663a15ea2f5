// 2:4 sparse operands: of each group of 4 elements in a row along K 2 are stored, of each 2 elements of 32 bits 1. The
// metadata say which (kernels/shared/multiply/sparse_layout.cuh has their layout). A sparse operand lies in rows along
// K.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "kernels/problem/operand.hpp"
#include "kernels/problem/problem.hpp"

namespace tilesmith {

inline bool is_sparse(const KernelSignature& signature) { return signature.sparsity != Sparsity::dense; }

/// Whether A or B is the sparse one.
inline bool is_sparse(const KernelSignature& signature, OperandRole role) {
  return is_sparse(signature) && role == (signature.sparsity == Sparsity::a ? OperandRole::a : OperandRole::b);
}

/// Whether there are kernels for such elements.
bool has_sparse_products(Scalar element);

/// Elements of a group: 4, or 2 of 32 bits. K of a problem with a sparse operand is a multiple of it.
int sparse_group(Scalar element);

/// Words of 32 bits of the metadata of `rows` rows of `k` elements, and how they lie as a matrix: a row for each 16
/// groups along K.
std::int64_t metadata_rows(Scalar element, std::int64_t k);
std::int64_t metadata_columns(std::int64_t rows);

/// nullopt, or why a problem's operand cannot be sparse: one line, as problem_error() gives.
std::optional<std::string> sparsity_error(const Problem& problem);

/// The same signature with dense operands; itself where no kernel reads such a sparse operand.
KernelSignature without_sparsity(const KernelSignature& signature);

}  // namespace tilesmith
