#include "runtime/cublas/calls/buckets.hpp"

namespace tilesmith::cublas {
namespace {

/// A number of 1 to 2^28 from `at` on, which is moved behind it; 0: there is none.
std::int64_t size_at(const std::string& text, std::size_t& at) {
  std::int64_t value = 0;
  for (; at < text.size() && text[at] >= '0' && text[at] <= '9'; ++at) {
    value = value * 10 + (text[at] - '0');
    if (value > kLargestSize) return 0;
  }
  return value;
}

}  // namespace

bool parse_buckets(const std::string& text, Buckets& buckets) {
  Buckets result;
  result.powers = text == "powers";
  std::int64_t listed = 0;
  for (std::size_t at = 0; !result.powers && text != "none";) {
    const std::int64_t first = size_at(text, at);
    std::int64_t last = first;
    if (at < text.size() && text[at] == '-') last = size_at(text, ++at);
    if (first < 1 || last < first || (listed += last - first + 1) > kMostListed) return false;
    result.ranges.emplace_back(first, last);
    if (at == text.size()) break;
    if (text[at++] != ',') return false;
  }
  buckets = result;
  return true;
}

}  // namespace tilesmith::cublas
