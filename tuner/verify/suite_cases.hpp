// The suite's list of small awkward problems.
#pragma once

#include <string>
#include <vector>

#include "kernels/problem/problem.hpp"
#include "tuner/verify/exact_data.hpp"

namespace tilesmith::tuner {

struct SuiteCase {
  Problem problem;
  Scales scales;
  Stage stage = Stage::exact;
  /// Planned as for a device of one SM: the problems are so small that persistent blocks would have one tile each.
  bool on_one_sm = false;
  /// C is D, as it always is where the epilogue is linear; else a matrix of its own.
  bool in_place = true;
  /// Of a grouped problem: where its groups end.
  std::vector<std::int32_t> ends = {};
};

/// How much of the suite a kernel has to pass: all of it, twice; or, where a launch takes long, every shape once, by
/// exact sums: half of the launches or fewer, which show neither a lost bit nor two runs that differ.
enum class Suite { whole, each_shape_once };

/// Every case for a signature, in the order in which they are run. Shapes are 1, primes, and one off 16,
/// 32, 64, 128 and 256 in each of M, N and K, and a few of many tiles. Most have rows and bases aligned to 16 bytes
/// (leading dimensions padded up), so that kernels which only take aligned operands meet awkward shapes too; the rest
/// have packed, odd, 4- and 8-byte leading dimensions, and bases that are aligned to one element only. Strided batches
/// have 1, 2, 3 or 5 entries of these, apart, packed, side by side within rows, or with one A or B for all; and there
/// is one of 65,543 entries. Groups are 3, 4, 5, 8 or 130, with all kinds of ends (group_ends_of_case).
std::vector<SuiteCase> suite_cases(const KernelSignature& signature);

/// Ends of the problem's groups, of another kind for each number: rows dealt unevenly, empty groups at the start,
/// within and at the end, all rows in one group, a group of one row, rows behind the last end; and ends that decrease,
/// are negative or lie behind M.
std::vector<std::int32_t> group_ends_of_case(const Problem& problem, std::size_t number);

/// "f16f32 NN 17 13 31 lda=40 ... α=2 β=0 exact", and "as on one SM" where it is planned so.
std::string text(const SuiteCase& suite_case);
std::string text(const Problem& problem, const Scales& scales, Stage stage);

}  // namespace tilesmith::tuner
