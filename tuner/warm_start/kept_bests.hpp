// The bests of a store that grows: read once, and then only those of problems with new entries.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "db/store/store.hpp"

namespace tilesmith::tuner {

/// To rank the bests of all problems takes the longer the more is recorded, and a search wants them at each problem.
/// Not thread-safe.
class KeptBests {
 public:
  /// The store must outlive it. `now`: the environment that would measure the entry's config today.
  KeptBests(const db::Store& store, std::function<db::Environment(const db::Record&)> now)
      : store_(store), now_(std::move(now)) {}

  /// Of each problem on each device the first by the one ranking (db/store/ranked.hpp), or where all times are retired
  /// the first of these: it is no word on what may run, and a guess as good as others. At the first call or the last
  /// refresh() since, in the order of the texts of problem and device.
  const std::vector<db::Record>& all();
  /// Takes in what was recorded since, by this process or another.
  void refresh();

 private:
  const db::Store& store_;
  std::function<db::Environment(const db::Record&)> now_;
  bool asked_ = false;
  std::map<std::string, std::vector<db::Record>> by_problem_;  // by text
  std::vector<db::Record> all_;
  std::int64_t until_ = 0;  // the entry up to which they count
};

}  // namespace tilesmith::tuner
