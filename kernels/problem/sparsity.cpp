#include "kernels/problem/sparsity.hpp"

#include <fmt/format.h>

#include "kernels/shared/multiply/sparse_layout.cuh"

namespace tilesmith {
namespace {

/// What does not hang on sizes.
std::optional<std::string> signature_error(const KernelSignature& signature) {
  const std::string_view which = name(signature.sparsity);
  if (!has_sparse_products(signature.type.a))
    return fmt::format("sparsity is {}: expected operands of f16, bf16, tf32, s8, u8, e4m3 or e5m2, not {}", which,
        name(signature.type.a));
  if (signature.sparsity == Sparsity::a && signature.trans.a)
    return fmt::format("sparsity is {}: expected transposes NN or NT, a sparse A lies in rows along K", which);
  if (signature.sparsity == Sparsity::b && !signature.trans.b)
    return fmt::format("sparsity is {}: expected transposes NT or TT, a sparse B lies in rows along K", which);
  if (signature.batch_mode != BatchMode::single)
    return fmt::format("sparsity is {}: expected no batch_mode={}", which, name(signature.batch_mode));
  if (signature.epilogue.is_gated())
    return fmt::format(
        "sparsity is {}: expected no gate, epilogue={} takes two columns for one", which, name(signature.epilogue));
  return std::nullopt;
}

}  // namespace

bool has_sparse_products(Scalar element) {
  switch (element) {
    case Scalar::f16:
    case Scalar::bf16:
    case Scalar::tf32:
    case Scalar::s8:
    case Scalar::u8:
    case Scalar::e4m3:
    case Scalar::e5m2: return true;
    default: return false;
  }
}

int sparse_group(Scalar element) { return group_elements(int(size_bytes(element))); }

std::int64_t metadata_rows(Scalar element, std::int64_t k) {
  return metadata_blocks(k, metadata_block_k(int(size_bytes(element))));
}
std::int64_t metadata_columns(std::int64_t rows) { return metadata_blocks(rows, kMetadataRows) * kMetadataWords; }

std::optional<std::string> sparsity_error(const Problem& problem) {
  if (!is_sparse(problem)) return std::nullopt;
  if (auto wrong = signature_error(problem)) return wrong;
  const int group = sparse_group(problem.type.a);
  if (problem.k % group != 0)
    return fmt::format(
        "K is {}: expected a multiple of {}, the group of sparsity={}", problem.k, group, name(problem.sparsity));
  return std::nullopt;
}

KernelSignature without_sparsity(const KernelSignature& signature) {
  KernelSignature dense = signature;
  const bool known = signature.sparsity == Sparsity::a || signature.sparsity == Sparsity::b;
  if (!known || signature_error(signature)) return dense;
  dense.sparsity = Sparsity::dense;
  return dense;
}

}  // namespace tilesmith
