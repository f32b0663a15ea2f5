// How near a measured problem is to another. Units: doublings (log2).
#pragma once

#include <map>
#include <string>
#include <vector>

#include "db/store/ranked.hpp"
#include "kernels/problem/problem.hpp"

namespace tilesmith::runtime {

/// The length of (log2 M/M', log2 N/N', log2 K/K', log2 of the batches' entries), and what neighbour.cpp adds for rows
/// that are aligned otherwise, another beta class, epilogue, place of α and β, or batch mode. Type pair and transposes
/// count for nothing. M, N, K ≥ 1.
double distance(const Problem& measured, const Problem& problem);

/// What a problem measured on the one device is further away on the other, in doublings; of similar devices
/// (db::are_similar), less where they have as many multiprocessors.
double device_doublings(const db::DeviceIdentity& on, const db::DeviceIdentity& here);

/// Measured problems that differ from one asked for in nothing but epilogue, where α and β are, and beta class
/// (are_sisters): what is fast for one is so for the other.
class Sisters {
 public:
  /// It must outlive this.
  void add(const db::RankedTask& measured);

  /// Those of the problem, the nearest first (neighbour.hpp); of equally near ones the plainest. None where a plain
  /// problem's nearest is plain, too: the model knows the same kernels' times best.
  std::vector<const db::RankedTask*> nearest_first(const Problem& problem) const;

 private:
  std::multimap<std::string, const db::RankedTask*> by_plainest_;  // by the text that sisters share
};

}  // namespace tilesmith::runtime
