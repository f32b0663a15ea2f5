// A call of cublasLtMatmul, by what its descriptors say, as a call of cuBLAS.
#pragma once

#include "runtime/cublas/calls/gemm_call.hpp"
#include "runtime/cublas/calls/reason.hpp"

namespace tilesmith::cublas {

/// What a cublasLtMatrixLayout_t says.
struct MatrixLayout {
  int type = 0, order = kOrderCol;
  std::int64_t rows = 0, cols = 0, ld = 0;
  int batch = 1, batch_mode = 0;
  std::int64_t stride = 0;  // elements; 0 where the batch is one

  bool operator==(const MatrixLayout&) const = default;
};

/// What a cublasLtMatmulDesc_t says. What was not asked for, or is not there, has cuBLASLt's default.
struct MatmulDescription {
  int compute = kCompute32F, scale_type = kF32, pointer_mode = kPointersToHost, op_a = kOpN, op_b = kOpN,
      epilogue = kEpilogueNone;
  int sm_count_target = 0;
  const void* bias = nullptr;
  int bias_type = -1;
  std::int64_t bias_batch_stride = 0;
  // Of 8-bit types alone: see has_scales().
  const void *scale_a = nullptr, *scale_b = nullptr, *scale_c = nullptr, *scale_d = nullptr, *amax_d = nullptr;
  int scale_mode_a = kScaleOne, scale_mode_b = kScaleOne;
  std::int8_t fast_accum = 0;
};

/// Whether a product of these types has scales.
bool has_scales(int type_a, int type_d) noexcept;

/// Reason::none, and types, sizes and epilogue of the call; else why it is no problem of ours. Precondition: the call's
/// beta is set.
Reason take_matmul(const MatmulDescription& of, const MatrixLayout& a, const MatrixLayout& b, const MatrixLayout& c,
    const MatrixLayout& d, GemmCall& call) noexcept;

}  // namespace tilesmith::cublas
