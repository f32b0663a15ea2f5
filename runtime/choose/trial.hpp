// A trial: plans of one problem timed beside each other, for a library that is asked to (LibraryOptions::trial_budget).
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "db/store/record.hpp"
#include "runtime/plan/plan.hpp"

namespace tilesmith::runtime {

/// What each takes, on random operands of its own making: in CUDA graphs, each launch behind a memset of 1 MiB, which is counted
/// alike for all, so that a plan that starts early gains no more than in an application. Operands rotate and so are cold where there is
/// memory for it. The median of rounds in which all take turns. Nothing is verified: as records the measuring policy is
/// db::kTrialPolicy. None for a plan that fails to launch; for no plan where the operands cannot be allocated. Needs a current context,
/// and waits for the device.
std::vector<std::optional<db::Timing>> time_in_turn(std::span<const Plan* const> plans);

}  // namespace tilesmith::runtime
