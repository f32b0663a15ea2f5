// The bests of a store that grows: read once, and then only those of problems with new entries.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "db/store.hpp"

namespace tilesmith::tuner {

/// To rank the bests of all problems takes the longer the more is recorded, and a search wants them at each problem. Not thread-safe.
class KeptBests {
 public:
  /// The store must outlive it.
  explicit KeptBests(const db::Store& store) : store_(store) {}

  /// As Store::best() gives them, of entries that are ok, at the first call or the last refresh() since.
  const std::vector<db::Best>& all();
  /// Takes in what was recorded since, by this process or another.
  void refresh();

 private:
  const db::Store& store_;
  std::optional<std::vector<db::Best>> bests_;
  std::int64_t until_ = 0;  // the entry up to which they count
};

}  // namespace tilesmith::tuner
