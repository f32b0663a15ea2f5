#include "tuner/search/simulation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <mutex>
#include <stdexcept>

#include "kernels/base/on_all_cores.hpp"

namespace tilesmith::tuner {
namespace {

/// A run's best time, which changes seldom: from this many evaluations on it was this.
struct Step {
  std::size_t evaluations = 0;
  double best_us = 0;
};

struct RunResult {
  std::vector<Step> steps;
  double seconds = 0;
};

std::size_t budget_of(const OutcomeTable& table, const SimulationOptions& options) {
  return std::min(options.evaluations, table.space.size());
}

/// CPU time of this thread.
double cpu_seconds() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return double(time.tv_sec) + 1e-9 * double(time.tv_nsec);
}

RunResult run_once(const OutcomeTable& table, const MakeStrategy& make, const SimulationOptions& options,
    std::size_t run, const std::atomic<bool>& stop) {
  const double began = cpu_seconds();
  RunResult result;
  const std::unique_ptr<Strategy> strategy = make(table.space, options.seed + run);
  const std::size_t budget = budget_of(table, options);
  const std::size_t width = std::max<std::size_t>(1, options.width);
  std::size_t done = 0;
  while (done < budget && !stop) {
    const std::vector<std::size_t> proposals = strategy->ask(std::min(width, budget - done));
    if (proposals.empty()) break;
    for (const std::size_t index : proposals) {
      const Score time_us = table.outcomes[index];
      ++done;
      if (time_us && (result.steps.empty() || *time_us < result.steps.back().best_us)) {
        result.steps.push_back({done, *time_us});
      }
    }
    for (const std::size_t index : proposals) strategy->observe(index, table.outcomes[index]);
  }
  result.seconds = cpu_seconds() - began;
  return result;
}

/// Every run, in the order of their numbers.
std::vector<RunResult> run_all(const OutcomeTable& table, const MakeStrategy& make, const SimulationOptions& options,
    const std::atomic<bool>& stop, const std::function<void()>& on_run_done) {
  std::vector<RunResult> results(options.runs);
  std::mutex mutex;
  on_all_cores(options.runs, [&](std::size_t run) {
    if (stop) return;
    results[run] = run_once(table, make, options, run, stop);
    const std::scoped_lock lock(mutex);
    if (on_run_done) on_run_done();
  });
  return results;
}

Curve curve_of(const std::vector<RunResult>& runs, double optimum_us, std::size_t budget) {
  Curve curve;
  std::vector<std::size_t> passed(runs.size(), 0);  // steps of each run that were taken so far
  std::vector<double> fractions(runs.size(), 0);
  std::vector<double> sorted;
  for (std::size_t k = 1; k <= budget; ++k) {
    double sum = 0;
    for (std::size_t run = 0; run < runs.size(); ++run) {
      const std::vector<Step>& steps = runs[run].steps;
      while (passed[run] < steps.size() && steps[passed[run]].evaluations <= k) {
        fractions[run] = optimum_us / steps[passed[run]++].best_us;
      }
      sum += fractions[run];
    }
    sorted = fractions;
    const auto tenth = sorted.begin() + std::ptrdiff_t((runs.size() + 9) / 10 - 1);
    std::nth_element(sorted.begin(), tenth, sorted.end());
    curve.tenth.push_back(*tenth);
    curve.minimum.push_back(*std::min_element(sorted.begin(), tenth + 1));
    curve.mean.push_back(sum / double(runs.size()));
  }
  for (const RunResult& run : runs) curve.seconds_per_run += run.seconds / double(runs.size());
  return curve;
}

bool is_time(const Score& time_us) { return time_us && std::isfinite(*time_us) && *time_us > 0; }

/// Sorts the rows; their configs in that order.
Space space_of(FamilyOutcomes& outcomes) {
  Space space;
  space.family = outcomes.family;
  std::sort(outcomes.rows.begin(), outcomes.rows.end(),
      [](const auto& a, const auto& b) { return a.positions < b.positions; });
  const std::vector<std::size_t>* before = nullptr;
  for (const FamilyOutcomes::Row& row : outcomes.rows) {
    std::vector<Config::Value> values;
    for (std::size_t i = 0; i < outcomes.parameters.size(); ++i) {
      const Parameter& parameter = outcomes.parameters[i];
      if (i >= row.positions.size() || row.positions[i] >= parameter.values.size()) {
        throw std::invalid_argument(
            fmt::format("family {}: a row has no value of {}", outcomes.family, parameter.name));
      }
      values.emplace_back(parameter.name, parameter.values[row.positions[i]]);
    }
    space.configs.emplace_back(outcomes.family, std::move(values));
    if (before != nullptr && *before == row.positions) {
      throw std::invalid_argument(fmt::format("{} comes twice", space.configs.back().text()));
    }
    before = &row.positions;
  }
  space.parameters = std::move(outcomes.parameters);
  return space;
}

}  // namespace

OutcomeTable make_table(std::string name, std::vector<FamilyOutcomes> families) {
  std::vector<Space> spaces;
  std::vector<Score> outcomes;
  std::size_t ok = 0;
  double optimum_us = 0;
  for (FamilyOutcomes& family : families) {
    spaces.push_back(space_of(family));
    for (const FamilyOutcomes::Row& row : family.rows) {
      outcomes.push_back(is_time(row.time_us) ? row.time_us : std::nullopt);
      if (!outcomes.back()) continue;
      if (ok++ == 0 || *outcomes.back() < optimum_us) optimum_us = *outcomes.back();
    }
  }
  return {std::move(name), SearchSpace(spaces), std::move(outcomes), ok, optimum_us, std::nullopt};
}

std::optional<Curve> simulate(const OutcomeTable& table, const MakeStrategy& make, const SimulationOptions& options,
    const std::atomic<bool>& stop, const std::function<void()>& on_run_done) {
  if (options.runs == 0) throw std::invalid_argument("0 runs: expected at least one");
  const std::vector<RunResult> runs = run_all(table, make, options, stop, on_run_done);
  if (stop) return std::nullopt;
  return curve_of(runs, table.optimum_us, budget_of(table, options));
}

std::optional<Curve> simulate(const OutcomeTable& table, std::string_view strategy, const SimulationOptions& options,
    const std::atomic<bool>& stop, const std::function<void()>& on_run_done) {
  if (!make_strategy(strategy, table.space, options.seed)) {
    throw std::invalid_argument(fmt::format("unknown strategy '{}'", strategy));
  }
  const MakeStrategy make = [strategy](const SearchSpace& space, std::uint64_t seed) {
    return make_strategy(strategy, space, seed);
  };
  return simulate(table, make, options, stop, on_run_done);
}

double score_against_random(const Curve& strategy, const Curve& random) {
  double gained = 0, left = 0;
  bool begun = false;
  for (std::size_t k = 0; k < std::min(strategy.mean.size(), random.mean.size()); ++k) {
    begun = begun || random.mean[k] > 0;
    if (!begun) continue;
    gained += strategy.mean[k] - random.mean[k];
    left += 1 - random.mean[k];
  }
  return left > 0 ? gained / left : 0;
}

}  // namespace tilesmith::tuner
