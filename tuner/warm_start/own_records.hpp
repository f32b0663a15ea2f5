// What the records of a problem say of the problem itself: what is known, what was fast by former kernels or drivers,
// and which values were added since.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "db/store/record.hpp"
#include "db/store/store.hpp"
#include "kernels/families/family.hpp"

namespace tilesmith::tuner {

// Values of parameters that came after a problem was tuned: by a longer list of values, a rule that allows more, or a
// parameter that the recorded configs lack. A model of the records says nothing of them, and a search around the best
// finds them late, however much better they are.

/// The block tile of a config: what most of a kernel's behaviour on a problem follows from, energy and rounds of blocks
/// above all. Family, block_m, block_n.
using BlockTile = std::tuple<std::string, int, int>;

/// Configs of families without tiles are all of one.
inline BlockTile block_tile(const Config& config) {
  const bool has_tile = config.has("block_m") && config.has("block_n");
  return {config.family(), has_tile ? config.at("block_m") : 0, has_tile ? config.at("block_n") : 0};
}

class NewValues {
 public:
  /// Of a store with fewer entries most values have just not been tried yet: 242 of the 262 in the shipped recording
  /// are in the first thousand of their family.
  static constexpr std::int64_t kTelling = 1000;

  /// `first_tried`: of the store, which must outlive this.
  explicit NewValues(const db::FirstTried& first_tried) : first_tried_(first_tried) {}

  /// Each entry of the problem, newest first, as it was recorded.
  void saw(const db::Record& entry);
  /// The config, one of today's, with each other value that no entry of the problem has in its block tile, nor any
  /// entry of the store had when most of the problem's entries of the family were recorded. By tiles, since a value may
  /// do nothing for one and much for another. None if the store had fewer than kTelling then.
  std::vector<Config> neighbours(const Config& config, const std::vector<Parameter>& parameters) const;

 private:
  const db::FirstTried& first_tried_;
  std::set<std::tuple<BlockTile, std::string, int>> seen_;    // tile, parameter, value
  std::map<std::string, std::vector<std::int64_t>> entries_;  // by family, newest first
};

/// A candidate whose records need no repeating.
struct KnownCandidate {
  Config config;
  db::Outcome outcome;
  bool repeated = false;  ///< one machine has measured it more than once: it was in a final benchmark
  std::string run{};      ///< that the outcome is of
};

/// How a recorded config reads today, and who would measure it now.
struct Today {
  /// Empty if it may not be tried on the problem.
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
  /// The few fastest of all and of other block tiles (choose_finalists), each with values that are new to the problem
  /// (NewValues).
  std::vector<Config> varied;
};

/// `newest_first`: all of one problem on one device.
OwnRecords own_records(std::span<const db::Record> newest_first, const Today& today);

}  // namespace tilesmith::tuner
