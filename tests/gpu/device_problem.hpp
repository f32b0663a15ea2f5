// Operands of a problem on the device, filled with small integers, and a plain loop on the host as reference: every
// partial sum is exact in every type, so a right result has no error at all (in bf16 while no result exceeds 256; a
// byte is what the verifier's formats round to, in the nearest end's place beyond what it holds).
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <span>
#include <stdexcept>
#include <vector>

#include "kernels/problem/problem.hpp"
#include "runtime/driver/device.hpp"
#include "tuner/verify/number_formats.hpp"

namespace tilesmith::test {

inline void store_integer(Scalar type, std::byte* at, int value) {
  const auto put = [&](auto bits) { std::memcpy(at, &bits, sizeof bits); };
  switch (type) {
    case Scalar::f16: {  // |value| < 2048
      int exponent = 0;
      const double mantissa = std::frexp(std::abs(double(value)), &exponent);
      const int bits = value == 0 ? 0 : ((exponent + 14) << 10) | (int(mantissa * 2048) & 0x3FF);
      put(std::uint16_t(bits | (value < 0 ? 0x8000 : 0)));
      break;
    }
    case Scalar::bf16: {
      const float real = float(value);
      std::uint32_t bits;
      std::memcpy(&bits, &real, sizeof bits);
      put(std::uint16_t(bits >> 16));
      break;
    }
    case Scalar::tf32:
    case Scalar::f32:
    case Scalar::f32x3: put(float(value)); break;
    case Scalar::f64: put(double(value)); break;
    case Scalar::s8: put(std::int8_t(value)); break;
    case Scalar::u8: put(std::uint8_t(value)); break;
    case Scalar::s32: put(std::int32_t(value)); break;
    case Scalar::e4m3:
    case Scalar::e5m2: {  // |value| <= 8
      const bool narrow = type == Scalar::e5m2;
      const int fraction_bits = narrow ? 2 : 3, bias = narrow ? 15 : 7;
      int exponent = 0;
      const double mantissa = std::frexp(std::abs(double(value)), &exponent);
      const int hidden = 1 << fraction_bits;
      const int bits =
          value == 0 ? 0 : ((exponent - 1 + bias) << fraction_bits) | (int(mantissa * 2 * hidden) & (hidden - 1));
      put(std::uint8_t(bits | (value < 0 ? 0x80 : 0)));
      break;
    }
    case Scalar::s4:
    case Scalar::u4:
    case Scalar::b1:
    case Scalar::b1xor: throw std::invalid_argument("an element below a byte has no address of its own");
  }
}

inline double load_output(Scalar type, const std::byte* at) {
  const auto get = [&](auto value) {
    std::memcpy(&value, at, sizeof value);
    return value;
  };
  switch (type) {
    case Scalar::f16: {
      const int bits = get(std::uint16_t{});
      const int exponent = (bits >> 10) & 0x1F, fraction = bits & 0x3FF;
      const double sign = (bits & 0x8000) != 0 ? -1 : 1;
      if (exponent == 31) return fraction != 0 ? NAN : sign * INFINITY;
      return sign * (exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(fraction | 0x400, exponent - 25));
    }
    case Scalar::bf16: {
      const std::uint32_t bits = std::uint32_t(get(std::uint16_t{})) << 16;
      float real;
      std::memcpy(&real, &bits, sizeof real);
      return real;
    }
    case Scalar::f64: return get(double{});
    case Scalar::s32: return get(std::int32_t{});
    case Scalar::s8:
    case Scalar::e4m3: return tuner::decode(type, at);
    default: return get(float{});
  }
}

class DeviceProblem {
 public:
  explicit DeviceProblem(const Problem& problem)
      : problem_(problem),
        host_a_(integers(problem.a_rows() * problem.lda, 1)),
        host_b_(integers(problem.b_rows() * problem.ldb, 2)),
        host_c_(integers(problem.m * problem.ldc, 3)),
        a_(upload(host_a_, problem.type.a)),
        b_(upload(host_b_, problem.type.b)),
        c_(upload(host_c_, problem.type.output)) {}

  const void* a() const { return a_.data(); }
  const void* b() const { return b_.data(); }
  void* c() { return c_.data(); }

  /// Every byte 0xFF: NaN, or −1 in an integer.
  void poison_c() { c_.fill(0xFF); }
  void reset_c() { c_ = upload(host_c_, problem_.type.output); }

  /// The largest |C − (alpha·op(A)·op(B) + beta·C0 + bias)|, where C0 is what reset_c() puts there; NaN if any is.
  /// `bias(i, j)`: of row i and column j; empty: 0.
  double max_error(
      double alpha, double beta, const std::function<double(std::int64_t, std::int64_t)>& bias = {}) const {
    std::vector<std::byte> raw(c_.size());
    c_.download(raw);
    const std::size_t bytes = size_bytes(problem_.type.output);
    double worst = 0;
    for (std::int64_t i = 0; i < problem_.m; ++i) {
      for (std::int64_t j = 0; j < problem_.n; ++j) {
        double sum = 0;
        for (std::int64_t l = 0; l < problem_.k; ++l) sum += a_at(i, l) * b_at(l, j);
        const auto at = std::size_t(i * problem_.ldc + j);
        const double exact = alpha * sum + (beta == 0 ? 0 : beta * host_c_[at]) + (bias ? bias(i, j) : 0);
        const double expected = bytes == 1 ? stored_byte(exact) : exact;
        const double error = std::abs(load_output(problem_.type.output, raw.data() + at * bytes) - expected);
        if (!(error <= worst)) worst = error;
        if (std::isnan(worst)) return worst;
      }
    }
    return worst;
  }

 private:
  double stored_byte(double value) const {
    std::byte stored;
    tuner::encode(problem_.type.output, tuner::bounded(problem_.type.output, value), &stored);
    return tuner::decode(problem_.type.output, &stored);
  }
  double a_at(std::int64_t i, std::int64_t l) const {
    return host_a_[std::size_t(problem_.trans.a ? l * problem_.lda + i : i * problem_.lda + l)];
  }
  double b_at(std::int64_t l, std::int64_t j) const {
    return host_b_[std::size_t(problem_.trans.b ? j * problem_.ldb + l : l * problem_.ldb + j)];
  }

  /// 0, 1 or 2: in every type, unsigned too.
  static std::vector<int> integers(std::int64_t count, std::uint32_t seed) {
    std::vector<int> values(static_cast<std::size_t>(count));
    std::uint32_t state = seed * 2654435761u;
    for (int& value : values) {
      state = state * 1664525u + 1013904223u;
      value = int((state >> 16) % 3);
    }
    return values;
  }
  static runtime::DeviceBuffer upload(const std::vector<int>& values, Scalar type) {
    const std::size_t bytes = size_bytes(type);
    std::vector<std::byte> raw(values.size() * bytes);
    for (std::size_t i = 0; i < values.size(); ++i) store_integer(type, raw.data() + i * bytes, values[i]);
    runtime::DeviceBuffer buffer(raw.empty() ? 16 : raw.size());
    if (!raw.empty()) buffer.upload(raw);
    return buffer;
  }

  Problem problem_;
  std::vector<int> host_a_, host_b_, host_c_;
  runtime::DeviceBuffer a_, b_, c_;
};

}  // namespace tilesmith::test
