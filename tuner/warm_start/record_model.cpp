#include "tuner/warm_start/record_model.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "kernels/families/estimate.hpp"
#include "tuner/peaks.hpp"
#include "tuner/search/regression_forest.hpp"

namespace tilesmith::tuner {
namespace {

using Feature = RegressionForest::Feature;

constexpr double kStepsADoubling = 64;  // features are logarithms, in whole steps
constexpr double kResolution = 1024;    // targets are ln(slowdown) in whole multiples of 1 / this
constexpr double kWorst = 3;            // ln(slowdown): how bad is bad enough is not worth learning
constexpr Feature kAbsent = -1000;
constexpr const char* kBatch = "entries of a batch";   // a column that is there only where some problem has several
constexpr const char* kWork = "work of the epilogue";  // the same, where some problem has one

enum Column {
  kFamily,
  kM,
  kN,
  kK,
  kType,
  kOperandBytes,
  kTransA,
  kTransB,
  kAlignA,
  kAlignB,
  kAlignC,
  kPaddingM,
  kPaddingN,
  kSteps,
  kWaves,
  kEstimate,
  kParameters,
};

Feature logarithm(double value) { return Feature(std::lround(kStepsADoubling * std::log2(std::max(value, 1e-6)))); }

template <typename List, typename Matches>
Feature index_of(const List& list, const Matches& matches) {
  return Feature(std::find_if(std::begin(list), std::end(list), matches) - std::begin(list));
}

/// Parameters of one name mean the same in all families, and share a column.
class Columns {
 public:
  void add(const Config& config) {
    for (const auto& [name, value] : config.values()) by_name_.try_emplace(name.text(), kParameters + by_name_.size());
  }
  void add(const std::string& name) { by_name_.try_emplace(name, kParameters + by_name_.size()); }
  bool has(const std::string& name) const { return by_name_.contains(name); }
  std::size_t count() const { return kParameters + by_name_.size(); }
  std::size_t of(const std::string& name) const { return by_name_.at(name); }

 private:
  std::map<std::string, std::size_t> by_name_;
};

void describe_problem(const Problem& problem, Feature* row) {
  row[kM] = logarithm(double(problem.m));
  row[kN] = logarithm(double(problem.n));
  row[kK] = logarithm(double(problem.k));
  row[kType] = index_of(type_pairs(), [&](const TypePair& type) { return type == problem.type; });
  row[kOperandBytes] = Feature(size_bits(problem.type.a) / 8);
  row[kTransA] = problem.trans.a;
  row[kTransB] = problem.trans.b;
  row[kAlignA] = Feature(a_align_bytes(problem));
  row[kAlignB] = Feature(b_align_bytes(problem));
  row[kAlignC] = Feature(c_align_bytes(problem));
}

/// How the config's tiles lie on the problem, by the names that families agree on.
void describe_fit(const Config& config, const Problem& problem, const DeviceLimits& limits, Feature* row) {
  if (!config.has("block_m") || !config.has("block_n")) return;
  const double split_k = config.has("split_k") ? config.at("split_k") : 1;
  const double tiles_m = std::ceil(double(problem.m) / config.at("block_m"));
  const double tiles_n = std::ceil(double(problem.n) / config.at("block_n"));
  row[kPaddingM] = logarithm(tiles_m * config.at("block_m") / double(problem.m));
  row[kPaddingN] = logarithm(tiles_n * config.at("block_n") / double(problem.n));
  row[kWaves] = logarithm(tiles_m * tiles_n * double(problem.batch) * split_k / std::max(1, limits.sm_count));
  if (config.has("block_k")) row[kSteps] = logarithm(double(problem.k) / config.at("block_k") / split_k);
}

/// None, a second matrix or a vector, an activation, or a gate: what a kernel does with its sums, the more the higher.
Feature work_of(const Epilogue& epilogue) {
  if (epilogue.is_linear()) return 0;
  return epilogue.is_gated() ? 3 : epilogue.activation == Activation::identity ? 1 : 2;
}

void describe(const Config& config, const Problem& as, const TriedOn& on, const Columns& columns, Feature* row) {
  const Problem problem = evenly_split(as);
  std::fill(row, row + columns.count(), kAbsent);
  row[kFamily] = index_of(families(), [&](const auto& family) { return family->name() == config.family(); });
  describe_problem(as_planned(problem), row);
  describe_fit(config, problem, on.limits, row);
  if (const auto made = estimate(config, {as, on.limits}, as)) {
    row[kWaves] = logarithm(made->waves);
    row[kEstimate] = logarithm(made->cycles / std::max(1.0, floor_us(on.device, problem)));
  }
  if (columns.has(kWork)) row[columns.of(kWork)] = work_of(problem.epilogue);
  if (columns.has(kBatch)) row[columns.of(kBatch)] = logarithm(double(problem.batch));
  for (const auto& [name, value] : config.values())
    row[columns.of(name.text())] = value > 0 ? logarithm(value) : Feature(value - kStepsADoubling);
}

}  // namespace

std::vector<Config> most_promising_first(std::vector<Config> candidates, std::span<const Tried> tried,
    const Problem& problem, const TriedOn& on, std::uint64_t seed) {
  if (tried.empty()) return candidates;
  Columns columns;
  for (const Tried& one : tried) columns.add(one.config);
  for (const Config& config : candidates) columns.add(config);
  const auto is_batch = [](const Problem& of) { return of.batch != 1; };
  if (is_batch(problem) || std::ranges::any_of(tried, is_batch, &Tried::problem)) columns.add(kBatch);
  const auto has_epilogue = [](const Problem& of) { return !of.epilogue.is_linear(); };
  if (has_epilogue(problem) || std::ranges::any_of(tried, has_epilogue, &Tried::problem)) columns.add(kWork);
  std::vector<Feature> features(tried.size() * columns.count());
  std::vector<std::int32_t> targets;
  for (std::size_t i = 0; i < tried.size(); ++i) {
    describe(tried[i].config, tried[i].problem, on, columns, features.data() + i * columns.count());
    targets.push_back(std::int32_t(std::lround(kResolution * std::min(kWorst, std::log(tried[i].slowdown)))));
  }
  Rng rng(seed);
  RegressionForest forest;
  forest.fit(features, columns.count(), targets, rng, RegressionForest::Cores::all);  // a device may wait for it

  std::vector<double> predicted;
  std::vector<Feature> row(columns.count());
  for (const Config& config : candidates) {
    describe(config, problem, on, columns, row.data());
    predicted.push_back(forest.predict(row).mean);
  }
  std::vector<std::size_t> order(candidates.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(
      order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return predicted[a] < predicted[b]; });
  std::vector<Config> ranked;
  for (const std::size_t index : order) ranked.push_back(std::move(candidates[index]));
  return ranked;
}

}  // namespace tilesmith::tuner
