#include "tuner/cli/shard_option.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <charconv>
#include <string_view>

#include "tuner/cli/command.hpp"
#include "tuner/cli/options.hpp"

namespace tilesmith::tuner {
namespace {

using Variable = std::function<const char*(const char*)>;

constexpr std::int64_t kMostShards = 100'000;

std::optional<std::int64_t> whole_number(std::string_view text) {
  std::int64_t value = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value < 0) return std::nullopt;
  return value;
}

/// Of a variable that is set. Throws UsageError that names it.
std::int64_t number_of(const Variable& variable, const char* name) {
  const auto value = whole_number(variable(name));
  if (!value) throw UsageError(fmt::format("{} '{}': expected a whole number; --shard i/N names the shard, --shard none takes the whole workload", name, variable(name)));
  return *value;
}

std::int64_t number_of(const Variable& variable, const char* name, std::int64_t otherwise) {
  return variable(name) == nullptr ? otherwise : number_of(variable, name);
}

/// Slurm counts an array's tasks from where --array begins, in its steps.
std::int64_t slurm_index(const Variable& variable) {
  const std::int64_t id = number_of(variable, "SLURM_ARRAY_TASK_ID"), first = number_of(variable, "SLURM_ARRAY_TASK_MIN", 0);
  const std::int64_t step = number_of(variable, "SLURM_ARRAY_TASK_STEP", 1);
  if (id < first || step < 1 || (id - first) % step != 0)
    throw UsageError(fmt::format("SLURM_ARRAY_TASK_ID {}: is no step of {} from {}; expected an array such as 0-7, or --shard i/N", id, step, first));
  return (id - first) / step;
}

Shard checked(std::int64_t index, std::int64_t count, const std::string& from) {
  if (count < 1 || count > kMostShards) throw UsageError(fmt::format("{}: {} shards; expected 1 to {}", from, count, kMostShards));
  if (index < 0 || index >= count) throw UsageError(fmt::format("{}: shard {} of {}; expected 1 to {}", from, index + 1, count, count));
  return {std::size_t(index), std::size_t(count)};
}

/// The scheduler's word for which of its tasks this is, from 0, and where it stands.
std::optional<std::pair<std::int64_t, std::string>> index_here(const Variable& variable) {
  if (variable("SLURM_ARRAY_TASK_ID") != nullptr) return std::pair(slurm_index(variable), std::string("SLURM_ARRAY_TASK_ID"));
  if (variable("JOB_COMPLETION_INDEX") != nullptr) return std::pair(number_of(variable, "JOB_COMPLETION_INDEX"), std::string("JOB_COMPLETION_INDEX"));
  return std::nullopt;
}

}  // namespace

std::optional<GivenShard> parse_shard(const std::string& given, const Variable& variable) {
  if (given == "none") return std::nullopt;
  if (given.empty()) {
    if (variable("SLURM_ARRAY_TASK_ID") == nullptr || variable("SLURM_ARRAY_TASK_COUNT") == nullptr) return std::nullopt;
    const std::int64_t count = number_of(variable, "SLURM_ARRAY_TASK_COUNT");
    return GivenShard{checked(slurm_index(variable), count, "SLURM_ARRAY_TASK_ID"), "SLURM_ARRAY_TASK_ID"};
  }
  const std::size_t slash = std::min(given.find('/'), given.size());
  const std::string which = given.substr(0, slash);
  const auto count = whole_number(std::string_view(given).substr(std::min(slash + 1, given.size())));
  const auto number = whole_number(which);
  const std::string from = fmt::format("--shard '{}'", given);
  if (!count || (!number && which != "auto")) throw UsageError(from + ": expected i/N such as 1/8, auto/N or none");
  if (number) return GivenShard{checked(*number - 1, *count, from), "--shard"};
  const auto here = index_here(variable);
  if (!here) throw UsageError(from + ": neither SLURM_ARRAY_TASK_ID nor JOB_COMPLETION_INDEX is set; expected one of them, or i/N");
  return GivenShard{checked(here->first, *count, here->second), here->second};
}

CLI::Option* add_shard_option(CLI::App& app, std::string& shard) {
  return app.add_option("--shard", shard,
                        "Tune only the i-th of N parts of the problems, for tuners that share no database (see docs/fleets.md); auto/N: the i of "
                        "SLURM_ARRAY_TASK_ID or JOB_COMPLETION_INDEX; none: all problems. Default: by SLURM_ARRAY_TASK_ID and _COUNT where they are set, "
                        "else none")
      ->type_name("i/N");
}

}  // namespace tilesmith::tuner
