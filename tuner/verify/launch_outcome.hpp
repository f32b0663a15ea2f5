// What Plan::run's return code means for the candidate.
#pragma once

#include <optional>
#include <string>

#include "db/store/record.hpp"

namespace tilesmith::tuner {

/// Empty for success. A refused launch is the candidate's outcome (launch_failed, `what` and the code); a lost context
/// throws runtime::DeviceError; a negative code is the verifier's own mistake and throws std::logic_error.
std::optional<db::Outcome> launch_outcome(int code, const std::string& what);

}  // namespace tilesmith::tuner
