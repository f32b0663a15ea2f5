// When the values of the families' parameters were first tried, so that it can be told which a family got after a problem was tuned: by
// a rule that allows more, a longer list of values, or a parameter of its own.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>

#include "db/store.hpp"

namespace tilesmith::tuner {

class ValueHistory {
 public:
  /// That a value is in none of so many outcomes of a family says that it was not there: of the 262 values in the shipped recording
  /// 242 are in the first thousand of their family; of the others seven were added later, and most are for some type pairs only.
  static constexpr std::int64_t kTelling = 1000;

  explicit ValueHistory(const db::Store& store);

  /// Whether the value was first tried, on any problem and device, after the entry of that id was recorded, or never, although kTelling
  /// outcomes of the family had been recorded by then.
  bool came_after(const std::string& family, const std::string& parameter, int value, std::int64_t then) const;

 private:
  std::map<std::tuple<std::string, std::string, std::int64_t>, std::int64_t> first_tried_;  // ids of entries, as the next
  std::map<std::string, std::int64_t> telling_from_;                                        // by family
};

}  // namespace tilesmith::tuner
