// Element formats in the source text of the verifier's device kernels: own conversions, no toolkit header.
#include <fmt/format.h>

#include "tuner/verify/reference_kernels.hpp"

namespace tilesmith::tuner {
namespace {

// What differs between the element formats: how operand and output are stored, and how their values are read.
constexpr const char* kFormats = R"device(
#define TILESMITH_VERIFY_FN __device__ inline

typedef unsigned long long u64;
typedef long long i64;
typedef unsigned int u32;

__device__ inline double f16_value(unsigned short bits) {
  float value;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
  return value;
}
__device__ inline unsigned short f16_bits(double value) {
  unsigned short bits;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"((float)value));
  return bits;
}
__device__ inline double bf16_value(unsigned short bits) { return __uint_as_float((u32)bits << 16); }
__device__ inline unsigned short bf16_bits(double value) {
  const u32 bits = __float_as_uint((float)value);
  return (unsigned short)((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}
// Bits of fraction, bias of the exponent, and from where on magnitudes are NaN. Nothing that is stored lies beyond the
// range.
template <int Fraction, int Bias, int FirstNaN>
__device__ inline double fp8_value(unsigned char s) {
  const int magnitude = s & 0x7f, exponent = magnitude >> Fraction, fraction = magnitude & ((1 << Fraction) - 1);
  double value = exponent == 0 ? ldexp((double)fraction, 1 - Bias - Fraction)
                               : ldexp((double)((1 << Fraction) + fraction), exponent - Bias - Fraction);
  if (magnitude >= FirstNaN) value = __longlong_as_double(0x7ff8000000000000ll);
  return (s & 0x80) != 0 ? -value : value;
}
template <int Fraction, int Bias>
__device__ inline unsigned char fp8_bits(double v) {
  const double magnitude = fabs(v);
  const int sign = v < 0 ? 0x80 : 0, hidden = 1 << Fraction;
  if (magnitude == 0) return (unsigned char)sign;
  int exponent = 0;
  frexp(magnitude, &exponent);
  exponent = max(exponent - 1, 1 - Bias);
  const int units = (int)rint(ldexp(magnitude, Fraction - exponent));
  return (unsigned char)(sign | (units < hidden ? units : ((exponent + Bias) << Fraction) + (units - hidden)));
}
)device";

/// What is stored of a format whose elements have addresses, and how its values are read and made of `s`, `v` and the
/// garbage `h`.
struct WholeFormat {
  const char *stored, *value, *made, *bits = "s", *poison, *bounded = "v";
};
constexpr const char* kWholeFormat = R"device(
struct {0} {{
  typedef {1} Stored;
  static __device__ double value(Stored s) {{ return {2}; }}
  static __device__ Stored stored(double v) {{ return {3}; }}
  static __device__ u64 bits(Stored s) {{ return {4}; }}
  static __device__ Stored poison(u64 h) {{ return {5}; }}
  static __device__ double bounded(double v) {{ return {6}; }}
  static __device__ Stored canary(u64 h) {{ return (Stored)h; }}
}};
)device";

// Elements of {1} bits, several to a byte, which is what is stored at a time.
constexpr const char* kSubByte = R"device(
struct {0} {{
  typedef unsigned char Stored;
  static constexpr int kOfByte = 8 / {1};
  static __device__ double element(const Stored* m, i64 at) {{
    const int bits = m[at / kOfByte] >> (int)(at % kOfByte) * {1} & ((1 << {1}) - 1);
    return {2};
  }}
  static __device__ Stored with(Stored byte, int at, double v) {{
    const int mask = ((1 << {1}) - 1) << at * {1};
    return (Stored)((byte & ~mask) | ((int)v << at * {1} & mask));
  }}
  static __device__ u64 bits(Stored s) {{ return s; }}
  static __device__ Stored poison(u64 h) {{ return (Stored)h; }}
  static __device__ u32 product(u32 x, u32 y) {{ return {3}; }}
  static __device__ double product(double x, double y) {{ return x * y; }}
}};
)device";

// Of a format whose elements have addresses: what sub-byte ones are read, written and multiplied by.
constexpr const char* kWholeElements = R"device(
struct Operand : {0} {{
  static constexpr int kOfByte = 1;
  static __device__ double element(const Stored* m, i64 at) {{ return value(m[at]); }}
  static __device__ Stored with(Stored, int, double v) {{ return stored(v); }}
  static __device__ u32 product(u32 x, u32 y) {{ return x * y; }}
  static __device__ double product(double x, double y) {{ return x * y; }}
}};
)device";

std::string whole_format(const char* as, const WholeFormat& format) {
  return fmt::format(fmt::runtime(kWholeFormat), as, format.stored, format.value, format.made, format.bits,
      format.poison, format.bounded);
}

/// f32 and tf32 are kept as 32 bits, so that no canary is changed by passing through a float register. Integer formats
/// have no NaN: garbage stands in.
std::string format_struct(Scalar scalar, const char* as) {
  switch (scalar) {
    case Scalar::f16: return whole_format(as, {"unsigned short", "f16_value(s)", "f16_bits(v)", "s", "0x7fffu"});
    case Scalar::bf16: return whole_format(as, {"unsigned short", "bf16_value(s)", "bf16_bits(v)", "s", "0x7fffu"});
    case Scalar::tf32:
      return whole_format(
          as, {"u32", "__uint_as_float(tf32_rounded_bits(s))", "__float_as_uint((float)v)", "s", "0x7fffffffu"});
    case Scalar::f32:
    case Scalar::f32x3:
      return whole_format(as, {"u32", "__uint_as_float(s)", "__float_as_uint((float)v)", "s", "0x7fffffffu"});
    case Scalar::f64:
      return whole_format(
          as, {"u64", "__longlong_as_double((i64)s)", "(u64)__double_as_longlong(v)", "s", "0x7fffffffffffffffull"});
    case Scalar::s8:
      return whole_format(as, {"signed char", "(double)s", "(Stored)(int)rint(v)", "(unsigned char)s", "(Stored)h",
                                  "v < -128.0 ? -128.0 : v > 127.0 ? 127.0 : v"});
    case Scalar::u8: return whole_format(as, {"unsigned char", "(double)s", "(Stored)(int)rint(v)", "s", "(Stored)h"});
    case Scalar::s32: return whole_format(as, {"int", "(double)s", "(Stored)(int)rint(v)", "(u32)s", "(Stored)h"});
    case Scalar::e4m3:
      return whole_format(as, {"unsigned char", "fp8_value<3, 7, 0x7f>(s)", "fp8_bits<3, 7>(v)", "s", "0x7fu",
                                  "v < -448.0 ? -448.0 : v > 448.0 ? 448.0 : v"});
    case Scalar::e5m2:
      return whole_format(as, {"unsigned char", "fp8_value<2, 15, 0x7d>(s)", "fp8_bits<2, 15>(v)", "s", "0x7fu"});
    case Scalar::s4: return fmt::format(fmt::runtime(kSubByte), as, 4, "bits > 7 ? bits - 16 : bits", "x * y");
    case Scalar::u4: return fmt::format(fmt::runtime(kSubByte), as, 4, "bits", "x * y");
    case Scalar::b1: return fmt::format(fmt::runtime(kSubByte), as, 1, "bits", "x & y");
    case Scalar::b1xor: return fmt::format(fmt::runtime(kSubByte), as, 1, "bits", "x ^ y");
  }
  return {};
}

}  // namespace

std::string verify::activations_text() {
  std::string text =
      "__device__ inline double activation_value(int activation, double x, double y) {\n  switch (activation) {\n";
  for (const ActivationRow& row : kActivations)
    text += fmt::format("    case {}: return {};\n", int(row.value), row.reference_text);
  return text + "  }\n  return x;\n}\n";
}

std::string reference_formats(const TypePair& type) {
  const bool whole = size_bits(type.a) >= 8;
  return kFormats + verify::activations_text() + verify::kSharedRulesText +
         format_struct(type.a, whole ? "OperandFormat" : "Operand") +
         (whole ? fmt::format(fmt::runtime(kWholeElements), "OperandFormat") : "") +
         format_struct(type.output, "Output");
}

}  // namespace tilesmith::tuner
