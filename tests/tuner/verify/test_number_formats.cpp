#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "tests/catch.hpp"
#include "tuner/verify/number_formats.hpp"

using namespace tilesmith;
using namespace tilesmith::tuner;

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

float from_bits(std::uint32_t bits) { return std::bit_cast<float>(bits); }

}  // namespace

TEST_CASE("every f16 survives the way to f32 and back") {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const float value = from_f16(std::uint16_t(bits));
    if (std::isnan(value)) {
      CHECK(std::isnan(from_f16(to_f16(value))));
    } else if (to_f16(value) != bits) {
      FAIL("f16 bits " << bits << " came back as " << to_f16(value));
    }
  }
}

TEST_CASE("f16 rounds to nearest, ties to even, and overflows to infinity") {
  CHECK(from_f16(to_f16(2049)) == 2048);  // between 2048 and 2050
  CHECK(from_f16(to_f16(2051)) == 2052);
  CHECK(from_f16(to_f16(2049.5f)) == 2050);
  CHECK(from_f16(to_f16(65519)) == 65504);
  CHECK(from_f16(to_f16(65520)) == kInfinity);
  CHECK(from_f16(to_f16(-1e30f)) == -kInfinity);
  CHECK(from_f16(to_f16(std::ldexp(1.0f, -24))) == std::ldexp(1.0f, -24));
  CHECK(from_f16(to_f16(std::ldexp(1.0f, -25))) == 0);  // a tie, to even
  CHECK(from_f16(to_f16(std::ldexp(1.5f, -25))) == std::ldexp(1.0f, -24));
}

TEST_CASE("bf16 rounds to nearest, ties to even, and keeps NaN") {
  CHECK(from_bf16(to_bf16(256)) == 256);
  CHECK(from_bf16(to_bf16(257)) == 256);
  CHECK(from_bf16(to_bf16(259)) == 260);
  CHECK(from_bf16(to_bf16(257.5f)) == 258);
  CHECK(std::isnan(from_bf16(to_bf16(from_bits(0x7f800001u)))));
}

TEST_CASE("every 8-bit float survives the way to double and back") {
  for (const Scalar element : {Scalar::e4m3, Scalar::e5m2}) {
    for (int bits = 0; bits < 256; ++bits) {
      const double value = from_fp8(element, std::uint8_t(bits));
      if (std::isnan(value)) {
        CHECK(std::isnan(from_fp8(element, to_fp8(element, value))));
      } else if (to_fp8(element, value) != bits) {
        FAIL(name(element) << " bits " << bits << " came back as " << int(to_fp8(element, value)));
      }
    }
  }
}

TEST_CASE("8-bit floats round to nearest, ties to even, down to their subnormals and up to their ends") {
  const auto e4m3 = [](double value) { return from_fp8(Scalar::e4m3, to_fp8(Scalar::e4m3, value)); };
  const auto e5m2 = [](double value) { return from_fp8(Scalar::e5m2, to_fp8(Scalar::e5m2, value)); };
  CHECK(e4m3(17) == 16);  // between 16 and 18
  CHECK(e4m3(19) == 20);
  CHECK(e4m3(-17.5) == -18);
  CHECK(e4m3(31.5) == 32);  // carries into the exponent
  CHECK(e4m3(std::ldexp(1, -9)) == std::ldexp(1, -9));
  CHECK(e4m3(std::ldexp(1, -10)) == 0);  // a tie
  CHECK(e4m3(std::ldexp(1.5, -10)) == std::ldexp(1, -9));
  CHECK(e4m3(463) == 448);
  CHECK(std::isnan(e4m3(465)));  // there is no infinity
  CHECK(e5m2(9) == 8);
  CHECK(e5m2(11) == 12);
  CHECK(e5m2(std::ldexp(1, -16)) == std::ldexp(1, -16));
  CHECK(e5m2(std::ldexp(1, -17)) == 0);
  CHECK(e5m2(61439) == 57344);
  CHECK(e5m2(-61440) == -kInfinity);
}

TEST_CASE("tf32 rounds to nearest with ties away from zero, not by truncation") {
  CHECK(round_to_tf32(2047) == 2047);
  CHECK(round_to_tf32(4 * 1024 + 1) == 4096);
  CHECK(round_to_tf32(4 * 1024 + 3) == 4100);  // truncation gives 4096
  CHECK(round_to_tf32(-(4 * 1024 + 3)) == -4100);
  CHECK(round_to_tf32(4 * 1024 + 2) == 4100);  // a tie
  CHECK(round_to_tf32(kInfinity) == kInfinity);
  CHECK(std::isnan(round_to_tf32(from_bits(0x7fffffffu))));
  CHECK(round_to_tf32(from_bits(0x3fffffffu)) == 2.0f);  // carries into the exponent
}

TEST_CASE("stored values come back, and operands of tf32 come back rounded") {
  std::byte stored[8];
  const std::pair<Scalar, double> cases[] = {{Scalar::f16, -120}, {Scalar::bf16, 120}, {Scalar::f32, 0.1f},
      {Scalar::f64, 0.1}, {Scalar::s8, -128}, {Scalar::u8, 255}, {Scalar::s32, -2147483648.0}, {Scalar::tf32, 4099}};
  for (const auto& [element, value] : cases) {
    encode(element, value, stored);
    INFO(name(element));
    CHECK(decode(element, stored) == value);
  }
  encode(Scalar::tf32, 4099, stored);
  CHECK(decode_operand(Scalar::tf32, stored) == 4100);
  double many[1];
  decode_operands(Scalar::tf32, stored, 1, many);
  CHECK(many[0] == 4100);
}

TEST_CASE("poison is NaN in every float format") {
  std::byte stored[8];
  for (Scalar element : {Scalar::f16, Scalar::bf16, Scalar::tf32, Scalar::f32, Scalar::f64}) {
    store_bits(element, poison_bits(element, 123), stored);
    INFO(name(element));
    CHECK(std::isnan(decode(element, stored)));
    CHECK(std::isnan(decode_operand(element, stored)));
    CHECK(load_bits(element, stored) == poison_bits(element, 123));
  }
}
