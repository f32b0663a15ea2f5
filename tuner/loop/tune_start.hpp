// What the search of one task starts from: its space, what is already known of it, and what is worth trying first.
#pragma once

#include <atomic>
#include <future>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "db/store/store.hpp"
#include "tuner/evaluator.hpp"
#include "tuner/search/strategy.hpp"
#include "tuner/warm_start/initial_configs.hpp"
#include "tuner/warm_start/untuned_choices.hpp"

namespace tilesmith::tuner {

struct StartingPoint {
  /// An outcome of the store that needs no repeating.
  struct ReusedOutcome {
    std::size_t index = 0;
    db::Outcome outcome;
    bool repeated = false;  ///< one machine has measured it more than once: it was in a final benchmark
    std::string run{};      ///< that its outcome is of
  };
  SearchSpace space;
  std::vector<ReusedOutcome> reused;         ///< in the order in which they were first tried
  std::vector<std::size_t> initial_configs;  ///< best guess first (InitialConfigs::to_try)
  /// UntunedChoices: `exact` and `model`, as far as they are in the space. Empty with only_finalists.
  std::vector<std::vector<std::size_t>> untuned;
  bool best_is_lost = false;  ///< as in InitialConfigs
};

class StartingPoints {
 public:
  /// Of how many type pairs and transposes the legal configs are kept.
  static constexpr std::size_t kMostKept = 16;

  StartingPoints(const StartingPoints&) = delete;  // its threads know where it is
  StartingPoints& operator=(const StartingPoints&) = delete;
  /// `families` empty: all. Throws std::invalid_argument if one is unknown. `only_finalists`: as in InitialConfigsFor.
  StartingPoints(const std::vector<std::string>& families, Evaluator& evaluator, const db::Store& store,
      std::size_t only_finalists = 0);
  ~StartingPoints() { abandoned_ = true; }
  /// Only valid records are known. What is retired proves nothing: its configs are initial configs at most. The task
  /// has M, N, K ≥ 1.
  StartingPoint of(const Task& task);
  /// Begins to make what the task that will be asked for next starts from, on threads of its own: the device would
  /// wait for it. That is its space, and of it and the task after it, if that is known, what the search would know
  /// and what it would try first, at most so many (0: this is not asked for), if it began now, as far as the bests of
  /// other tasks were known at the last call of of(); what is recorded meanwhile may count.
  void prepare(const Task& task, std::size_t most_initial = 0, const Task* after = nullptr);
  /// For one of those tasks, what its search would know and try first. Each is returned once, in their order, as soon
  /// as it is ready; with `wait`, this waits for the next task's. A store in memory has one connection, so then it is
  /// made in this call. Throws what the store threw.
  using Announced = std::pair<Task, InitialConfigs>;
  std::optional<Announced> announced(bool wait);

  const db::Environment& environment(const std::string& family);

 private:
  std::future<SearchSpace> finish_prepared(const Task& task);
  SearchSpace space_of(const Task& task);
  std::vector<std::vector<Config>> untuned_choices(const Task& task, const InitialConfigs& initial_configs);
  InitialConfigs to_announce(const Task& task, std::size_t most);
  /// Of all families. Enumerated anew (a second of processor time) only where neither this nor one of the last few
  /// tasks had the type pair and transposes. Valid until the next call.
  const SearchSpace& legal_configs(const Task& task);

  std::vector<const Family*> families_;
  Evaluator& evaluator_;
  std::map<std::string, db::Environment> environments_;
  std::optional<db::Store> reader_;  // the source's, on whatever thread it works
  InitialConfigsFor whom_;
  InitialConfigSource source_;
  std::optional<UntunedChoices> untuned_;  // none with only_finalists
  std::set<std::string> cut_short_;        // runs before this one that did not end by themselves
  struct LegalConfigs {
    KernelSignature signature;
    SearchSpace space;
  };
  std::vector<LegalConfigs> kept_;  // the last used first; one entry takes some 11 MB
  struct Prepared {
    Task task;
    std::future<SearchSpace> space;
    std::vector<std::pair<Task, std::shared_future<InitialConfigs>>> to_tell;  // one is made after the other
  };
  // Nobody will ask for the space that is being made: its end is waited for, so let it come soon. InitialConfigs take a
  // fraction of a second.
  std::atomic<bool> abandoned_{false};
  std::optional<Prepared> prepared_;  // while it is being made, kept_, source_ and untuned_ are touched by nobody else
  std::vector<Task> told_;            // the last two
};

}  // namespace tilesmith::tuner
