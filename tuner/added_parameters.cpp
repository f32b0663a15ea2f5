#include "tuner/added_parameters.hpp"

#include <fmt/format.h>

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

void AddedParameters::saw(const Config& recorded, const std::vector<Parameter>& parameters) {
  for (const Parameter& parameter : parameters) {
    Seen& seen = seen_[key_of(recorded, parameter)];
    if (!recorded.has(parameter.name)) {
      seen.lacking = true;
    } else if (!parameter.values.empty() && recorded.at(parameter.name) != parameter.values.front()) {
      seen.beyond_first = true;
    }
  }
}

std::vector<Config> AddedParameters::untried(const Config& config, const std::vector<Parameter>& parameters) const {
  std::vector<Config> found;
  for (const Parameter& parameter : parameters) {
    const auto seen = seen_.find(key_of(config, parameter));
    if (seen == seen_.end() || !seen->second.lacking || seen->second.beyond_first) continue;
    for (const int value : parameter.values) {
      if (value == config.at(parameter.name)) continue;
      Config other = config;
      other.set(parameter.name, value);
      found.push_back(std::move(other));
    }
  }
  return found;
}

}  // namespace tilesmith::tuner
