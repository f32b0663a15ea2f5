#include "tuner/report/convergence.hpp"

namespace tilesmith::tuner::report {

void BestKnown::add(const db::Judged& entry) {
  const auto [known, fresh] = latest_.try_emplace(entry.entry->config.text(), entry);
  if (!fresh && known->second.entry->outcome.timing) ranking_.erase(known->second);
  known->second = entry;
  if (entry.entry->outcome.timing) ranking_.insert(entry);
}

const db::Record* BestKnown::best() const { return ranking_.empty() ? nullptr : ranking_.begin()->entry; }

double BestKnown::best_us() const { return ranking_.empty() ? 0 : best()->outcome.timing->median_us; }

const db::Record* BestKnown::latest(const std::string& config) const {
  const auto found = latest_.find(config);
  return found == latest_.end() ? nullptr : found->second.entry;
}

}  // namespace tilesmith::tuner::report
