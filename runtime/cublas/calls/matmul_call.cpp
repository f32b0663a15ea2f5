#include "runtime/cublas/calls/matmul_call.hpp"

#include <initializer_list>

#include "runtime/cublas/calls/gemm_call.hpp"

namespace tilesmith::cublas {
namespace {

int flipped(int op) { return op == kOpN ? kOpT : kOpN; }

Reason take_matrices(
    const MatrixLayout& a, const MatrixLayout& b, const MatrixLayout& c, const MatrixLayout& d, GemmCall& call) {
  if (d.order != kOrderCol || a.batch_mode != 0 || b.batch_mode != 0 || d.batch_mode != 0) return Reason::layout;
  for (const MatrixLayout* layout : {&a, &b}) {
    if (layout->order != kOrderCol && layout->order != kOrderRow) return Reason::layout;
  }
  // A row-major matrix is, column-major, the transposed one.
  const bool ta = call.op_a != kOpN, tb = call.op_b != kOpN;
  call.k = ta ? a.rows : a.cols;
  if ((ta ? a.cols : a.rows) != d.rows || (tb ? b.rows : b.cols) != d.cols || (tb ? b.cols : b.rows) != call.k)
    return Reason::bad_arguments;
  if (a.order == kOrderRow) call.op_a = flipped(call.op_a);
  if (b.order == kOrderRow) call.op_b = flipped(call.op_b);
  call.m = d.rows;
  call.n = d.cols;
  call.type_a = a.type;
  call.lda = a.ld;
  call.type_b = b.type;
  call.ldb = b.ld;
  call.type_d = d.type;
  call.ldd = d.ld;
  if (a.batch != d.batch || b.batch != d.batch) return Reason::layout;
  if (d.batch != 1) {
    call.batch_kind = BatchKind::strided;
    call.batch = d.batch;
    call.stride_a = a.stride;
    call.stride_b = b.stride;
    call.stride_d = d.stride;
  }
  return c == d || has_zero_beta(call) ? Reason::none : Reason::layout;  // of C that is not read no layout matters
}

/// cuBLASLt's layouts (its manual, "128-element 1D and 128x128 2D Block Scaling"), for A of M x K, and so for B:
///   1x128     [K/128][M], packed, as TILESMITH_SCALE_EACH_BY_BLOCK
///   128x128   [M/128][K/128], rows padded to a multiple of 4 scales; TILESMITH_SCALE_BLOCK is packed
/// It says nothing of batches, nor of operands whose rows along K are not contiguous.
Reason take_block_scales(const MatmulDescription& of, const GemmCall& call) {
  const bool has_blocks = of.scale_mode_a == kScale128x128 || of.scale_mode_b == kScale128x128;
  const auto addresses = reinterpret_cast<std::uintptr_t>(of.scale_a) | reinterpret_cast<std::uintptr_t>(of.scale_b);
  // What it refuses: blocks of 128x128 on both sides, sizes and addresses of its kernels' vectors.
  if (of.scale_mode_a == of.scale_mode_b && has_blocks) return Reason::bad_arguments;
  if (call.m % 4 != 0 || call.n % 4 != 0 || addresses % 16 != 0) return Reason::bad_arguments;
  const bool is_k_major = of.op_a != kOpN && of.op_b == kOpN && call.op_a == of.op_a && call.op_b == of.op_b;
  if (!is_k_major || call.batch != 1) return Reason::scale_layout;
  const std::int64_t blocks_of_k = call.k / 128 + (call.k % 128 != 0 ? 1 : 0);
  return has_blocks && blocks_of_k % 4 != 0 ? Reason::padded_scales : Reason::none;
}

Reason take_scales(const MatmulDescription& of, GemmCall& call) {
  if (!has_scales(call.type_a, call.type_d)) return Reason::none;
  if (of.scale_c != nullptr || of.scale_d != nullptr || of.amax_d != nullptr) return Reason::scales;
  call.scale_a = of.scale_a;
  call.scale_b = of.scale_b;
  if (call.scale_a == nullptr && call.scale_b == nullptr) return Reason::none;
  call.scale_mode_a = of.scale_mode_a;
  call.scale_mode_b = of.scale_mode_b;
  if (is_by_block(of.scale_mode_a) && is_by_block(of.scale_mode_b)) return take_block_scales(of, call);
  const bool is_known = of.scale_mode_a == kScaleOne || of.scale_mode_a == kScaleEach;
  return is_known && of.scale_mode_a == of.scale_mode_b ? Reason::none : Reason::scales;
}

}  // namespace

bool has_scales(int type_a, int type_d) noexcept { return bytes_of(type_a) <= 1 || bytes_of(type_d) <= 1; }

Reason take_matmul(const MatmulDescription& of, const MatrixLayout& a, const MatrixLayout& b, const MatrixLayout& c,
    const MatrixLayout& d, GemmCall& call) noexcept {
  if (of.pointer_mode != kPointersToHost && of.pointer_mode != kPointersToDevice)
    return Reason::scales;  // a vector of alphas
  if (of.sm_count_target != 0) return Reason::sm_target;
  call.compute = of.compute;
  call.scale_type = of.scale_type;
  call.device_scalars = of.pointer_mode == kPointersToDevice;
  call.op_a = of.op_a;
  call.op_b = of.op_b;
  call.epilogue = of.epilogue;
  if ((call.epilogue & kEpilogueBias) != 0) {
    call.bias = of.bias;
    call.bias_type = of.bias_type;
    if (d.batch != 1 && of.bias_batch_stride != 0) return Reason::epilogue;
  }
  if (const Reason reason = take_matrices(a, b, c, d, call); reason != Reason::none) return reason;
  if (const Reason reason = take_scales(of, call); reason != Reason::none) return reason;
  call.fast_accum = (call.type_a == kE4m3 || call.type_a == kE5m2) && of.fast_accum != 0;
  return Reason::none;
}

}  // namespace tilesmith::cublas
