#include "tuner/warm_start/added_parameters.hpp"

#include <fmt/format.h>

#include <iterator>
#include <span>

namespace tilesmith::tuner {
namespace {

std::string key_of(const Config& config, const Parameter& parameter) {
  return fmt::format("{}.{}", config.family(), parameter.name);
}

}  // namespace

std::vector<Config> as_of_today(const Config& config, const std::vector<Parameter>& parameters) {
  std::vector<Config::Value> values;
  std::vector<const Parameter*> added;
  for (const Parameter& parameter : parameters) {
    const bool has = config.has(parameter.name);
    if (!has && parameter.values.empty()) return {};
    values.emplace_back(parameter.name, has ? config.at(parameter.name) : parameter.values.front());
    if (!has) added.push_back(&parameter);
  }
  if (parameters.size() - added.size() != config.values().size()) return {};
  std::vector<Config> found{Config(config.family(), std::move(values))};
  for (const Parameter* parameter : added) {
    for (const int value : std::span(parameter->values).subspan(1)) {
      Config other = found.front();
      other.set(parameter->name, value);
      found.push_back(std::move(other));
    }
  }
  return found;
}

void AddedParameters::saw(const Config& recorded, std::int64_t at, const std::vector<Parameter>& parameters) {
  if (!seen_.insert(recorded.text()).second) return;
  recorded_at_[recorded.family()].insert(at);
  const BlockTile tile = block_tile(recorded);
  for (const Parameter& parameter : parameters) {
    if (recorded.has(parameter.name)) {
      ++configs_with_[{tile, parameter.name, recorded.at(parameter.name)}];
    } else {
      added_.insert(key_of(recorded, parameter));
      // What was filled in was so in effect, as far as the search goes.
      if (!parameter.values.empty()) ++configs_with_[{tile, parameter.name, parameter.values.front()}];
    }
  }
}

std::vector<Config> AddedParameters::untried(const Config& config, const std::vector<Parameter>& parameters) const {
  const BlockTile tile = block_tile(config);
  const auto recorded_at = recorded_at_.find(config.family());
  const bool asks_of_values = came_after_ && recorded_at != recorded_at_.end();
  std::int64_t most_by = 0;  // when more than half of what is recorded of the family was there
  if (asks_of_values) most_by = *std::next(recorded_at->second.begin(), std::ptrdiff_t(recorded_at->second.size() / 2));
  std::vector<Config> found;
  for (const Parameter& parameter : parameters) {
    const bool all_added = added_.contains(key_of(config, parameter));
    for (const int value : parameter.values) {
      if (!all_added && !(asks_of_values && came_after_(config.family(), parameter.name, value, most_by))) continue;
      const auto with = configs_with_.find({tile, parameter.name, value});
      if (value == config.at(parameter.name) || (with != configs_with_.end() && with->second >= kEnough)) continue;
      Config other = config;
      other.set(parameter.name, value);
      if (block_tile(other) == tile) found.push_back(std::move(other));
    }
  }
  return found;
}

}  // namespace tilesmith::tuner
