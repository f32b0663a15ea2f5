// The text of a workload made of calls: a line a problem, in families whose problems differ in M alone, as a server's
// do with its batch sizes.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "runtime/cublas/calls/buckets.hpp"
#include "runtime/cublas/calls/problem_key.hpp"

namespace tilesmith::cublas {

struct CountedProblem {
  ProblemKey key;
  std::uint64_t calls = 0;
};

/// Calls whose problems the library refuses for the same field.
struct LeftOut {
  std::uint64_t calls = 0;
  std::string why;  // of the first of them
};

struct WorkloadText {
  std::string text;
  std::size_t problems = 0, families = 0, added = 0;  // `added`: of the problems, those that were not seen
  std::uint64_t calls = 0;                            // of the seen problems that have a line
  std::map<std::string, LeftOut> left_out;            // by the field that the library refuses
};

/// `head`: what its first line says. Problems that stand twice are one. Those that were not seen have the weight of
/// their family's rarest. What the library refuses gets no line; the text says in comments how many calls that were,
/// and why.
WorkloadText workload_text(
    const std::vector<CountedProblem>& seen, const Buckets& buckets, const std::string& head, const Judge& judge);

}  // namespace tilesmith::cublas
