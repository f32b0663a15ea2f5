// An evaluator whose single times have noise, and whose times drift from round to round and from night to night.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "tests/tuner/tune_toy.hpp"

namespace tilesmith::tuner::toy {

/// Configs 0.1% apart in a shuffled order, single times with a deviation of 1%, and final benchmarks that are slower:
/// by `first` in the first round and by `each_round` more in each that follows.
struct DriftingEvaluator : ToyEvaluator {
  explicit DriftingEvaluator(double first, double each_round = 1, std::uint64_t seed = 1)
      : factor(first), each(each_round), random(seed) {
    const std::vector<Config> configs =
        enumerate_space(ToyFamily{}, {{*find_type_pair("f16f32"), {}}, limits()}).configs;
    std::vector<std::size_t> places(configs.size());
    std::iota(places.begin(), places.end(), std::size_t{0});
    for (std::size_t i = places.size(); i > 1; --i) std::swap(places[i - 1], places[random() % i]);
    for (std::size_t i = 0; i < configs.size(); ++i) true_[configs[i].text()] = 10 * (1 + 0.001 * double(places[i]));
    answers = [this](const Candidate& candidate) {
      return ok(night * true_us(candidate.config) * (1 + noise * normal()));
    };
  }
  double normal() {
    double sum = -6;  // of twelve: nearly normal
    for (int i = 0; i < 12; ++i) sum += double(random() >> 11) / 9007199254740992.0;
    return sum;
  }
  std::vector<db::Outcome> final_benchmark(const Task&, std::span<const Config> finalists) override {
    rounds_began.push_back(clock);
    clock += seconds_each_competitor * double(finalists.size());
    played_off.emplace_back(finalists.begin(), finalists.end());
    std::vector<db::Outcome> outcomes;
    for (const Config& config : finalists) outcomes.push_back(ok(night * true_us(config) * factor));
    factor *= each;
    return outcomes;
  }
  double true_us(const Config& config) const { return true_.at(config.text()); }
  double fastest_us() const {
    return std::min_element(true_.begin(), true_.end(), [](const auto& a, const auto& b) {
      return a.second < b.second;
    })->second;
  }
  bool was_played_off(const Config& config) const {
    return std::any_of(played_off.begin(), played_off.end(), [&](const std::vector<Config>& played) {
      return std::find(played.begin(), played.end(), config) != played.end();
    });
  }

  double factor, each;
  double noise = 0.01;
  double seconds_each_competitor = 1;
  double night = 1;  // all times are longer by that
  std::mt19937_64 random;
  std::map<std::string, double> true_;
  std::vector<double> rounds_began;  // on the clock
};

}  // namespace tilesmith::tuner::toy
