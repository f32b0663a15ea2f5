#include "runtime/cublas/serve/compare.hpp"

#include <bit>
#include <cmath>
#include <cstring>

#include "runtime/cublas/calls/gemm_call.hpp"

namespace tilesmith::cublas {
namespace {

template <typename Value>
Value read_value(const unsigned char* place) {
  Value value;
  std::memcpy(&value, place, sizeof value);
  return value;
}

double value_of(int type, const unsigned char* place) {
  switch (type) {
    case kF64: return read_value<double>(place);
    case kF32: return read_value<float>(place);
    case kF16: return from_f16_at(place);
    case kBf16: return std::bit_cast<float>(std::uint32_t{read_value<std::uint16_t>(place)} << 16);
    case kS8: return read_value<std::int8_t>(place);
    case kS32: return read_value<std::int32_t>(place);
    default: return NAN;
  }
}

/// The distance of 1 and the next larger value.
double unit_of(int type) {
  switch (type) {
    case kF64: return 0x1p-52;
    case kF32: return 0x1p-23;
    case kF16: return 0x1p-10;
    case kBf16: return 0x1p-7;
    default: return 0;
  }
}

/// Of the root mean square.
double lost_in_sums(const GemmCall& call, const ProblemKey& key) {
  const double root = std::sqrt(double(call.k));
  if (call.type_a == kS8) return 0;
  if (call.type_a == kF64) return root * 0x1p-50;
  if (call.compute == kCompute16F) return root * 0x1p-9;
  double lost = root * 0x1p-21;
  if (std::strcmp(key.problem.type, "tf32f32") == 0) lost += 0x1p-8;
  if (call.type_a == kE4m3) lost += 0x1p-10;
  return lost;
}

double root_mean_square(const GemmCall& call, const std::vector<unsigned char>& values) {
  const int bytes = bytes_of(call.type_d);
  double sum = 0, count = 0;
  for (std::int64_t entry = 0; entry < call.batch; ++entry) {
    for (std::int64_t column = 0; column < call.n; ++column) {
      const unsigned char* place = values.data() + (entry * call.stride_d + column * call.ldd) * bytes;
      for (std::int64_t row = 0; row < call.m; ++row, place += bytes) {
        const double value = value_of(call.type_d, place);
        if (!std::isfinite(value)) continue;
        sum += value * value;
        ++count;
      }
    }
  }
  return count > 0 ? std::sqrt(sum / count) : 0;
}

bool agree(double ours, double theirs, double tolerance) {
  if (std::isnan(ours) || std::isnan(theirs)) return std::isnan(ours) && std::isnan(theirs);
  if (std::isinf(ours) || std::isinf(theirs)) return ours == theirs;
  return std::fabs(ours - theirs) <= tolerance;
}

}  // namespace

Comparison compare(const GemmCall& call, const ProblemKey& key, const std::vector<unsigned char>& ours,
    const std::vector<unsigned char>& theirs) {
  const int bytes = bytes_of(call.type_d);
  const double unit = unit_of(call.type_d);
  const double of_all = call.type_d == kS8 ? 1 : (lost_in_sums(call, key) + 4 * unit) * root_mean_square(call, theirs);
  const bool exact = call.type_d == kS32;
  Comparison result;
  for (std::int64_t entry = 0; entry < call.batch; ++entry) {
    for (std::int64_t column = 0; column < call.n; ++column) {
      const std::int64_t begin = (entry * call.stride_d + column * call.ldd) * bytes;
      for (std::int64_t row = 0; row < call.m; ++row) {
        const double mine = value_of(call.type_d, ours.data() + begin + row * bytes);
        const double other = value_of(call.type_d, theirs.data() + begin + row * bytes);
        const double tolerance = exact ? 0 : of_all + 2 * unit * std::fabs(other);
        if (agree(mine, other, tolerance)) continue;
        if (result.differing++ == 0) result = {1, entry, row, column, mine, other, tolerance};
      }
    }
  }
  return result;
}

}  // namespace tilesmith::cublas
