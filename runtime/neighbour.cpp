#include "runtime/neighbour.hpp"

#include <algorithm>
#include <cmath>

namespace tilesmith::runtime {
namespace {

constexpr double kAlignmentDoublings = 0.5;  // for each halving of one operand's row alignment
constexpr double kBetaDoublings = 0.05;

double log2_ratio(std::int64_t a, std::int64_t b) { return std::log2(double(a) / double(b)); }

/// Halvings between the alignments of the rows of A, B and C, in bytes: each problem's as its own types store them.
double alignment_distance(const Problem& a, const Problem& b) {
  const auto halvings = [&](Scalar TypePair::*element, std::int64_t Problem::*stride) {
    return std::abs(
        log2_ratio(row_align_bytes(a, a.type.*element, a.*stride), row_align_bytes(b, b.type.*element, b.*stride)));
  };
  return halvings(&TypePair::operand, &Problem::lda) + halvings(&TypePair::operand, &Problem::ldb) +
         halvings(&TypePair::output, &Problem::ldc);
}

/// Blocks of the GEMM itself; packing and reduction passes are small beside it.
double gemm_blocks(const LaunchSequence& sequence) {
  double most = 1;
  for (const Launch& launch : sequence.launches) {
    const double blocks = double(launch.grid.x) * launch.grid.y * launch.grid.z;
    if (launch.entry == "gemm") return blocks;
    most = std::max(most, blocks);
  }
  return most;
}

}  // namespace

double distance(const Problem& measured, const Problem& problem) {
  const double dm = log2_ratio(problem.m, measured.m);
  const double dn = log2_ratio(problem.n, measured.n);
  const double dk = log2_ratio(problem.k, measured.k);
  return std::sqrt(dm * dm + dn * dn + dk * dk) + kAlignmentDoublings * alignment_distance(as_planned(problem), as_planned(measured)) +
         (problem.beta == measured.beta ? 0 : kBetaDoublings);
}

double misfit(const Family& family, const Config& config, const Place& measured, const Place& here) {
  // A wave takes a time that grows with K, whether its blocks are full or not. So multiprocessors times time per useful operation
  // goes with SMs·waves·K / (M·N·K); where that is more than where it was measured, the tile fits worse.
  const auto cost = [&](const Place& place) {
    const int sms = std::max(1, place.sm_count);
    return sms * std::ceil(gemm_blocks(family.launches(config, as_planned(place.problem))) / sms) /
           (double(place.problem.m) * double(place.problem.n));
  };
  return std::max(0.0, std::log2(cost(here) / cost(measured)));
}

}  // namespace tilesmith::runtime
