// Results of s8: real numbers rounded to nearest, ties to even; what lies beyond becomes the nearest end, NaN 0.
#pragma once

namespace tilesmith {

struct RoundedS8 {
  signed char bits;

  RoundedS8() = default;
  __device__ __forceinline__ explicit RoundedS8(float value) {
    int rounded;
    asm("cvt.rni.sat.s8.f32 %0, %1;" : "=r"(rounded) : "f"(value));
    bits = static_cast<signed char>(rounded);
  }
  __device__ __forceinline__ explicit RoundedS8(int value) : bits(static_cast<signed char>(value)) {}
  __device__ __forceinline__ explicit operator float() const { return float(bits); }
};

}  // namespace tilesmith
