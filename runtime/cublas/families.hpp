// The text of a workload made of calls: a line a problem, in families whose problems differ in M alone, as a server's do with its batch sizes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/cublas/buckets.hpp"
#include "runtime/cublas/problem_key.hpp"

namespace tilesmith::cublas {

struct CountedProblem {
  ProblemKey key;
  std::uint64_t calls = 0;
};

struct WorkloadText {
  std::string text;
  std::size_t problems = 0, families = 0, added = 0;  // `added`: of the problems, those that were not seen
};

/// `head`: what its first line says. Problems that stand twice are one. Those that were not seen have the weight of their family's
/// rarest.
WorkloadText workload_text(const std::vector<CountedProblem>& seen, const Buckets& buckets, const std::string& head);

}  // namespace tilesmith::cublas
