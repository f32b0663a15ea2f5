// How near a measured problem is to another, and how well its config fits there. Units: doublings (log2).
#pragma once

#include "kernels/family.hpp"

namespace tilesmith::runtime {

/// How far a measured problem is from this one, in doublings (see choose.hpp): by its dimensions, the alignment of its rows
/// and its beta class. Its type pair and transposes count for nothing. Both have M, N, K ≥ 1.
double distance(const Problem& measured, const Problem& problem);

/// A problem on a device of so many multiprocessors.
struct Place {
  const Problem& problem;
  int sm_count;
};

/// What a config loses of its use of the device when it moves from where it was measured to another problem or device, in
/// doublings; 0 if nothing. By waves of blocks.
double misfit(const Family& family, const Config& config, const Place& measured, const Place& here);

}  // namespace tilesmith::runtime
