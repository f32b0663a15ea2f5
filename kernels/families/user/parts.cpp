#include "kernels/families/user/parts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

namespace tilesmith {
namespace {

constexpr std::size_t kMostValues = 256;
constexpr std::int64_t kMostCombinations = 100'000'000;  // all are counted, and what the rules leave is held in memory
constexpr std::int64_t kMostGridX = std::numeric_limits<int>::max(), kMostGridYz = 65535, kMostThreads = 1024,
                       kMostThreadsZ = 64, kMostCluster = 8, kMostSharedBytes = 227 * 1024;

Parameter parameter_of(const std::string& name, const Field& field) {
  Parameter parameter{name, {}, ""};
  if (!field.is_list()) {
    field.allow_only({"values", "meaning"});
    if (field.has("meaning")) parameter.meaning = field.at("meaning").line();
  }
  for (const Field& value : (field.is_list() ? field : field.at("values")).elements(1, kMostValues)) {
    parameter.values.push_back(int(value.integer(std::numeric_limits<int>::min(), std::numeric_limits<int>::max())));
    if (std::ranges::count(parameter.values, parameter.values.back()) > 1) value.fail("each once");
  }
  return parameter;
}

/// The member `name`, a grid or a block: one expression, or a list of up to three. What is not given is 1.
std::array<Expression, 3> extent_of(const Field& launch, const char* name, std::span<const ExpressionName> names) {
  std::array<Expression, 3> extent{Expression::constant(1), Expression::constant(1), Expression::constant(1)};
  if (!launch.has(name)) return extent;
  const Field field = launch.at(name);
  const std::vector<Field> elements = field.is_list() ? field.elements(1, 3) : std::vector<Field>{field};
  for (std::size_t i = 0; i < elements.size(); ++i) extent[i] = elements[i].expression(names);
  return extent;
}

}  // namespace

std::vector<Parameter> parameters_of(
    const Field& all, const std::function<void(const std::string& name, const Field& field)>& check) {
  std::vector<Parameter> parameters;
  std::int64_t combinations = 1;
  for (const auto& [name, field] : all.members(kMostParameters)) {
    check(name, field);
    parameters.push_back(parameter_of(name, field));
    combinations *= std::int64_t(parameters.back().values.size());
    if (combinations > kMostCombinations) all.fail(fmt::format("at most {} combinations of values", kMostCombinations));
  }
  return parameters;
}

std::vector<UserRule> rules_of(const Field& file, bool named, std::span<const ExpressionName> names) {
  std::vector<UserRule> rules;
  if (!file.has("rules")) return rules;
  for (const Field& field : file.at("rules").elements(0, kMostRules)) {
    field.allow_only({"name", "reason", "holds"});
    const std::string name = named || field.has("name") ? field.at("name").line() : field.at("holds").shown();
    const bool has_reason = named || field.has("reason");
    rules.push_back(
        {name, has_reason ? field.at("reason").line() : "a rule of the kernel's", field.at("holds").expression(names)});
  }
  return rules;
}

std::vector<UserLaunch> launches_of(const Field& field, std::size_t most, std::span<const ExpressionName> names,
    const std::function<std::string(const Field& launch)>& entry_of) {
  std::vector<UserLaunch> launches;
  for (const Field& one : field.is_list() ? field.elements(1, most) : std::vector<Field>{field}) {
    one.allow_only({"entry", "grid", "block", "cluster", "shared_bytes"});
    for (const char* name : {"grid", "block"}) one.at(name);  // which says that it is missing
    launches.push_back(
        {entry_of(one), extent_of(one, "grid", names), extent_of(one, "block", names), extent_of(one, "cluster", names),
            one.has("shared_bytes") ? one.at("shared_bytes").expression(names) : Expression::constant(0)});
  }
  return launches;
}

std::vector<std::string> parameters_read(
    const std::vector<Parameter>& parameters, std::size_t first, std::span<const Expression* const> expressions) {
  std::vector<std::string> names;
  for (const Expression* expression : expressions) {
    for (const std::size_t slot : expression->reads()) {
      if (slot < first || slot >= first + parameters.size()) continue;
      const std::string& name = parameters[slot - first].name;
      if (std::ranges::find(names, name) == names.end()) names.push_back(name);
    }
  }
  return names;
}

std::int64_t Figures::get(
    const std::string& field, const Expression& expression, std::int64_t least, std::int64_t most) {
  const auto value = expression.value(values_);
  if (value && *value >= least && *value <= most) return *value;
  note(fmt::format("{} {}: expected {} to {}", field,
      value ? fmt::format("is {}", *value) : "divides by zero or leaves 64 bits", least, most));
  return least;
}

Extent3 Figures::get(
    const std::string& field, const std::array<Expression, 3>& of, const std::array<std::int64_t, 3>& most) {
  return {unsigned(get(field + "[0]", of[0], 1, most[0])), unsigned(get(field + "[1]", of[1], 1, most[1])),
      unsigned(get(field + "[2]", of[2], 1, most[2]))};
}

Launch Figures::launch(const UserLaunch& from, const std::string& entry) {
  launch_ = fmt::format("launch '{}': ", entry);
  Launch launch;
  launch.entry = entry;
  const std::int64_t most_threads = limits_ ? limits_->threads_per_block : kMostThreads;
  launch.grid = get("grid", from.grid, {kMostGridX, kMostGridYz, kMostGridYz});
  launch.block = get("block", from.block, {most_threads, most_threads, kMostThreadsZ});
  launch.cluster = get("cluster", from.cluster, {kMostCluster, kMostCluster, kMostCluster});
  launch.dynamic_smem_bytes = std::size_t(
      get("shared_bytes", from.shared_bytes, 0, limits_ ? limits_->smem_per_block_bytes : kMostSharedBytes));
  const Extent3 &grid = launch.grid, &cluster = launch.cluster;
  if (launch.block.volume() > most_threads)
    note(fmt::format("a block has {} threads: expected at most {}", launch.block.volume(), most_threads));
  if (cluster.volume() > kMostCluster)
    note(fmt::format("a cluster has {} blocks: expected at most {}", cluster.volume(), kMostCluster));
  if (limits_ && cluster.volume() > 1 && !limits_->features.clusters)
    note(fmt::format("{} has no clusters: expected none", limits_->arch));
  if (grid.x % cluster.x != 0 || grid.y % cluster.y != 0 || grid.z % cluster.z != 0)
    note("the grid does not split into clusters");
  launch_.clear();
  return launch;
}

void Figures::note(const std::string& what) {
  if (!wrong_) wrong_ = launch_ + what;
}

}  // namespace tilesmith
