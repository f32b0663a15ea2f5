// The database in which an application keeps what its trials found (LibraryOptions::trial_database).
#pragma once

#include <filesystem>
#include <memory>

#include "db/store/record.hpp"
#include "runtime/choose/catalogue.hpp"

namespace tilesmith::runtime {

/// What `catalogue` offers, and the trials and kernels of the file `trials`, unless it is missing, the one that was
/// opened, or unreadable (which is logged).
std::unique_ptr<Catalogue> with_trials(
    std::unique_ptr<Catalogue> catalogue, const std::filesystem::path& opened, const std::filesystem::path& trials);

/// Appends the winner of a trial, unless the candidate has an entry by today's kernel and launches, and its kernel, if
/// it is given. The database is made if there is none, and open for that long only. Whatever fails is one line of the
/// log.
void keep_trial(const std::filesystem::path& database, const db::Record& winner, const db::KernelBuild* build) noexcept;

}  // namespace tilesmith::runtime
