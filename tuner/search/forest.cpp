// The default. Model-guided search (SMAC: Hutter, Hoos, Leyton-Brown 2011): randomised trees learn the times of what was
// observed, and of a pool of candidates the one with the least lower confidence bound is proposed. How many deviations
// that lies below the mean is drawn anew for each proposal from an exponential distribution, so that bold and careful
// proposals take turns (Hutter, Hoos, Leyton-Brown 2012).
//
// Most pools are around the fastest configs. The longer nothing was gained, the more are around the fastest config of a
// slice: of those that have a certain value which the fastest of all lacks, or, where there are several families, of
// those of another one. Families, and flags that select another algorithm, divide a space into regions, and the best
// region is often not that of the first good config.
//
// A forest that is fitted anew after each result costs too much: some trees are replaced instead.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "tuner/search/regression_forest.hpp"
#include "tuner/search/strategy_base.hpp"

namespace tilesmith::tuner {
namespace {

constexpr std::size_t kForestSample = 10;   // before the first fit; initial configs and records count
constexpr double kSliceShare = 0.5;         // of the proposals at most
constexpr double kPatience = 30;            // results without gain until it is reached
constexpr std::size_t kBestFew = 3;         // that the other pools are around
constexpr std::size_t kRandom = 200;        // random configs in those
constexpr std::size_t kPairs = 4;           // configs around each of the best few that differ in two parameters
constexpr std::size_t kSlicePairs = 20;     // the same in a slice
constexpr std::size_t kMoved = 20;          // configs that are moved into a slice
constexpr double kDoubt = 1;                // mean of the deviations below the mean
constexpr std::size_t kRenewed = 2;         // trees for each observation
constexpr std::size_t kMostRows = 1000;     // of a training set
constexpr double kResolution = 1024;        // targets are whole multiples of 1 / this
constexpr double kEstimateResolution = 32;  // and estimates as features
constexpr double kOctave = 16;              // steps of a feature from a value to its double

using Feature = RegressionForest::Feature;

/// What the trees see of a parameter: by position the logarithm of the value, and its factors of two if they do not
/// rise with it. A block of 96 threads is between those of 64 and 128 in size, but may be slower than both.
struct Columns {
  std::size_t size = 0, twos = 0;  // 0: none
  std::vector<Feature> size_at, twos_at;
};

class Forest final : public StrategyBase {
 public:
  Forest(const SearchSpace& searched, std::uint64_t seed, Hints hints)
      : StrategyBase(searched, seed, std::move(hints)), columns_of_(searched.family_count()) {
    for (std::size_t family = 0; family < searched.family_count(); ++family) {
      for (const Parameter& parameter : searched.parameters(family))
        columns_of_[family].push_back(columns_for(parameter.values));
    }
    if (this->hints().estimate) estimate_column_ = columns_++;
  }

 protected:
  std::optional<std::size_t> propose() override {
    if (ran_ < 2 || observed_count() < kForestSample) return spread_unvisited();
    if (unlearnt_ > 0) renew_trees();
    std::vector<std::size_t> pool;
    if (rng().unit() < kSliceShare * std::min(1.0, without_gain_ / kPatience)) pool = pool_of_slice();
    if (pool.empty()) pool = pool_of_best();
    rng().shuffle(pool);  // many promise the same: any of them
    const double doubt = -kDoubt * std::log(1 - rng().unit());
    std::optional<std::size_t> best;
    double least = std::numeric_limits<double>::infinity();
    for (const std::size_t index : pool) {
      const RegressionForest::Prediction predicted = forest_.predict(row_of(index));
      const double bound = predicted.mean - doubt * std::sqrt(predicted.variance);
      if (bound < least) {
        best = index;
        least = bound;
      }
    }
    return best ? best : random_unvisited();
  }

  void learn(std::size_t index, Score time_us) override {
    ++unlearnt_;
    ++without_gain_;
    if (time_us) {
      ++ran_;
      if (*time_us < best_us_) without_gain_ = 0;
      best_us_ = std::min(best_us_, *time_us);
    }
    observations_.push_back({index, time_us ? std::log(*time_us) : 0, !time_us, row_of(index)});
  }

 private:
  struct Observation {
    std::size_t index;
    double log_time;
    bool failed;
    std::vector<Feature> row;
  };

  Columns columns_for(const std::vector<int>& values) {
    Columns result;
    if (values.size() < 2) return result;
    const bool positive = *std::min_element(values.begin(), values.end()) > 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
      result.size_at.push_back(Feature(positive ? std::lround(kOctave * std::log2(values[i])) : long(i)));
      result.twos_at.push_back(Feature(positive ? std::countr_zero(unsigned(values[i])) : 0));
    }
    result.size = columns_++;
    if (!std::is_sorted(result.twos_at.begin(), result.twos_at.end())) result.twos = columns_++;
    return result;
  }

  std::vector<Feature> row_of(std::size_t index) const {
    std::vector<Feature> row(columns_, Feature(-1));
    const std::size_t family = space().family(index);
    row[0] = Feature(family);
    const std::vector<std::size_t> digits = space().digits(index);
    for (std::size_t i = 0; i < digits.size(); ++i) {
      const Columns& columns = columns_of_[family][i];
      if (columns.size != 0) row[columns.size] = columns.size_at[digits[i]];
      if (columns.twos != 0) row[columns.twos] = columns.twos_at[digits[i]];
    }
    if (!estimate_column_) return row;
    constexpr double kMost = std::numeric_limits<Feature>::max();
    const double estimate = hints().estimate(index);
    if (estimate > 0)
      row[*estimate_column_] = Feature(std::clamp(kEstimateResolution * std::log(estimate), -kMost, kMost));
    return row;
  }

  /// Sorts the observations, fastest first, failed ones last.
  void renew_trees() {
    std::sort(observations_.begin(), observations_.end(), [](const Observation& a, const Observation& b) {
      return a.failed != b.failed ? b.failed : a.log_time != b.log_time ? a.log_time < b.log_time : a.index < b.index;
    });
    // Of many the faster ones stay, and every so-many-th of the rest.
    const std::size_t all = observations_.size(), count = std::min(all, kMostRows), fast = count / 2;
    const double best = observations_[0].log_time, worst = observations_[ran_ - 1].log_time;
    std::vector<Feature> features;
    std::vector<std::int32_t> targets;
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t rank = i < fast ? i : fast + (i - fast) * (all - fast) / (count - fast);
      const Observation& seen = observations_[rank];
      features.insert(features.end(), seen.row.begin(), seen.row.end());
      // A failure counts as the slowest. The root spreads out the fast ones, which matter most.
      const double behind = (seen.failed ? worst : seen.log_time) - best;
      targets.push_back(std::int32_t(std::lround(kResolution * std::sqrt(behind))));
    }
    forest_.renew(features, columns_, targets, rng(), kRenewed * unlearnt_);
    unlearnt_ = 0;
  }

  std::vector<std::size_t> pool_of_best() {
    std::vector<std::size_t> pool;
    for (std::size_t i = 0; i < std::min(kBestFew, ran_); ++i)
      add_around(observations_[i].index, kPairs, std::nullopt, pool);
    for (std::size_t i = 0; i < kRandom; ++i) add(rng().below(space().size()), pool);
    return pool;
  }

  /// Around the fastest config of a random slice, or the fastest few of another family; empty if there is none.
  std::vector<std::size_t> pool_of_slice() {
    std::vector<std::size_t> pool;
    const std::size_t best = observations_[0].index, family = space().family(best);
    if (space().family_count() > 1) {
      const std::size_t other = another(family, space().family_count());
      std::size_t few = kBestFew;
      for (std::size_t i = 0; i < ran_ && few > 0; ++i) {
        if (space().family(observations_[i].index) != other) continue;
        add_around(observations_[i].index, kSlicePairs, std::nullopt, pool);
        --few;
      }
      return pool;
    }
    const std::vector<std::size_t> radices = space().radices(best), digits = space().digits(best);
    const std::vector<std::size_t> slots = tunable(radices);
    if (slots.empty()) return pool;
    const std::size_t slot = slots[rng().below(slots.size())];
    const SearchSpace::Change fixed{slot, another(digits[slot], radices[slot])};
    const auto is_member = [&](std::size_t index) {
      return space().family(index) == family && space().digits(index)[slot] == fixed.second;
    };
    if (const auto centre = fastest(is_member)) {
      add_around(*centre, kSlicePairs, fixed, pool);
      for (std::size_t i = 0; i < kMoved; ++i) add_moved(rng().below(space().size()), family, fixed, pool);
    } else {
      for (std::size_t i = 0; i < ran_ && pool.empty(); ++i) add_moved(observations_[i].index, family, fixed, pool);
    }
    return pool;
  }

  /// Another of `count`.
  std::size_t another(std::size_t than, std::size_t count) {
    const std::size_t drawn = rng().below(count - 1);
    return drawn < than ? drawn : drawn + 1;
  }

  static std::vector<std::size_t> tunable(const std::vector<std::size_t>& radices) {
    std::vector<std::size_t> result;
    for (std::size_t i = 0; i < radices.size(); ++i) {
      if (radices[i] > 1) result.push_back(i);
    }
    return result;
  }

  template <typename IsMember>
  std::optional<std::size_t> fastest(const IsMember& is_member) const {
    for (std::size_t i = 0; i < ran_; ++i) {
      if (is_member(observations_[i].index)) return observations_[i].index;
    }
    return std::nullopt;
  }

  void add(std::size_t index, std::vector<std::size_t>& pool) const {
    if (!visited(index)) pool.push_back(index);
  }

  void add_moved(
      std::size_t index, std::size_t family, SearchSpace::Change change, std::vector<std::size_t>& pool) const {
    if (space().family(index) != family) return;
    if (const auto moved = space().changed(index, {&change, 1})) add(*moved, pool);
  }

  /// What differs from the centre in one parameter, and some configs that differ in two; never in the fixed one.
  void add_around(
      std::size_t centre, std::size_t pairs, std::optional<SearchSpace::Change> fixed, std::vector<std::size_t>& pool) {
    for (const std::size_t near : space().neighbours(centre)) {
      if (!fixed || space().digits(near)[fixed->first] == fixed->second) add(near, pool);
    }
    const std::vector<std::size_t> radices = space().radices(centre);
    std::vector<std::size_t> free = tunable(radices);
    if (fixed) std::erase(free, fixed->first);
    for (std::size_t i = 0; i < pairs && free.size() > 1; ++i) {
      rng().shuffle(free);
      const SearchSpace::Change changes[] = {
          {free[0], rng().below(radices[free[0]])}, {free[1], rng().below(radices[free[1]])}};
      if (const auto there = space().changed(centre, changes)) add(*there, pool);
    }
  }

  std::vector<std::vector<Columns>> columns_of_;  // each family's parameters
  std::size_t columns_ = 1;                       // the first is the family
  std::optional<std::size_t> estimate_column_;
  std::vector<Observation> observations_;
  std::size_t ran_ = 0;       // observations that did not fail
  std::size_t unlearnt_ = 0;  // observations since trees were renewed
  double best_us_ = std::numeric_limits<double>::infinity();
  double without_gain_ = 0;  // observations since then
  RegressionForest forest_;
};

}  // namespace

std::unique_ptr<Strategy> make_forest(const SearchSpace& space, std::uint64_t seed, Hints hints) {
  return std::make_unique<Forest>(space, seed, std::move(hints));
}

}  // namespace tilesmith::tuner
