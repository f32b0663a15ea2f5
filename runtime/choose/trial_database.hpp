// The database in which an application keeps what its trials found (LibraryOptions::trial_database).
#pragma once

#include <filesystem>
#include <memory>

#include "db/store/record.hpp"
#include "runtime/choose/catalogue.hpp"

namespace tilesmith::runtime {

/// What `catalogue` offers, and after it the trials and kernels of the file `trials`. Only `catalogue` where there is no such file yet, where
/// it is the one that was opened, and where it cannot be read, which is logged in one line.
std::unique_ptr<Catalogue> with_trials(std::unique_ptr<Catalogue> catalogue, const std::filesystem::path& opened,
                                       const std::filesystem::path& trials);

/// Appends the winner of a trial to the database, which is made if there is none, and its kernel, if it is given. Appends nothing where the
/// candidate has an entry by today's kernel and launches: a measurement says more, and another trial no less. The file is open for that
/// long only, and another writer is waited for some seconds. Whatever fails is one line of the log.
void keep_trial(const std::filesystem::path& database, const db::Record& winner, const db::KernelBuild* build) noexcept;

}  // namespace tilesmith::runtime
