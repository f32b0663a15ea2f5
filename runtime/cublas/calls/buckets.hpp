// Sizes of M that a workload gets beside those that were called (families.hpp).
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace tilesmith::cublas {

inline constexpr std::int64_t kMostListed = 1024, kLargestSize = std::int64_t{1} << 28;

/// Which sizes of M a family gets beside those that were seen. Only measured sizes are taken over: a size that is not
/// listed is not tuned.
struct Buckets {
  bool powers = true;  // powers of two between the least and the largest that were seen
  std::vector<std::pair<std::int64_t, std::int64_t>> ranges;  // first and last; with `powers` none
};

inline constexpr const char* kBucketsExpected =
    "powers, none, or sizes and ranges such as 1-64,128, 1024 in all at most";

/// "powers", "none", "1-64,128". False: it is none of these.
bool parse_buckets(const std::string& text, Buckets& buckets);

}  // namespace tilesmith::cublas
