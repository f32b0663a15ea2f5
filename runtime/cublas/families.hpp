// The text of a workload made of calls: a line a problem, in families whose problems differ in M alone, as a server's do with its batch sizes.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "runtime/cublas/problem_key.hpp"

namespace tilesmith::cublas {

struct CountedProblem {
  ProblemKey key;
  std::uint64_t calls = 0;
};

/// Which sizes of M a family gets beside those that were seen. Only measured sizes are taken over: a size that is not listed is not tuned.
struct Buckets {
  bool powers = true;  // powers of two between the least and the largest that were seen
  std::vector<std::pair<std::int64_t, std::int64_t>> ranges;  // first and last; with `powers` none
};

inline constexpr const char* kBucketsExpected = "powers, none, or sizes and ranges such as 1-64,128, 1024 in all at most";

/// "powers", "none", "1-64,128". False: it is none of these.
bool parse_buckets(const std::string& text, Buckets& buckets);

struct WorkloadText {
  std::string text;
  std::size_t problems = 0, families = 0, added = 0;  // `added`: of the problems, those that were not seen
};

/// `head`: what its first line says. Problems that stand twice are one. Those that were not seen have the weight of their family's
/// rarest.
WorkloadText workload_text(const std::vector<CountedProblem>& seen, const Buckets& buckets, const std::string& head);

}  // namespace tilesmith::cublas
