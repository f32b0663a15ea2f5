// Runs strategies over recorded outcomes, to compare them: seeded, free of CUDA, files and printing.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tuner/search/strategy.hpp"

namespace tilesmith::tuner {

/// What a table's outcomes are of, where it is not time: they are then made of another figure, so that less is better.
struct OtherObjective {
  std::string name;  ///< "GFLOP/s"
  double optimum = 0;
};

/// A space whose every config has a known outcome.
struct OutcomeTable {
  std::string name;
  SearchSpace space;
  std::vector<Score> outcomes;                   ///< µs, by index in the space; nullopt: failed
  std::size_t ok = 0;                            ///< how many have a time
  double optimum_us = 0;                         ///< the shortest time; 0 if none has one
  std::optional<OtherObjective> objective = {};  ///< nullopt: time
};

/// The recorded configs of one family. A row's positions say which value of each parameter it has.
struct FamilyOutcomes {
  std::string family;
  std::vector<Parameter> parameters;
  struct Row {
    std::vector<std::size_t> positions;
    Score time_us;
  };
  std::vector<Row> rows;
};

/// Joins the families' spaces, each in odometer order (last parameter fastest). A time that is not a positive number
/// counts as failed. Throws std::invalid_argument if a config comes twice or a position is none of its parameter's.
OutcomeTable make_table(std::string name, std::vector<FamilyOutcomes> families);

struct SimulationOptions {
  std::size_t runs = 100;         ///< each from nothing: no seed configs, no records
  std::size_t evaluations = 400;  ///< a run's most; failed configs count
  std::size_t width = 1;          ///< proposals asked for at a time; observed once all of them are evaluated
  std::uint64_t seed = 1;         ///< run i is seeded with seed + i, whatever the strategy
};

/// Fractions of the optimum over all runs. The fraction after k evaluations is optimum time / best time so far, 0 while
/// nothing was ok. Element k - 1 holds what was reached after k evaluations; as many elements as the table has configs
/// or the options evaluations, whichever is less. A run that proposed nothing more keeps its last fraction.
struct Curve {
  std::vector<double> mean;
  std::vector<double> tenth;  ///< tenth percentile, by nearest rank: the ⌈runs / 10⌉-th smallest
  std::vector<double> minimum;
  double seconds_per_run = 0;  ///< CPU time, looking outcomes up included
};

using MakeStrategy = std::function<std::unique_ptr<Strategy>(const SearchSpace& space, std::uint64_t seed)>;

/// On all cores; nullopt if it was stopped. `on_run_done` is called after each run, on one thread at a time.
std::optional<Curve> simulate(const OutcomeTable& table, const MakeStrategy& make, const SimulationOptions& options,
    const std::atomic<bool>& stop, const std::function<void()>& on_run_done = {});
/// A strategy by name. Throws std::invalid_argument if there is none of that name.
std::optional<Curve> simulate(const OutcomeTable& table, std::string_view strategy, const SimulationOptions& options,
    const std::atomic<bool>& stop, const std::function<void()>& on_run_done = {});

/// How much of what random search leaves to be gained a strategy gains, over the whole budget:
///
///   score = Σ (strategy(k) − random(k)) / Σ (1 − random(k)),   k from the first with random(k) > 0 to the last evaluation
///
/// where strategy(k) and random(k) are the mean fractions of the optimum after k evaluations. 1: the optimum at once;
/// 0: as good as random search; negative: worse. The sums are divided, and not each k's difference by each k's rest:
/// where random search is about to exhaust a small space the rest is next to nothing, and would outweigh all other k. 0
/// where random search leaves nothing. Precondition: both of one table, from the same options.
double score_against_random(const Curve& strategy, const Curve& random);

}  // namespace tilesmith::tuner
