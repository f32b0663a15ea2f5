#include "tuner/warm_start/new_values.hpp"

namespace tilesmith::tuner {

void NewValues::saw(const db::Record& entry) {
  entries_[entry.config.family()].push_back(entry.id);
  for (const auto& [parameter, value] : entry.config.values())
    seen_.insert({block_tile(entry.config), parameter.text(), value});
}

std::vector<Config> NewValues::neighbours(const Config& config, const std::vector<Parameter>& parameters) const {
  const auto entries = entries_.find(config.family());
  if (entries == entries_.end()) return {};
  const std::int64_t then = entries->second[entries->second.size() / 2];
  if (then < kTelling) return {};
  std::vector<Config> found;
  for (const Parameter& parameter : parameters) {
    for (const int value : parameter.values) {
      const auto first = first_tried_.find({config.family(), parameter.name, value});
      const bool is_new = first == first_tried_.end() || first->second > then;
      if (!is_new || value == config.at(parameter.name)) continue;
      Config other = config;
      other.set(parameter.name, value);
      if (!seen_.contains({block_tile(other), parameter.name, value})) found.push_back(std::move(other));
    }
  }
  return found;
}

}  // namespace tilesmith::tuner
