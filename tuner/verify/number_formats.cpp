#include "tuner/verify/number_formats.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>

#include "tuner/verify/shared_rules.hpp"

namespace tilesmith::tuner {
namespace {

template <typename T>
T load(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

template <typename T>
void store(T value, std::byte* at) {
  std::memcpy(at, &value, sizeof value);
}

template <typename Read>
void decode_each(const std::byte* from, std::size_t count, std::size_t bytes, double* to, Read read) {
  for (std::size_t i = 0; i < count; ++i) to[i] = read(from + i * bytes);
}

struct Fp8 {
  int fraction_bits, bias;
  double largest;
  std::uint8_t beyond;  // what is larger
};
constexpr Fp8 kE4m3{3, 7, 448, 0x7f}, kE5m2{2, 15, 57344, 0x7c};

const Fp8& fp8_format(Scalar element) { return element == Scalar::e4m3 ? kE4m3 : kE5m2; }

std::array<double, 256> all_of_fp8(Scalar element) {
  std::array<double, 256> values;
  for (int bits = 0; bits < 256; ++bits) values[std::size_t(bits)] = from_fp8(element, std::uint8_t(bits));
  return values;
}

}  // namespace

std::uint16_t to_f16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const auto sign = std::uint16_t((bits >> 16) & 0x8000u);
  const std::uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return std::uint16_t(sign | 0x7fffu);
  if (magnitude >= 0x477ff000u) return std::uint16_t(sign | 0x7c00u);  // 65520 and up round to infinity
  if (magnitude < 0x38800000u) {                                       // below 2^-14: a subnormal, in units of 2^-24
    const float units = std::bit_cast<float>(magnitude) * 16777216.0f;
    return std::uint16_t(sign | std::uint16_t(std::nearbyint(units)));
  }
  const std::uint32_t rounded = magnitude + 0xfffu + ((magnitude >> 13) & 1u);
  return std::uint16_t(sign | std::uint16_t((rounded - 0x38000000u) >> 13));
}

float from_f16(std::uint16_t bits) {
  const std::uint32_t sign = std::uint32_t(bits & 0x8000u) << 16;
  const std::uint32_t exponent = (bits >> 10) & 0x1fu;
  const std::uint32_t fraction = bits & 0x3ffu;
  if (exponent == 0) {
    const float value = float(fraction) / 16777216.0f;
    return sign != 0 ? -value : value;
  }
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7f800000u | (fraction << 13));
  return std::bit_cast<float>(sign | ((exponent + 112u) << 23) | (fraction << 13));
}

std::uint16_t to_bf16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return 0x7fc0u;
  return std::uint16_t((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

float from_bf16(std::uint16_t bits) { return std::bit_cast<float>(std::uint32_t(bits) << 16); }

std::uint8_t to_fp8(Scalar element, double value) {
  const Fp8& format = fp8_format(element);
  const auto sign = std::uint8_t(std::signbit(value) ? 0x80 : 0);
  const double magnitude = std::abs(value);
  if (std::isnan(value)) return std::uint8_t(sign | 0x7f);
  if (magnitude == 0) return sign;
  if (std::isinf(value)) return std::uint8_t(sign | format.beyond);
  const int exponent = std::max(std::ilogb(magnitude), 1 - format.bias);
  const int units = int(std::nearbyint(std::ldexp(magnitude, format.fraction_bits - exponent)));
  if (std::ldexp(units, exponent - format.fraction_bits) > format.largest) return std::uint8_t(sign | format.beyond);
  const int hidden = 1 << format.fraction_bits;
  // A carry out of the fraction goes into the exponent by itself.
  const int bits = units < hidden ? units : ((exponent + format.bias) << format.fraction_bits) + (units - hidden);
  return std::uint8_t(sign | bits);
}

double from_fp8(Scalar element, std::uint8_t bits) {
  const Fp8& format = fp8_format(element);
  const int magnitude = bits & 0x7f, hidden = 1 << format.fraction_bits;
  const int exponent = magnitude / hidden, fraction = magnitude % hidden;
  double value = exponent == 0 ? std::ldexp(fraction, 1 - format.bias - format.fraction_bits)
                               : std::ldexp(hidden + fraction, exponent - format.bias - format.fraction_bits);
  if (element == Scalar::e4m3 && magnitude == 0x7f) value = std::nan("");
  if (element == Scalar::e5m2 && exponent == 31) value = fraction == 0 ? HUGE_VAL : std::nan("");
  return (bits & 0x80) != 0 ? -value : value;
}

float round_to_tf32(float value) {
  return std::bit_cast<float>(verify::tf32_rounded_bits(std::bit_cast<std::uint32_t>(value)));
}

double bounded(Scalar element, double value) {
  if (element == Scalar::s8) return std::clamp(value, -128.0, 127.0);
  if (element == Scalar::e4m3) return std::clamp(value, -kE4m3.largest, kE4m3.largest);
  return value;
}

void encode(Scalar element, double value, std::byte* at) {
  switch (element) {
    case Scalar::f16: return store(to_f16(float(value)), at);
    case Scalar::bf16: return store(to_bf16(float(value)), at);
    case Scalar::tf32:
    case Scalar::f32:
    case Scalar::f32x3: return store(float(value), at);
    case Scalar::f64: return store(value, at);
    case Scalar::s8: return store(std::int8_t(std::nearbyint(bounded(element, value))), at);
    case Scalar::u8: return store(std::uint8_t(value), at);
    case Scalar::s32: return store(std::int32_t(value), at);
    case Scalar::e4m3:
    case Scalar::e5m2: return store(to_fp8(element, value), at);
    case Scalar::s4:
    case Scalar::u4:
    case Scalar::b1:
    case Scalar::b1xor: return store(std::uint8_t(int(value) & ((1 << size_bits(element)) - 1)), at);
  }
}

double decode(Scalar element, const std::byte* at) {
  return decode_operand(element == Scalar::tf32 ? Scalar::f32 : element, at);
}

double decode_operand(Scalar element, const std::byte* at) {
  double value;
  decode_operands(element, at, 1, &value);
  return value;
}

void decode_operands(Scalar element, const std::byte* from, std::size_t count, double* to) {
  // The switch stands outside the loop: whole matrices pass through here.
  switch (element) {
    case Scalar::f16:
      return decode_each(from, count, 2, to, [](auto* at) { return from_f16(load<std::uint16_t>(at)); });
    case Scalar::bf16:
      return decode_each(from, count, 2, to, [](auto* at) { return from_bf16(load<std::uint16_t>(at)); });
    case Scalar::tf32: return decode_each(from, count, 4, to, [](auto* at) { return round_to_tf32(load<float>(at)); });
    case Scalar::f32:
    case Scalar::f32x3: return decode_each(from, count, 4, to, [](auto* at) { return load<float>(at); });
    case Scalar::f64: return decode_each(from, count, 8, to, [](auto* at) { return load<double>(at); });
    case Scalar::s8: return decode_each(from, count, 1, to, [](auto* at) { return load<std::int8_t>(at); });
    case Scalar::u8: return decode_each(from, count, 1, to, [](auto* at) { return load<std::uint8_t>(at); });
    case Scalar::s32: return decode_each(from, count, 4, to, [](auto* at) { return load<std::int32_t>(at); });
    case Scalar::e4m3:
    case Scalar::e5m2: {
      static const std::array<double, 256> e4m3 = all_of_fp8(Scalar::e4m3), e5m2 = all_of_fp8(Scalar::e5m2);
      const std::array<double, 256>& values = element == Scalar::e4m3 ? e4m3 : e5m2;
      return decode_each(from, count, 1, to, [&](auto* at) { return values[load<std::uint8_t>(at)]; });
    }
    case Scalar::s4:
    case Scalar::u4:
    case Scalar::b1:
    case Scalar::b1xor:
      for (std::size_t i = 0; i < count; ++i) to[i] = decode_operand_at(element, from, std::int64_t(i));
      return;
  }
}

void encode_at(Scalar element, double value, std::byte* first, std::int64_t at) {
  const auto bits = std::int64_t(size_bits(element));
  if (bits >= 8) return encode(element, value, first + at * bits / 8);
  std::byte& byte = first[at * bits / 8];
  const int shift = int(at * bits % 8);
  const auto mask = std::byte((1 << bits) - 1);
  byte = (byte & ~(mask << shift)) | ((std::byte(std::uint8_t(int(value))) & mask) << shift);
}

double decode_operand_at(Scalar element, const std::byte* first, std::int64_t at) {
  const auto bits = std::int64_t(size_bits(element));
  if (bits >= 8) return decode_operand(element, first + at * bits / 8);
  const int value = std::to_integer<int>(first[at * bits / 8]) >> (at * bits % 8) & ((1 << bits) - 1);
  return element == Scalar::s4 && value > 7 ? value - 16 : value;
}

double product(Scalar element, double a, double b) {
  if (element == Scalar::b1xor) return a != b ? 1 : 0;
  return a * b;
}

std::uint64_t poison_bits(Scalar element, std::uint64_t garbage) {
  const std::uint64_t all = ~std::uint64_t{0} >> (64 - 8 * size_bytes(element));
  return is_integer(element) ? garbage & all : all >> 1;
}

void store_bits(Scalar element, std::uint64_t bits, std::byte* at) { std::memcpy(at, &bits, size_bytes(element)); }

std::uint64_t load_bits(Scalar element, const std::byte* at) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, at, size_bytes(element));
  return bits;
}

}  // namespace tilesmith::tuner
