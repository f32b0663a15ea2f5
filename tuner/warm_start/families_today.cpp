#include "tuner/warm_start/families_today.hpp"

#include <span>
#include <utility>

#include "kernels/families/family.hpp"

namespace tilesmith::tuner {

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

FamiliesToday::FamiliesToday(std::vector<const Family*> families, DeviceLimits limits)
    : families_(std::move(families)), limits_(std::move(limits)) {}

const FamiliesToday::OfTarget& FamiliesToday::of_target(const Problem& problem) {
  for (const OfTarget& known : targets_) {
    if (known.target.signature() == problem.signature()) return known;
  }
  OfTarget fresh{{problem, limits_}, {}};
  for (const Family* family : families_) fresh.families.emplace_back(*family, fresh.target);
  return targets_.emplace_back(std::move(fresh));
}

const Legality* FamiliesToday::legality_of(const Config& config, const Problem& problem) {
  for (const Legality& legality : of_target(problem).families) {
    if (legality.family().name() == config.family()) return &legality;
  }
  return nullptr;
}

std::optional<Config> FamiliesToday::runnable(const Config& config, const Problem& problem, const Knows& knows) {
  const Legality* legality = legality_of(config, problem);
  if (legality == nullptr) return std::nullopt;
  for (Config& today : as_of_today(config, legality->parameters())) {
    if (legality->illegal_because(today) || !eligible(legality->family(), today, problem)) continue;
    if (knows && !knows(problem, today)) continue;
    return std::move(today);
  }
  return std::nullopt;
}

}  // namespace tilesmith::tuner
