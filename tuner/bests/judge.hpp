// How far recorded entries count today, as `explain` judges them: each device by its own newest records.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "db/store/store.hpp"
#include "tuner/target_device.hpp"

namespace tilesmith::tuner {

/// By text. None: this build knows no architecture of it.
using Devices = std::map<std::string, std::optional<TargetDevice>>;

/// Judges entries of one signature. What environment they are judged by depends on all entries of these.
class Judge {
 public:
  /// Adds the entries' devices to `devices`, from them alone: a tuner may have added one since the store was asked for its devices.
  Judge(const std::vector<db::Record>& entries, Devices& devices);

  const db::Environment& now(const db::Record& entry) const { return now_.at({db::text(entry.device), entry.config.family()}); }
  /// Whether today's rules let the entry's config run on its device.
  bool runs(const db::Record& entry) const;

 private:
  const Devices& devices_;
  std::map<std::pair<std::string, std::string>, db::Environment> now_;  // by device and family
};

/// The problems of a store that are judged together, by text of their signature.
std::map<std::string, std::vector<Problem>> judged_together(const db::Store& store);

/// All entries of these problems, the latest first.
std::vector<db::Record> entries_of(const db::Store& store, const std::vector<Problem>& problems);

}  // namespace tilesmith::tuner
