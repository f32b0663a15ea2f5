// What the records of a task say of the task itself: what is known, what was fast by former kernels or drivers,
// and which values were added since.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "db/store/record.hpp"
#include "kernels/families/family.hpp"
#include "tuner/warm_start/new_values.hpp"

namespace tilesmith::tuner {

/// A candidate whose records need no repeating.
struct KnownCandidate {
  Config config;
  db::Outcome outcome;
  bool repeated = false;  ///< one machine has measured it more than once: it was in a final benchmark
  std::string run{};      ///< that the outcome is of
};

/// How a recorded config reads today, and who would measure it now.
struct Today {
  /// Empty if it may not be tried on the task.
  std::function<std::optional<Config>(const Config& recorded)> config;
  /// Of the config's family, as they are; null if that is none of those that are asked about.
  std::function<const std::vector<Parameter>*(const Config& recorded)> parameters;
  std::function<db::Environment(const std::string& family)> environment;
  const db::FirstTried* first_tried = nullptr;  ///< of the store; null: new values are not asked for
};

struct OwnRecords {
  /// The fastest of what is to be re-verified or of former times has not been tried again, and was faster than all that
  /// is known.
  bool best_is_lost = false;
  std::vector<KnownCandidate> known;  ///< in the order in which they were first tried
  // The rest had a time and is not known, each config once: what was fastest in the latest run that measured any of it,
  // then by time. Times of runs on other days, or on other devices of the model, hardly compare where a power limit
  // sets the clock: by time alone what a cool day's run passed over came before what is in use. What failed then is no
  // guess: a search comes to it in its own time. `former_times`: of a former measuring policy, or retired.
  std::vector<Config> to_reverify, former_times;
  /// All that had an outcome by former kernels, drivers or policies, the latest such one of each config, known by now
  /// or not.
  std::vector<KnownCandidate> former;
  /// The few fastest of all and of other block tiles (choose_finalists), each with values that are new to the task
  /// (new_values.hpp).
  std::vector<Config> varied;
};

/// `newest_first`: all of one task on one device.
OwnRecords own_records(std::span<const db::Record> newest_first, const Today& today);

}  // namespace tilesmith::tuner
