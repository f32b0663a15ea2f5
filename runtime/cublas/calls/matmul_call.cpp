#include "runtime/cublas/calls/matmul_call.hpp"

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

Reason take_scales(const MatmulDescription& of, GemmCall& call) {
  if (!has_scales(call.type_a, call.type_d)) return Reason::none;
  if (of.scale_c != nullptr || of.scale_d != nullptr || of.amax_d != nullptr) return Reason::scales;
  call.scale_a = of.scale_a;
  call.scale_b = of.scale_b;
  if (call.scale_a == nullptr && call.scale_b == nullptr) return Reason::none;
  if (of.scale_mode_a != of.scale_mode_b || (of.scale_mode_a != kScaleOne && of.scale_mode_a != kScaleEach))
    return Reason::scales;
  call.scales_each = of.scale_mode_a == kScaleEach;
  return Reason::none;
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
