// How near a measured problem is to another. Units: doublings (log2).
#pragma once

#include <map>
#include <string>
#include <vector>

#include "db/store/ranked.hpp"
#include "kernels/problem/problem.hpp"

namespace tilesmith::runtime {

/// How far a measured problem is from this one, in doublings. It is the length of (log2 M/M', log2 N/N', log2 K/K', log2 of the batches'
/// entries). To that come half a doubling for each halving by which rows of A, B or C are differently aligned. Another beta class is
/// 0.05 more, another epilogue 0.1, α and β in another place 0.02, another batch mode 0.05 (groups are a batch of equal ones). Type pair and transposes count for nothing. Both have M, N, K ≥ 1.
double distance(const Problem& measured, const Problem& problem);

/// What a problem measured on the one device is further away on the other, in doublings; of similar devices (db::are_similar), less where they
/// have as many multiprocessors.
double device_doublings(const db::DeviceIdentity& on, const db::DeviceIdentity& here);

/// Measured problems that differ from one asked for in nothing but epilogue, where α and β are, and beta class (are_sisters): what is fast for
/// one is so for the other.
class Sisters {
 public:
  /// It must outlive this.
  void add(const db::RankedProblem& measured);

  /// Those of the problem, the nearest first (neighbour.hpp); of equally near ones the plainest. None where a plain problem's nearest is
  /// plain, too: the model knows the same kernels' times best.
  std::vector<const db::RankedProblem*> nearest_first(const Problem& problem) const;

 private:
  std::multimap<std::string, const db::RankedProblem*> by_plainest_;  // by the text that sisters share
};

}  // namespace tilesmith::runtime

