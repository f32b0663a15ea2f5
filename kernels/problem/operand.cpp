#include "kernels/problem/operand.hpp"

#include <algorithm>

#include "kernels/problem/sparsity.hpp"
#include "kernels/problem/weights.hpp"

namespace tilesmith {

bool OperandMatrix::overlaps() const {
  if (entries < 2 || span() == 0 || entry_stride >= span()) return false;
  return entry_stride < cols || (entries - 1) * entry_stride + cols > row_stride;
}

std::int64_t OperandMatrix::bytes() const {
  if (span() == 0 || entries == 0) return 0;
  return storage_bytes(element, (matrices() - 1) * entry_stride + span());
}

double OperandMatrix::element_bytes() const {
  const double all = double(matrices()) * double(storage_bytes(element, rows * cols));
  return overlaps() ? std::min(all, double(bytes())) : all;
}

namespace {

std::int64_t scale_blocks(std::int64_t extent) { return (extent + kScaleBlock - 1) / kScaleBlock; }

}  // namespace

OperandMatrix operand(const Problem& problem, OperandRole role) {
  switch (role) {
    case OperandRole::a:
      return {
          role, problem.type.a, problem.a_rows(), problem.a_cols(), problem.lda, problem.entries(), problem.stride_a};
    case OperandRole::b:
      if (has_weights(problem)) {
        const Scalar element = weight_element(problem.weights.type);
        const std::int64_t of_blocks = weight_block_bytes(problem.weights.type) * 8 / int(size_bits(element)) *
                                       weight_blocks_along_k(problem.weights.type, problem.k);
        return {role, element, weight_block_rows(problem.n), of_blocks, std::max<std::int64_t>(2, of_blocks),
            problem.batch, problem.stride_b};
      }
      return {role, problem.type.b, problem.b_rows(), problem.b_cols(), problem.ldb, problem.batch, problem.stride_b};
    case OperandRole::scale_m:
    case OperandRole::scale_n: {
      const bool along_m = role == OperandRole::scale_m;
      const Scaling scaling = along_m ? problem.epilogue.scale_m : problem.epilogue.scale_n;
      const std::int64_t extent = along_m ? problem.m : problem.n;
      if (is_by_block(scaling)) {  // [blocks of K][extent], or [blocks of the extent][blocks of K], of each matrix
        const std::int64_t blocks = scale_blocks(problem.k), matrices = along_m ? problem.entries() : problem.batch;
        const std::int64_t rows = scaling == Scaling::block ? scale_blocks(extent) : blocks,
                           cols = scaling == Scaling::block ? blocks : extent;
        const bool shared = (along_m ? problem.stride_a : problem.stride_b) == 0;  // as A or B
        return {role, Scalar::f32, rows, cols, std::max<std::int64_t>(1, cols), matrices, shared ? 0 : rows * cols};
      }
      const std::int64_t length = scaling == Scaling::one ? 1 : extent;
      return {role, Scalar::f32, 1, length, std::max<std::int64_t>(1, length)};
    }
    case OperandRole::bias: {
      const std::int64_t length = problem.epilogue.bias == Bias::along_m ? problem.m : problem.n;
      return {role, problem.epilogue.bias_is_f32 ? Scalar::f32 : problem.type.output, 1, length,
          std::max<std::int64_t>(1, length)};
    }
    case OperandRole::offsets: return {role, Scalar::s32, 1, problem.batch, std::max<std::int64_t>(1, problem.batch)};
    case OperandRole::alpha:
    case OperandRole::beta: return {role, problem.type.scale, 1, 1, 1};
    case OperandRole::weight_scales:
    case OperandRole::weight_zeros: {
      const bool k_quant = is_k_quant(problem.weights.type), of_scales = role == OperandRole::weight_scales;
      const bool q6k = problem.weights.type == WeightType::q6_k;
      const int together = !k_quant ? 1 : !q6k ? 2 : of_scales ? 4 : 1;  // numbers of a row of W, side by side
      const std::int64_t groups =
          k_quant && !of_scales ? problem.k / kSuperColumns : weight_groups(problem.weights, problem.k) / (q6k ? 4 : 1);
      const std::int64_t columns = together * problem.n;
      const Scalar element = !k_quant     ? weight_scale_element(problem)
                             : !of_scales ? Scalar::f16
                             : q6k        ? Scalar::s8
                                          : Scalar::u8;
      return {role, element, groups, columns, std::max<std::int64_t>(1, columns), problem.batch,
          problem.batch_mode == BatchMode::single ? 0 : groups * columns};
    }
    case OperandRole::metadata: {
      const std::int64_t columns = metadata_columns(problem.sparsity == Sparsity::b ? problem.n : problem.m);
      return {role, Scalar::s32, is_sparse(problem) ? metadata_rows(problem.type.a, problem.k) : 0, columns,
          std::max<std::int64_t>(1, columns)};
    }
    case OperandRole::c:
    case OperandRole::d: break;
  }
  return {role, problem.type.output, problem.m, problem.d_cols(), problem.ldc, problem.entries(), problem.stride_c};
}

std::vector<OperandMatrix> operands(const Problem& problem) {
  std::vector<OperandMatrix> found{
      operand(problem, OperandRole::a), operand(problem, OperandRole::b), operand(problem, OperandRole::d)};
  if (is_fused(problem) && problem.beta == BetaClass::any) found.push_back(operand(problem, OperandRole::c));
  for (const OperandRole role : kOperandRoles) {
    if (is_vector(role) && in_use(problem, role, true, problem.beta == BetaClass::any))
      found.push_back(operand(problem, role));
  }
  return found;
}

std::vector<OperandMatrix> inputs(const Problem& problem) {
  std::vector<OperandMatrix> found = operands(problem);
  std::erase_if(found, [](const OperandMatrix& matrix) { return matrix.role == OperandRole::d; });
  return found;
}

std::int64_t entry_stride_for_kernels(const Problem& problem, OperandRole role) {
  return problem.batch_mode == BatchMode::pointers ? kByPointers : operand(problem, role).entry_stride;
}

bool in_use(const KernelSignature& signature, OperandRole role, bool multiplies, bool adds_c) {
  switch (role) {
    case OperandRole::a:
    case OperandRole::b: return multiplies;
    case OperandRole::c: return adds_c;
    case OperandRole::scale_m:
      return signature.epilogue.scale_m != Scaling::none && (multiplies || !is_by_block(signature.epilogue.scale_m));
    case OperandRole::scale_n:
      return signature.epilogue.scale_n != Scaling::none && (multiplies || !is_by_block(signature.epilogue.scale_n));
    case OperandRole::bias: return signature.epilogue.bias != Bias::none;
    case OperandRole::offsets: return signature.batch_mode == BatchMode::grouped;
    case OperandRole::alpha: return signature.scalars == Scalars::device;
    case OperandRole::beta: return signature.scalars == Scalars::device && adds_c;
    case OperandRole::metadata: return multiplies && signature.sparsity != Sparsity::dense;
    case OperandRole::weight_scales: return multiplies && has_weights(signature);
    case OperandRole::weight_zeros: return multiplies && signature.weights.zeros;
    case OperandRole::d: break;
  }
  return true;
}

}  // namespace tilesmith
