// The matrices of a problem, by role. Who allocates, fills, passes or checks operands goes through these lists; what A
// and B mean for the product itself (its reference, a kernel's first argument, tensor maps) names them.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <vector>

#include "kernels/problem/problem.hpp"

namespace tilesmith {

/// C is read where β ≠ 0, D is written. Both have one shape and row stride, and may be one matrix. Scales, bias,
/// offsets, α and β are one row. Scales of blocks of K are packed matrices, one for each matrix of A or B: with a scale
/// for each row of A (column of B) [blocks of K][rows], with one for 128 rows [blocks of rows][blocks of K]. If B holds
/// weights, its rows are rows of blocks (kernels/problem/weights.hpp), and each row of its scales and zeros is a group.
enum class OperandRole {
  a,
  b,
  c,
  d,
  scale_m,
  scale_n,
  bias,
  offsets,
  alpha,
  beta,
  metadata,
  weight_scales,
  weight_zeros
};
inline constexpr OperandRole kOperandRoles[] = {OperandRole::a, OperandRole::b, OperandRole::c, OperandRole::d,
    OperandRole::scale_m, OperandRole::scale_n, OperandRole::bias, OperandRole::offsets, OperandRole::alpha,
    OperandRole::beta, OperandRole::metadata, OperandRole::weight_scales, OperandRole::weight_zeros};

/// What the epilogue reads besides C, the ends of a grouped problem's groups (s32), and α and β in device memory (of
/// the scale type). And what an operand is read by: metadata of a sparse one, scales and zeros of weights.
inline bool is_vector(OperandRole role) { return role >= OperandRole::scale_m; }
/// What metadata are aligned to, bytes.
inline constexpr int kMetadataAlignBytes = 16;
/// What a matrix's address is a multiple of, bytes. Of a vector along D's rows or columns an element; of all others
/// what the problem says, too.
inline std::size_t address_align_bytes(OperandRole role, Scalar element, int align_bytes) {
  if (role == OperandRole::metadata) return kMetadataAlignBytes;
  return is_vector(role) && role < OperandRole::metadata ? size_bytes(element)
                                                         : std::max(std::size_t(align_bytes), size_bytes(element));
}
inline constexpr std::size_t kOperandRoleCount = std::size(kOperandRoles);

/// One value for each role.
template <typename T>
struct ByRole {
  std::array<T, kOperandRoleCount> values{};
  T& operator[](OperandRole role) { return values[std::size_t(role)]; }
  const T& operator[](OperandRole role) const { return values[std::size_t(role)]; }
};

struct OperandMatrix {
  OperandRole role;
  Scalar element;
  std::int64_t rows = 0, cols = 0;  // as stored
  std::int64_t row_stride = 0;      // elements
  std::int64_t entries = 1;         // of a batch
  std::int64_t entry_stride = 0;    // elements from one to the next; 0: all are one matrix

  /// Matrices that are there: 1 where all entries read one.
  std::int64_t matrices() const { return entry_stride == 0 ? std::min<std::int64_t>(entries, 1) : entries; }
  /// Elements from the first to the last of one entry.
  std::int64_t span() const { return rows == 0 || cols == 0 ? 0 : (rows - 1) * row_stride + cols; }
  /// Whether two entries have an element in common. They have none where they lie one behind the other, or side by side
  /// within rows.
  bool overlaps() const;
  /// From the first to the last element, of the last entry.
  std::int64_t bytes() const;
  /// Bytes of the elements alone. An element that several entries share counts once: a run has to move at least these.
  double element_bytes() const;
};

/// The matrix of this role.
OperandMatrix operand(const Problem& problem, OperandRole role);

/// What one run needs memory for: A, B, D, C where it may be another matrix and be read, and what the epilogue reads.
std::vector<OperandMatrix> operands(const Problem& problem);

/// Those of them that a run only reads: all but D.
std::vector<OperandMatrix> inputs(const Problem& problem);

/// In a stride's place where kernels find entries by an array of pointers (batch.cuh).
inline constexpr std::int64_t kByPointers = -1;
/// What kernels are told of where entries of A, B, C or D lie that the caller has.
std::int64_t entry_stride_for_kernels(const Problem& problem, OperandRole role);

/// Whether a run reads or writes the matrix. `multiplies`: α ≠ 0 and K > 0. `adds_c`: β ≠ 0, or not known to be 0.
bool in_use(const KernelSignature& signature, OperandRole role, bool multiplies, bool adds_c);

}  // namespace tilesmith
