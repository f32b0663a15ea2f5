// Model-guided search (SMAC: Hutter, Hoos, Leyton-Brown 2011): a forest of randomised trees learns ln(time) of what was
// observed, a failure counting as the slowest; proposed is what it promises most by a lower confidence bound. How many
// deviations that lies below the mean is drawn anew for each fit from Exp(1), so that bold and careful proposals take
// turns (Hutter, Hoos, Leyton-Brown 2012).
//
// What it goes by are the positions of the parameters' values, the family, and where there are estimates the config's.
//
// The pool of candidates: the neighbours of the best few, random configs, and from the most promising of these a climb
// by neighbours as long as the bound falls. The forest is fitted again when the observations have grown by a few per
// cent; in between, proposals come from the ranked pool.
#include <algorithm>
#include <cmath>
#include <limits>

#include "tuner/search/regression_forest.hpp"
#include "tuner/search/strategy_base.hpp"

namespace tilesmith::tuner {
namespace {

constexpr std::size_t kForestSample = 10;   // before the first fit; initial configs and records count
constexpr std::size_t kBestFew = 5;         // whose neighbours are in the pool
constexpr std::size_t kRandom = 1000;       // random configs in the pool
constexpr std::size_t kClimbs = 5;          // from the most promising of the pool
constexpr std::size_t kMostRows = 1000;     // of a training set
constexpr double kGrowth = 0.05;            // of the observations between two fits
constexpr double kResolution = 1024;        // targets are ln(time) in whole multiples of 1 / this
constexpr double kEstimateResolution = 32;  // and estimates as features

class Forest final : public StrategyBase {
 public:
  Forest(const SearchSpace& searched, std::uint64_t seed, Hints hints)
      : StrategyBase(searched, seed, std::move(hints)), column_of_(searched.family_count()) {
    for (std::size_t family = 0; family < searched.family_count(); ++family) {
      const auto [begin, end] = searched.family_range(family);
      if (begin == end) continue;
      for (const std::size_t radix : searched.radices(begin)) {
        column_of_[family].push_back(radix > 1 ? std::uint16_t(columns_++) : kNoColumn);
      }
    }
    if (this->hints().estimate) estimate_column_ = columns_++;
  }

 protected:
  std::optional<std::size_t> propose() override {
    if (ran_ < 2 || observed_count() < kForestSample) return spread_unvisited();
    if (double(observed_count()) >= double(fitted_at_) + std::max(1.0, kGrowth * double(fitted_at_))) {
      fit();
      doubt_ = -std::log(1 - rng().unit());
      rank_pool();
    }
    for (int attempt = 0; attempt < 2; ++attempt) {
      if (const auto next = take_unvisited(ranked_)) return next;
      rank_pool();
    }
    return random_unvisited();
  }

  void learn(std::size_t index, Score time_us) override {
    Observation seen{index, 0, !time_us};
    if (time_us) {
      ++ran_;
      seen.target = std::int32_t(std::lround(kResolution * std::log(*time_us)));
    }
    observations_.push_back(seen);
  }

 private:
  struct Observation {
    std::size_t index;
    std::int32_t target;
    bool failed;
  };
  struct Promise {
    double bound;
    std::size_t index;
    auto operator<=>(const Promise&) const = default;
  };
  static constexpr std::uint16_t kNoColumn = 0xffff;

  void row_of(std::size_t index, RegressionForest::Feature* row) const {
    std::fill(row, row + columns_, RegressionForest::Feature(-1));
    const std::size_t family = space().family(index);
    row[0] = RegressionForest::Feature(family);
    const std::vector<std::size_t> digits = space().digits(index);
    for (std::size_t i = 0; i < digits.size(); ++i) {
      if (column_of_[family][i] != kNoColumn) row[column_of_[family][i]] = RegressionForest::Feature(digits[i]);
    }
    if (!estimate_column_) return;
    constexpr double kMost = std::numeric_limits<RegressionForest::Feature>::max();
    const double estimate = hints().estimate(index);
    if (estimate > 0) {
      row[*estimate_column_] =
          RegressionForest::Feature(std::clamp(kEstimateResolution * std::log(estimate), -kMost, kMost));
    }
  }

  /// Sorts the observations, fastest first, failed ones last.
  void fit() {
    fitted_at_ = observed_count();
    std::sort(observations_.begin(), observations_.end(), [](const Observation& a, const Observation& b) {
      return a.failed != b.failed ? b.failed : a.target != b.target ? a.target < b.target : a.index < b.index;
    });
    // Of many the faster ones stay, and every so-many-th of the rest.
    const std::size_t all = observations_.size(), count = std::min(all, kMostRows), fast = count / 2;
    const std::int32_t best = observations_[0].target, worst = observations_[ran_ - 1].target;
    std::vector<RegressionForest::Feature> features(count * columns_);
    std::vector<std::int32_t> targets(count);
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t rank = i < fast ? i : fast + (i - fast) * (all - fast) / (count - fast);
      const Observation& seen = observations_[rank];
      row_of(seen.index, features.data() + i * columns_);
      targets[i] = (seen.failed ? worst : seen.target) - best;
    }
    forest_.fit(features, columns_, targets, rng());
  }

  double bound(std::size_t index) {
    scratch_.resize(columns_);
    row_of(index, scratch_.data());
    const RegressionForest::Prediction predicted = forest_.predict(scratch_);
    return predicted.mean - doubt_ * std::sqrt(predicted.variance);
  }

  void rank_pool() {
    std::vector<std::size_t> pool;
    for (std::size_t i = 0; i < std::min(kBestFew, ran_); ++i) {
      for (const std::size_t near : space().neighbours(observations_[i].index)) {
        if (!visited(near)) pool.push_back(near);
      }
    }
    for (std::size_t i = 0; i < kRandom; ++i) {
      const std::size_t any = rng().below(space().size());
      if (!visited(any)) pool.push_back(any);
    }
    std::sort(pool.begin(), pool.end());
    pool.erase(std::unique(pool.begin(), pool.end()), pool.end());
    std::vector<Promise> promises;
    for (const std::size_t index : pool) promises.push_back({bound(index), index});
    std::sort(promises.begin(), promises.end());
    const std::size_t starts = std::min(kClimbs, promises.size());
    for (std::size_t i = 0; i < starts; ++i) climb(promises[i], promises);
    std::sort(promises.begin(), promises.end());
    ranked_.clear();
    for (auto at = promises.rbegin(); at != promises.rend(); ++at) ranked_.push_back(at->index);
  }

  /// Adds the configs on the way to where no neighbour promises more.
  void climb(Promise from, std::vector<Promise>& promises) {
    for (bool better = true; better;) {
      better = false;
      for (const std::size_t near : space().neighbours(from.index)) {
        if (visited(near)) continue;
        const Promise there{bound(near), near};
        if (there.bound < from.bound) {
          from = there;
          better = true;
        }
      }
      if (better) promises.push_back(from);
    }
  }

  std::vector<std::vector<std::uint16_t>> column_of_;  // of each family's parameters; kNoColumn if they have one value
  std::size_t columns_ = 1;                            // the first is the family
  std::optional<std::size_t> estimate_column_;
  std::vector<Observation> observations_;
  std::size_t ran_ = 0;  // observations that did not fail
  std::size_t fitted_at_ = 0;
  double doubt_ = 1;  // standard deviations below the mean that are promised
  RegressionForest forest_;
  std::vector<std::size_t> ranked_;  // most promising last
  std::vector<RegressionForest::Feature> scratch_;
};

}  // namespace

std::unique_ptr<Strategy> make_forest(const SearchSpace& space, std::uint64_t seed, Hints hints) {
  return std::make_unique<Forest>(space, seed, std::move(hints));
}

}  // namespace tilesmith::tuner
