// Types as cuBLASLt names them.
#pragma once

#include "kernels/problem/type_pair.hpp"
#include "tuner/measure/cublaslt_calls.hpp"

namespace tilesmith::tuner::cublaslt {

inline int data_type(Scalar scalar) {
  switch (scalar) {
    case Scalar::f16: return kF16;
    case Scalar::bf16: return kBf16;
    case Scalar::tf32:
    case Scalar::f32:
    case Scalar::f32x3: return kF32;
    case Scalar::f64: return kF64;
    case Scalar::s8: return kS8;
    case Scalar::u8: return kU8;
    case Scalar::s32: return kS32;
    case Scalar::e4m3: return kE4m3;
    case Scalar::e5m2: return kE5m2;
    case Scalar::s4:
    case Scalar::u4:
    case Scalar::b1:
    case Scalar::b1xor:
      break;  // it has none
  }
  return -1;
}

struct Arithmetic {
  int compute;
  int scale;
};

inline Arithmetic arithmetic_of(const TypePair& type) {
  if (type.a == Scalar::tf32) return {kCompute32FFastTf32, kF32};
  switch (type.accumulator) {
    case Scalar::f16: return {kCompute16F, kF16};
    case Scalar::f64: return {kCompute64F, kF64};
    case Scalar::s32: return {kCompute32I, makes_integers_real(type) ? kF32 : kS32};
    default: return {kCompute32F, kF32};
  }
}

}  // namespace tilesmith::tuner::cublaslt
