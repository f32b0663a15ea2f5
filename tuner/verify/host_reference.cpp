#include "tuner/verify/host_reference.hpp"

namespace tilesmith::tuner {

std::vector<double> multiply(const OpMatrix& a, const OpMatrix& b, Scalar element) {
  std::vector<double> c(std::size_t(a.rows * b.cols), 0.0);
  for (std::int64_t i = 0; i < a.rows; ++i) {
    double* row = c.data() + i * b.cols;
    for (std::int64_t k = 0; k < a.cols; ++k) {
      const double factor = a.at(i, k);
      const double* other = b.values.data() + k * b.cols;
      if (element == Scalar::b1xor) {
        for (std::int64_t j = 0; j < b.cols; ++j) row[j] += product(element, factor, other[j]);
        continue;
      }
      for (std::int64_t j = 0; j < b.cols; ++j) row[j] += factor * other[j];
    }
  }
  return c;
}

std::int32_t wrapped_s32(double value) { return std::int32_t(std::uint32_t(std::int64_t(value))); }

double scaled(const TypePair& type, const Scales& scales, double acc, double c) {
  if (type.output == Scalar::s32) {
    const auto alpha = std::uint32_t(std::int32_t(scales.alpha)), beta = std::uint32_t(std::int32_t(scales.beta));
    std::uint32_t sum = 0;
    if (alpha != 0) sum += alpha * std::uint32_t(wrapped_s32(acc));
    if (beta != 0) sum += beta * std::uint32_t(wrapped_s32(c));
    return std::int32_t(sum);
  }
  double sum = 0;
  if (scales.alpha != 0) sum += scales.alpha * acc;
  if (scales.beta != 0) sum += scales.beta * c;
  return sum;
}

double expected_value(
    const KernelSignature& signature, Stage stage, const Scales& scales, double acc, double c, const Terms& terms) {
  const TypePair& type = signature.type;
  const double finished =
      verify::epilogue_value(epilogue_rule(signature, {}), scaled(type, scales, terms.scale * acc, c), terms.bias);
  const double value = signature.epilogue.is_gated() ? finished : bounded(type.output, finished);
  if (stage == Stage::real || !is_exact(signature)) return value;
  std::byte stored[8];
  encode(type.output, value, stored);
  return decode(type.output, stored);
}

}  // namespace tilesmith::tuner
