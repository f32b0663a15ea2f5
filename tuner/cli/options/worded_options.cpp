// Options whose values have a form of their own: read here. CLI11 would take -1 for the largest number, and 0x10 for
// one.
#include <fmt/format.h>

#include <algorithm>

#include "tuner/cli/options/options.hpp"
#include "tuner/exit_status.hpp"
#include "tuner/logs/words.hpp"

namespace tilesmith::tuner {
namespace {

using Variable = std::function<const char*(const char*)>;

constexpr std::uint64_t kMostShards = 100'000;

/// Of a variable that is set. Throws UsageError that names it.
std::uint64_t number_of(const Variable& variable, const char* name) {
  const auto value = whole_number<std::uint64_t>(variable(name));
  if (value) return *value;
  throw UsageError(
      fmt::format("{} '{}': expected a whole number; --shard i/N names the shard, --shard none takes the "
                  "whole workload",
          name, variable(name)));
}

std::uint64_t number_of(const Variable& variable, const char* name, std::uint64_t otherwise) {
  return variable(name) == nullptr ? otherwise : number_of(variable, name);
}

/// From 0. A task's number must mean the same shard when some of an array run again, as with --array=3,5. So it does
/// not count from where this array begins: task 0 shows that numbers begin with 0, task N that they begin with 1.
std::uint64_t slurm_index(const Variable& variable, std::uint64_t count) {
  const std::uint64_t id = number_of(variable, "SLURM_ARRAY_TASK_ID");
  const std::uint64_t first = number_of(variable, "SLURM_ARRAY_TASK_MIN", id);
  const std::uint64_t last = number_of(variable, "SLURM_ARRAY_TASK_MAX", id);
  if (first == 0 && last < count) return id;
  if (first > 0 && last == count) return id - 1;
  const std::string tasks = first == last ? fmt::format("task {}", id) : fmt::format("tasks {} to {}", first, last);
  if (last >= count)
    throw UsageError(
        fmt::format("--shard auto/{0}: SLURM_ARRAY_TASK_ID is of {1}; expected an array of 0-{2} or "
                    "1-{0}, some of it, or --shard i/{0}",
            count, tasks, count - 1));
  throw UsageError(
      fmt::format("--shard auto/{0}: SLURM_ARRAY_TASK_ID is of {1}, which does not show whether the "
                  "shards are tasks 0-{2} or 1-{0}; expected --shard $((SLURM_ARRAY_TASK_ID + 1))/{0} for "
                  "the first, --shard $SLURM_ARRAY_TASK_ID/{0} for the second",
          count, tasks, count - 1));
}

Shard checked(std::uint64_t index, std::uint64_t count, const std::string& from) {
  if (index >= count)
    throw UsageError(fmt::format("{}: shard {} of {}; expected 1 to {}", from, index + 1, count, count));
  return {std::size_t(index), std::size_t(count)};
}

/// The variables in which schedulers number tasks.
constexpr const char* kSlurm = "SLURM_ARRAY_TASK_ID";
constexpr const char* kKubernetes = "JOB_COMPLETION_INDEX";  // from 0, whichever run

}  // namespace

std::optional<GivenShard> parse_shard(const std::string& given, const Variable& variable) {
  const char* const set = variable(kSlurm) != nullptr        ? kSlurm
                          : variable(kKubernetes) != nullptr ? kKubernetes
                                                             : nullptr;
  if (given == "none" || (given.empty() && set == nullptr)) return std::nullopt;
  // How many tasks run now is no answer: some may run again.
  if (given.empty())
    throw UsageError(fmt::format(
        "{} is set, and says nothing of how many shards there are; expected --shard auto/N or i/N, or none for the whole workload",
        set));
  const std::size_t slash = std::min(given.find('/'), given.size());
  const std::string which = given.substr(0, slash);
  const auto count = whole_number<std::uint64_t>(std::string_view(given).substr(std::min(slash + 1, given.size())));
  const auto number = whole_number<std::uint64_t>(which);
  const std::string from = fmt::format("--shard '{}'", given);
  if (!count || (!number && which != "auto")) throw UsageError(from + ": expected i/N such as 1/8, auto/N or none");
  if (*count < 1 || *count > kMostShards)
    throw UsageError(fmt::format("{}: {} shards; expected 1 to {}", from, *count, kMostShards));
  if (number) return GivenShard{checked(*number - 1, *count, from), "--shard"};
  if (set == nullptr)
    throw UsageError(
        fmt::format("{}: neither {} nor {} is set; expected one of them, or i/N", from, kSlurm, kKubernetes));
  return GivenShard{
      checked(set == kSlurm ? slurm_index(variable, *count) : number_of(variable, set), *count, set), set};
}

CLI::Option* add_shard_option(CLI::App& app, std::string& shard) {
  return AddOption{app}("--shard", shard, "i/N",
      "Tune only the i-th of N parts of the problems, for tuners that share no database (see "
      "docs/fleets.md); auto/N: the i of SLURM_ARRAY_TASK_ID or JOB_COMPLETION_INDEX; none: all "
      "problems. Default: none, where neither of these is set");
}

CLI::Option* add_compile_jobs_option(CLI::App& app, int& jobs, const std::string& auto_means) {
  static constexpr int kMost = 1024;
  const auto take = [&jobs](const std::string& text) {
    jobs = text == "auto" ? 0 : whole_number<int>(text).value_or(-1);
    if (jobs < 0 || jobs > kMost)
      throw CLI::ValidationError(
          fmt::format("--compile-jobs '{}': expected auto or a whole number up to {}", text, kMost));
  };
  const std::string help = "Compiling processes, or auto: " + auto_means +
                           "; no more than memory allows, at 0.5 GiB each; a container's limits count";
  return app.add_option_function<std::string>("--compile-jobs", take, help)->type_name("N|auto")->default_str("auto");
}

CLI::Option* add_seed_option(CLI::App& app, std::uint64_t& seed, const std::string& what) {
  const auto take = [&seed](const std::string& text) {
    const auto given = whole_number<std::uint64_t>(text);
    static constexpr std::uint64_t kMost = std::uint64_t(-1);
    if (!given)
      throw CLI::ValidationError(fmt::format("--seed '{}': expected a whole number from 0 to {}", text, kMost));
    seed = *given;
  };
  return app.add_option_function<std::string>("--seed", take, what)->type_name("N")->default_str(std::to_string(seed));
}

Shape parse_shape(std::string_view text) {
  std::string separated(text);
  std::ranges::replace(separated, 'X', 'x');
  std::vector<std::int64_t> sizes;  // 0: none that can be
  for (const std::string_view word : split_at(separated, 'x')) {
    const std::int64_t size = whole_number(word).value_or(0);
    sizes.push_back(size <= kMaxDimension ? size : 0);
  }
  Shape shape;
  if (sizes.size() == 1) shape = {sizes[0], sizes[0], sizes[0]};
  if (sizes.size() == 3) shape = {sizes[0], sizes[1], sizes[2]};
  if (sizes.size() == 4) shape = {sizes[1], sizes[2], sizes[3], sizes[0]};
  const bool is_batch = sizes.size() != 4 || (shape.batch >= 1 && shape.batch <= kMaxBatch);
  if (shape.m >= 1 && shape.n >= 1 && shape.k >= 1 && is_batch) return shape;
  throw UsageError(
      fmt::format("--shape '{}': expected MxNxK or one number, each dimension 1 to {}, or BATCHxMxNxK, a "
                  "batch of 1 to {}",
          text, kMaxDimension, kMaxBatch));
}

}  // namespace tilesmith::tuner
