// Which shard of a workload a tuner takes: as --shard says, which may leave the number to the scheduler's environment.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "tuner/schedule/shards.hpp"

namespace CLI { class App; class Option; }

namespace tilesmith::tuner {

struct GivenShard {
  Shard shard;
  std::string from;  ///< "--shard", "SLURM_ARRAY_TASK_ID"
};

/// `given`: "i/N", "auto/N", "none", or empty, which a task of an array may not leave it. `variable`: of the environment, null if it is not
/// set. nullopt: the whole workload. Throws UsageError that names the option or the variable.
std::optional<GivenShard> parse_shard(const std::string& given, const std::function<const char*(const char*)>& variable);

CLI::Option* add_shard_option(CLI::App& app, std::string& shard);

}  // namespace tilesmith::tuner
