// Which recorded times may still decide what runs, and how far entries count today as `explain` judges them: each
// device by its own newest records.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "db/store/store.hpp"
#include "db/store/trust.hpp"
#include "tuner/target_device.hpp"

namespace tilesmith::tuner {

struct UsableBests {
  std::vector<db::Judged> bests;     ///< of entries among those given
  std::size_t retired_problems = 0;  ///< problems, on a device, whose every record are retired
};

/// Of each problem on each device the first `most` of the one ranking (db/store/ranked.hpp) whose configs may run, best
/// first. The library chooses the first of them (runtime/choose/choose.hpp, `exact`). `now`: the environment that would
/// measure the entry's config today. `runs`, if given: whether its config may run its problem today (rules_allow).
UsableBests usable_bests(const std::vector<db::Record>& entries,
    const std::function<db::Environment(const db::Record&)>& now,
    const std::function<bool(const db::Record&)>& runs = {}, std::size_t most = 1);

/// Whether today's rules let the entry's config run its problem on a device of these limits. (A plan hash goes by those
/// of the architecture.)
bool rules_allow(const db::Record& entry, const DeviceLimits& limits);

/// By text. None: this build knows no architecture of it.
using Devices = std::map<std::string, std::optional<TargetDevice>>;

/// Judges entries of one signature. What environment they are judged by depends on all entries of these.
class Judge {
 public:
  /// Adds the entries' devices to `devices`, from them alone: a tuner may have added one since the store was asked for
  /// its devices.
  Judge(const std::vector<db::Record>& entries, Devices& devices);

  const db::Environment& now(const db::Record& entry) const {
    return now_.at({db::text(entry.device), entry.config.family()});
  }
  /// Whether today's rules let the entry's config run on its device.
  bool runs(const db::Record& entry) const;

 private:
  const Devices& devices_;
  std::map<std::pair<std::string, std::string>, db::Environment> now_;  // by device and family
};

/// The problems of a store that are judged together, by text of their signature.
std::map<std::string, std::vector<Task>> judged_together(const db::Store& store);

/// All entries of these problems, the latest first.
std::vector<db::Record> entries_of(const db::Store& store, const std::vector<Task>& tasks);

}  // namespace tilesmith::tuner
