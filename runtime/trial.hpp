// A trial: plans of one problem timed beside each other, for a library that is asked to (LibraryOptions::trial_budget).
#pragma once

#include <span>
#include <vector>

#include "runtime/plan.hpp"

namespace tilesmith::runtime {

/// What each takes, in us, on random operands of its own making: in CUDA graphs, each launch behind a memset of 1 MiB, which is counted
/// alike for all, so that a plan that starts early gains no more than in an application. Operands rotate and so are cold where there is
/// memory for it. The median of rounds in which all take turns. Infinite for a plan that fails to launch; all are where the
/// operands cannot be allocated. Needs a current context, and waits for the device.
std::vector<double> time_in_turn(std::span<const Plan> plans);

}  // namespace tilesmith::runtime
