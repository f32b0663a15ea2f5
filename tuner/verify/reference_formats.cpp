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
)device";

constexpr const char* kF16 = R"device(
struct {0} {{
  typedef unsigned short Stored;
  static __device__ double value(Stored s) {{ return f16_value(s); }}
  static __device__ Stored stored(double v) {{ return f16_bits(v); }}
  static __device__ double bounded(double v) {{ return v; }}
  static __device__ u64 bits(Stored s) {{ return s; }}
  static __device__ Stored poison(u64) {{ return 0x7fffu; }}
  static __device__ Stored canary(u64 h) {{ return (Stored)h; }}
}};
)device";

constexpr const char* kBf16 = R"device(
struct {0} {{
  typedef unsigned short Stored;
  static __device__ double value(Stored s) {{ return bf16_value(s); }}
  static __device__ Stored stored(double v) {{ return bf16_bits(v); }}
  static __device__ double bounded(double v) {{ return v; }}
  static __device__ u64 bits(Stored s) {{ return s; }}
  static __device__ Stored poison(u64) {{ return 0x7fffu; }}
  static __device__ Stored canary(u64 h) {{ return (Stored)h; }}
}};
)device";

// f32 and tf32 are kept as 32 bits, so that no canary is changed by passing through a float register.
constexpr const char* kF32 = R"device(
struct {0} {{
  typedef u32 Stored;
  static __device__ double value(Stored s) {{ return __uint_as_float({1}(s)); }}
  static __device__ Stored stored(double v) {{ return __float_as_uint((float)v); }}
  static __device__ double bounded(double v) {{ return v; }}
  static __device__ u64 bits(Stored s) {{ return s; }}
  static __device__ Stored poison(u64) {{ return 0x7fffffffu; }}
  static __device__ Stored canary(u64 h) {{ return (Stored)h; }}
}};
)device";

constexpr const char* kF64 = R"device(
struct {0} {{
  typedef u64 Stored;
  static __device__ double value(Stored s) {{ return __longlong_as_double((i64)s); }}
  static __device__ Stored stored(double v) {{ return (u64)__double_as_longlong(v); }}
  static __device__ double bounded(double v) {{ return v; }}
  static __device__ u64 bits(Stored s) {{ return s; }}
  static __device__ Stored poison(u64) {{ return 0x7fffffffffffffffull; }}
  static __device__ Stored canary(u64 h) {{ return h; }}
}};
)device";

// {1} bits of fraction, an exponent of bias {2}, NaN from {3} on. Nothing that is stored lies beyond the range.
constexpr const char* kFp8 = R"device(
struct {0} {{
  typedef unsigned char Stored;
  static __device__ double value(Stored s) {{
    const int magnitude = s & 0x7f, exponent = magnitude >> {1}, fraction = magnitude & ((1 << {1}) - 1);
    double value = exponent == 0 ? ldexp((double)fraction, 1 - {2} - {1})
                                 : ldexp((double)((1 << {1}) + fraction), exponent - {2} - {1});
    if (magnitude >= {3}) value = __longlong_as_double(0x7ff8000000000000ll);
    return (s & 0x80) != 0 ? -value : value;
  }}
  static __device__ Stored stored(double v) {{
    const double magnitude = fabs(v);
    const int sign = v < 0 ? 0x80 : 0, hidden = 1 << {1};
    if (magnitude == 0) return (Stored)sign;
    int exponent = 0;
    frexp(magnitude, &exponent);
    exponent = max(exponent - 1, 1 - {2});
    const int units = (int)rint(ldexp(magnitude, {1} - exponent));
    return (Stored)(sign | (units < hidden ? units : ((exponent + {2}) << {1}) + (units - hidden)));
  }}
  static __device__ double bounded(double v) {{ return {4}; }}
  static __device__ u64 bits(Stored s) {{ return s; }}
  static __device__ Stored poison(u64) {{ return 0x7fu; }}
  static __device__ Stored canary(u64 h) {{ return (Stored)h; }}
}};
)device";

// Integer formats have no NaN: garbage stands in.
constexpr const char* kInteger = R"device(
struct {0} {{
  typedef {1} Stored;
  static __device__ double value(Stored s) {{ return (double)s; }}
  static __device__ Stored stored(double v) {{ return (Stored)(int)rint(v); }}
  static __device__ double bounded(double v) {{ return {3}; }}
  static __device__ u64 bits(Stored s) {{ return ({2})s; }}
  static __device__ Stored poison(u64 h) {{ return (Stored)({2})h; }}
  static __device__ Stored canary(u64 h) {{ return (Stored)({2})h; }}
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

std::string format_struct(Scalar scalar, const char* as) {
  switch (scalar) {
    case Scalar::f16:
      return fmt::format(fmt::runtime(kF16), as);
    case Scalar::bf16:
      return fmt::format(fmt::runtime(kBf16), as);
    case Scalar::tf32:
      return fmt::format(fmt::runtime(kF32), as, "tf32_rounded_bits");
    case Scalar::f32:
    case Scalar::f32x3:
      return fmt::format(fmt::runtime(kF32), as, "");
    case Scalar::f64:
      return fmt::format(fmt::runtime(kF64), as);
    case Scalar::s8:
      return fmt::format(fmt::runtime(kInteger), as, "signed char", "unsigned char", "v < -128.0 ? -128.0 : v > 127.0 ? 127.0 : v");
    case Scalar::u8:
      return fmt::format(fmt::runtime(kInteger), as, "unsigned char", "unsigned char", "v");
    case Scalar::s32:
      return fmt::format(fmt::runtime(kInteger), as, "int", "u32", "v");
    case Scalar::e4m3:
      return fmt::format(fmt::runtime(kFp8), as, 3, 7, 0x7f, "v < -448.0 ? -448.0 : v > 448.0 ? 448.0 : v");
    case Scalar::e5m2:
      return fmt::format(fmt::runtime(kFp8), as, 2, 15, 0x7d, "v");
    case Scalar::s4:
      return fmt::format(fmt::runtime(kSubByte), as, 4, "bits > 7 ? bits - 16 : bits", "x * y");
    case Scalar::u4:
      return fmt::format(fmt::runtime(kSubByte), as, 4, "bits", "x * y");
    case Scalar::b1:
      return fmt::format(fmt::runtime(kSubByte), as, 1, "bits", "x & y");
    case Scalar::b1xor:
      return fmt::format(fmt::runtime(kSubByte), as, 1, "bits", "x ^ y");
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
