// How near a measured problem is to another, and how well its config fits there. Units: doublings (log2).
#pragma once

#include "kernels/family.hpp"

namespace tilesmith::runtime {

/// How far a measured problem is from this one, in doublings (see choose.hpp): by its dimensions, the alignment of its rows
/// and its beta class. Its type pair and transposes count for nothing. Both have M, N, K ≥ 1.
double distance(const Problem& measured, const Problem& problem);

/// What a config loses of its use of the device when it moves from the problem it was measured on to another, in
/// doublings; 0 if nothing. Waves of blocks are counted on `sm_count` multiprocessors.
double misfit(const Family& family, const Config& config, const Problem& measured, const Problem& problem,
              int sm_count);

}  // namespace tilesmith::runtime
