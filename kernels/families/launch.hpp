// How a config solves a problem: the launches of its plan, in order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kernels/problem/operand.hpp"
#include "kernels/shared/gemm_args.cuh"

namespace tilesmith {

struct Extent3 {
  unsigned x = 1, y = 1, z = 1;
  std::int64_t volume() const { return std::int64_t(x) * y * z; }
};

/// Where a launch finds an operand: the caller's pointer, or an offset into the workspace.
struct OperandSource {
  bool from_workspace = false;
  std::size_t offset_bytes = 0;
  std::int64_t row_stride = 0;  // elements
  std::int64_t entry_stride =
      0;  // elements from an entry of a batch to the next; 0: all are one matrix, or there is no batch; kByPointers
};

/// A matrix as the tensor memory accelerator (TMA, sm_90) sees it, and the boxes of it that one copy moves. A row of a
/// box has 32, 64 or 128 bytes and is swizzled in shared memory by as many. The matrix is the caller's, or what a
/// packing pass made of an operand. Operands of tf32 are rounded on their way, to nearest, ties to even. Of a batch the
/// map has a third coordinate, the matrix.
enum class PairedRows { none, split, interleaved };

struct TensorBox {
  std::int64_t matrix_rows = 0, matrix_cols = 0;
  int rows = 0, cols = 0;
  std::int64_t matrices = 0;  ///< of a batch (1 where all entries read one); 0: no batch, and two coordinates
  /// Rows of gated pairs, in the order of shared/finish/paired_columns.cuh: the map has the run, the half and the step
  /// for the row. `split`: y are the second half of rows; `interleaved`: the odd ones. Precondition: matrix_rows and
  /// `rows` are whole steps.
  PairedRows pairs = PairedRows::none;
  /// Codes of weights: rows are strips, columns their blocks, of kCodeBlockBytes each; nothing is swizzled. The map has
  /// the place within a block for a coordinate before the column.
  bool code_blocks = false;
};

/// The boxes of both operands, and of D if it is stored by boxes.
struct TensorBoxes {
  TensorBox a, b;
  std::optional<TensorBox> d = std::nullopt;
};

/// One kernel launch. `entry` is an extern "C" kernel of the config's module that takes one GemmArgs by value, or with
/// `boxes` one TensorGemmArgs.
struct Launch {
  std::string entry = "gemm";
  Extent3 grid;
  Extent3 block;
  Extent3 cluster;  ///< 1×1×1: launched without a cluster
  std::size_t dynamic_smem_bytes = 0;
  int resident_blocks_per_sm = 0;  ///< above 0, a persistent grid: grid.x is cut to this many blocks for each live SM
  bool overlaps_previous =
      false;  ///< may start while the launch before it ends, the first one while what the stream runs before it does, where
              ///< that pays (runtime/plan/captured_order.hpp); the kernel itself waits for that one's results
              ///< (griddepcontrol.wait, sm_90)
  unsigned neighbours =
      1;  ///< where it overlaps the one before, so many blocks in a row are placed beside each other, as a
          ///< cluster of which the kernel knows nothing; where there is none, the grid is not persistent,
          ///< and this divides grid.x
  std::int64_t k =
      0;  ///< what the kernel is told of K, where that is not the problem's (bytes of rows, kernels/problem/sub_byte.hpp); 0: the problem's
  OperandSource a, b, d;  ///< kernels that are not is_fused() read C from D's place
  std::optional<TensorBoxes> boxes;
};

/// The caller's operands, by the problem's strides.
inline void take_strides(Launch& launch, const Problem& problem) {
  const auto take = [&](OperandSource& source, std::int64_t row_stride, OperandRole role) {
    source.row_stride = row_stride;
    source.entry_stride = entry_stride_for_kernels(problem, role);
  };
  take(launch.a, problem.lda, OperandRole::a);
  take(launch.b, problem.ldb, OperandRole::b);
  take(launch.d, problem.ldc, OperandRole::c);
}

/// A slice of y and z for each entry of a batch (kernels/shared/work/batch.cuh): more than a grid has y go on in z, the
/// fewest such slices, and then as few of y.
inline void add_entries(Extent3& grid, std::int64_t entries) {
  constexpr std::int64_t kMostY = 65535;
  if (entries < 1) return;
  const std::int64_t z = (entries - 1) / kMostY + 1;
  grid.y = unsigned((entries - 1) / z + 1);
  grid.z = unsigned(z);
}

struct LaunchSequence {
  std::vector<Launch> launches;  ///< packing passes, the GEMM, a reduction
  std::size_t workspace_bytes = 0;
};

}  // namespace tilesmith
