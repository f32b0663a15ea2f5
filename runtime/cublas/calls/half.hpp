// Narrow floats on the host.
#pragma once

#include <cstdint>
#include <cstring>

namespace tilesmith::cublas {

inline float float_of_bits(std::uint32_t bits) noexcept {
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

/// A float of 1 + `exponent_bits` + `fraction_bits` bits as IEEE 754 has them: the largest exponent is infinity or NaN.
inline float from_narrow(std::uint32_t bits, int exponent_bits, int fraction_bits) noexcept {
  const std::uint32_t sign = (bits >> (exponent_bits + fraction_bits)) << 31;
  const std::uint32_t most = (1u << exponent_bits) - 1;
  const std::uint32_t exponent = (bits >> fraction_bits) & most;
  const std::uint32_t fraction = bits & ((1u << fraction_bits) - 1);
  const std::uint32_t bias = most >> 1;
  if (exponent == most) return float_of_bits(sign | 0x7F800000u | (fraction << (23 - fraction_bits)));
  if (exponent != 0) return float_of_bits(sign | ((exponent + 127 - bias) << 23) | (fraction << (23 - fraction_bits)));
  const float unit = float_of_bits((127 - bias - std::uint32_t(fraction_bits) + 1) << 23);  // the smallest subnormal
  const float value = float(fraction) * unit;
  return sign != 0 ? -value : value;
}

inline float from_f16_at(const void* place) noexcept {
  std::uint16_t bits;
  std::memcpy(&bits, place, sizeof bits);
  return from_narrow(bits, 5, 10);
}

}  // namespace tilesmith::cublas
