// What is known of a problem, and what is worth trying first on it, in order. No space is enumerated for that, so it
// can be asked for many problems.
#pragma once

#include <deque>
#include <functional>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "db/store/store.hpp"
#include "kernels/families/family.hpp"
#include "tuner/warm_start/families_today.hpp"
#include "tuner/warm_start/kept_bests.hpp"
#include "tuner/warm_start/own_records.hpp"

namespace tilesmith::tuner {

/// The families of these names, in the order in which they are documented; `names` empty: all. Throws
/// std::invalid_argument if one is unknown.
std::vector<const Family*> families_named(const std::vector<std::string>& names);

/// Whom the initial configs are for: a device that is here, or one for which kernels are prepared.
struct InitialConfigsFor {
  std::vector<const Family*> families;
  db::DeviceIdentity device;
  DeviceLimits limits;
  std::function<db::Environment(const std::string& family)> environment;  ///< of what would be measured now
  /// What else may be tried at all (Evaluator::knows); empty: everything.
  FamiliesToday::Knows knows;
  /// Above 0: nothing is worth trying but so many of the problem's own former candidates (former_finalists), less those
  /// known.
  std::size_t only_finalists = 0;
};

struct InitialConfigs {
  bool best_is_lost = false;          ///< as in OwnRecords
  std::vector<KnownCandidate> known;  ///< in the order in which they were first tried
  /// Best guess first, each once, none of them known: this problem's configs to re-verify; the fastest few whose
  /// records are retired, in turn with the fastest few of all and of other block tiles by values that were added since
  /// (OwnRecords::varied; one of them comes first where a known candidate is faster than all that is retired); then in
  /// turn the few configs that were fastest for this problem on similar devices (db::are_similar), what a model of what
  /// was tried on other problems, and on such devices, promises most of (record_model.hpp), the bests of other problems
  /// and the families' own initial configs; the own initial configs of families that were far behind nearby
  /// (TriedNearby::outclassed); the families' ladders from the top. All are legal and eligible for the problem. Of a
  /// kernel of a user's own, after its own records, the bests at the nearest other sizes.
  std::vector<Config> to_try;
};

class InitialConfigSource {
 public:
  static constexpr std::size_t kAll = std::numeric_limits<std::size_t>::max();

  /// The store must outlive it.
  InitialConfigSource(InitialConfigsFor whom, const db::Store& store);

  /// `most`: of to_try. The task is one that can be tuned (no_task_because()).
  InitialConfigs of(const Task& task, std::size_t most = kAll);
  /// The bests of other problems are read from the store at first need only; this adds what was recorded since. What
  /// the model promised of a problem stays, if there was enough to learn from: to learn again what little was added is
  /// not worth an idle device.
  void refresh_bests();

 private:
  class List;

  std::optional<Config> runnable(const Config& config, const Task& task);
  OwnRecords record_on(const db::DeviceIdentity& device, const Task& task);
  void add_own(InitialConfigs& initial_configs, List& list, const Task& task);
  void add_best_of_sister(List& list, const Problem& problem);
  std::vector<Config> of_similar_devices(const Problem& problem);
  std::vector<Config> nearest_bests(const Problem& problem, const List& list, const std::vector<Config>& of_similar);
  const std::vector<Config>& family_configs(const Problem& problem);
  struct Learned {
    std::vector<Config> promising;     // most promising first
    std::set<std::string> outclassed;  // families
    bool nothing() const { return promising.empty(); }
  };
  const Learned& learned_nearby(
      const Problem& problem, const std::vector<Config>& of_similar, const std::vector<Config>& nearest);
  std::vector<Config> ladders(const Problem& problem);

  InitialConfigsFor whom_;
  const db::Store& store_;
  FamiliesToday families_;
  KeptBests bests_;
  db::FirstTried first_tried_;  // by the entries up to that one
  std::int64_t first_tried_until_ = 0;
  // Results for the last few problems that were asked for, newest first, because they take long to make.
  static constexpr std::size_t kMostKept = 3;  // one is searched while two are announced
  std::deque<std::pair<Problem, std::vector<Config>>> family_configs_;
  std::deque<std::pair<Problem, Learned>> learned_;
};

}  // namespace tilesmith::tuner
