#include "tuner/warm_start/value_history.hpp"

namespace tilesmith::tuner {

ValueHistory::ValueHistory(const db::Store& store) : telling_from_(store.nth_entries(kTelling)) {
  for (const db::TriedValue& tried : store.tried_values())
    first_tried_[{tried.family, tried.parameter, tried.value}] = tried.first_entry;
}

bool ValueHistory::came_after(const std::string& family, const std::string& parameter, int value,
                              std::int64_t then) const {
  const auto telling = telling_from_.find(family);
  if (telling == telling_from_.end() || telling->second > then) return false;
  const auto first = first_tried_.find({family, parameter, value});
  return first == first_tried_.end() || first->second > then;
}

}  // namespace tilesmith::tuner
