#include "kernels/operand.hpp"

namespace tilesmith {

std::int64_t OperandMatrix::bytes() const { return rows == 0 || cols == 0 ? 0 : storage_bytes(element, (rows - 1) * row_stride + cols); }

OperandMatrix operand(const Problem& problem, OperandRole role) {
  switch (role) {
    case OperandRole::a:
      return {role, problem.type.a, problem.a_rows(), problem.a_cols(), problem.lda};
    case OperandRole::b:
      return {role, problem.type.b, problem.b_rows(), problem.b_cols(), problem.ldb};
    case OperandRole::c:
    case OperandRole::d:
      break;
  }
  return {role, problem.type.output, problem.m, problem.n, problem.ldc};
}

std::vector<OperandMatrix> operands(const Problem& problem) {
  return {operand(problem, OperandRole::a), operand(problem, OperandRole::b), operand(problem, OperandRole::d)};
}

std::vector<OperandMatrix> inputs(const Problem& problem) {
  std::vector<OperandMatrix> found = operands(problem);
  std::erase_if(found, [](const OperandMatrix& matrix) { return matrix.role == OperandRole::d; });
  return found;
}

bool in_use(OperandRole role, bool multiplies, bool adds_c) {
  switch (role) {
    case OperandRole::a:
    case OperandRole::b:
      return multiplies;
    case OperandRole::c:
      return adds_c;
    case OperandRole::d:
      break;
  }
  return true;
}

}  // namespace tilesmith
