#include "tuner/report/convergence.hpp"

namespace tilesmith::tuner::report {

void BestKnown::add(const db::Evidence& entry) {
  const std::string config = entry.config.text();
  const db::Evidence*& known = latest_[config];
  if (known != nullptr && known->outcome.timing) ranking_.erase({known->outcome.timing->median_us, config});
  known = &entry;
  if (entry.outcome.timing) ranking_.insert({entry.outcome.timing->median_us, config});
}

const db::Evidence* BestKnown::best() const { return ranking_.empty() ? nullptr : latest(ranking_.begin()->second); }

double BestKnown::best_us() const { return ranking_.empty() ? 0 : ranking_.begin()->first; }

const db::Evidence* BestKnown::latest(const std::string& config) const {
  const auto found = latest_.find(config);
  return found == latest_.end() ? nullptr : found->second;
}

}  // namespace tilesmith::tuner::report
