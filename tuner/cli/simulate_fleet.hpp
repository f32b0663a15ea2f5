// tilesmith simulate --shards: how long shards take to come as far as one tuner.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tuner/cli/output.hpp"

namespace tilesmith::tuner {

struct FleetOptions {
  std::vector<std::string> landscapes;
  std::vector<std::string> shards;  ///< counts
  std::size_t problems = 5000;
  std::uint64_t seed = 1;
};

/// Prints the table. Throws UsageError.
int run_fleet(const FleetOptions& options, TextFormat format);

}  // namespace tilesmith::tuner
