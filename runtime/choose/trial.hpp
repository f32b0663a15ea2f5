// A trial: plans of one problem timed beside each other, for a library that is asked to (LibraryOptions::trial_budget).
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "db/store/record.hpp"
#include "runtime/plan/plan.hpp"

namespace tilesmith::runtime {

/// What each takes on random operands, which rotate and so are cold: the median of rounds in which all take turns, in
/// CUDA graphs, each launch behind a memset of 1 MiB, so that a plan that starts early gains no more than in an
/// application. Nothing is verified. None for a plan that fails to launch; for no plan where the operands cannot be
/// allocated. Needs a current context, and waits for the device.
std::vector<std::optional<db::Timing>> time_in_turn(std::span<const Plan* const> plans);

}  // namespace tilesmith::runtime
