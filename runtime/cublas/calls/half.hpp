// Narrow floats on the host.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

namespace tilesmith::cublas {

inline float from_f16(std::uint32_t bits) noexcept {
  const int exponent = int(bits >> 10 & 31), fraction = int(bits & 1023);
  const float magnitude = exponent == 31  ? (fraction == 0 ? INFINITY : NAN)
                          : exponent == 0 ? std::ldexp(float(fraction), -24)
                                          : std::ldexp(float(1024 + fraction), exponent - 25);
  return (bits & 0x8000) != 0 ? -magnitude : magnitude;
}

inline float from_f16_at(const void* place) noexcept {
  std::uint16_t bits;
  std::memcpy(&bits, place, sizeof bits);
  return from_f16(bits);
}

}  // namespace tilesmith::cublas
