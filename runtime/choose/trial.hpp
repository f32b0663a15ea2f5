// A trial: plans of one problem timed beside each other, for a library that is asked to (LibraryOptions::trial_budget).
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "db/store/record.hpp"
#include "runtime/choose/catalogue.hpp"
#include "runtime/plan/plan.hpp"

namespace tilesmith::runtime {

/// What each takes on random operands, which rotate and so are cold: the median of rounds in which all take turns, in
/// CUDA graphs, each launch behind a memset of 1 MiB, so that a plan that starts early gains no more than in an
/// application. Nothing is verified. None for a plan that fails to launch; for no plan where the operands cannot be
/// allocated. Needs a current context, and waits for the device.
std::vector<std::optional<db::Timing>> time_in_turn(std::span<const Plan* const> plans);

// The database in which an application keeps what its trials found (LibraryOptions::trial_database).

/// What `catalogue` offers, and the trials and kernels of the file `trials`, unless it is missing, the one that was
/// opened, or unreadable (which is logged).
std::unique_ptr<Catalogue> with_trials(
    std::unique_ptr<Catalogue> catalogue, const std::filesystem::path& opened, const std::filesystem::path& trials);

/// Appends the winner of a trial, unless the candidate has an entry by today's kernel and launches, and its kernel, if
/// it is given. The database is made if there is none, and open for that long only. Whatever fails is one line of the
/// log.
void keep_trial(const std::filesystem::path& database, const db::Record& winner, const db::KernelBuild* build) noexcept;

}  // namespace tilesmith::runtime
