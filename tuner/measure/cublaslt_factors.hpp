// α and β as cuBLASLt is given them.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <span>

#include "runtime/driver/device.hpp"
#include "tuner/measure/cublaslt_calls.hpp"
#include "tuner/measure/operand_sets.hpp"

namespace tilesmith::tuner::cublaslt {

/// In the peer's scale type, the values that our own competitors have (timed_scalar); in device memory where the
/// problem has them there.
class Factors {
 public:
  explicit Factors(const Problem& problem)
      : host_{bits(problem, OperandRole::alpha), bits(problem, OperandRole::beta)} {
    if (problem.scalars != Scalars::device) return;
    device_ = runtime::DeviceBuffer(sizeof host_);
    device_.upload(std::as_bytes(std::span(host_)));
  }

  bool are_on_device() const { return device_.size() != 0; }
  /// C need not be there.
  bool is_beta_known_zero() const { return host_[1] == 0 && !are_on_device(); }
  const void* alpha() const { return at(0); }
  const void* beta() const { return at(1); }

 private:
  const void* at(std::size_t which) const {
    if (are_on_device()) return device_.data() + which * sizeof host_[0];
    return &host_[which];
  }

  /// 0, ½ or 1 in the low bytes of a word.
  static std::uint64_t bits(const Problem& problem, OperandRole role) {
    const double value = timed_scalar(problem, role);
    std::uint64_t word = 0;
    const auto put = [&word](auto as) { std::memcpy(&word, &as, sizeof as); };
    switch (arithmetic_of(problem.type).scale) {
      case kF16: put(std::uint16_t(value == 0 ? 0 : value == 0.5 ? 0x3800 : 0x3C00)); break;
      case kF64: put(value); break;
      case kS32: put(std::int32_t(value == 0 ? 0 : 1)); break;
      default: put(float(value)); break;
    }
    return word;
  }

  std::array<std::uint64_t, 2> host_;
  runtime::DeviceBuffer device_;
};

}  // namespace tilesmith::tuner::cublaslt
