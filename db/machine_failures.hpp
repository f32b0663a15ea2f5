// Failures of the machine (Outcome::by_machine) that former versions recorded as a candidate's: a device or a compiler without memory,
// a process that was killed. Their rows stay as they are, since nothing that was committed is taken back; whoever reads passes over
// them, so that a candidate is as it was before, and is tried again.
#pragma once

#include <string>
#include <string_view>

namespace tilesmith::db {

/// Whether a row is one of them, as an SQL condition (the view `latest` has it too); `row` names one of evidence, builds or proofs.
std::string failed_by_machine(std::string_view row);

}  // namespace tilesmith::db
