#include "tuner/warm_start/families_today.hpp"

#include <utility>

#include "kernels/eligible.hpp"
#include "tuner/warm_start/added_parameters.hpp"

namespace tilesmith::tuner {

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
