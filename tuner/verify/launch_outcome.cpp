#include "tuner/verify/launch_outcome.hpp"

#include <fmt/format.h>

#include <stdexcept>

#include "runtime/driver/device.hpp"

namespace tilesmith::tuner {

std::optional<db::Outcome> launch_outcome(int code, const std::string& what) {
  if (code == 0) return std::nullopt;
  if (code < 0) throw std::logic_error(fmt::format("{}: the verifier broke the plan's contract, code {}", what, code));
  const runtime::DeviceError error(code, fmt::format("{}: launch failed with driver error {}", what, code));
  if (error.context_lost()) throw error;
  return db::Outcome{db::Status::launch_failed, error.what(), {}};
}

}  // namespace tilesmith::tuner
