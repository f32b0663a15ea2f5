#include "tuner/measure/shared_drift.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <vector>

#include "tests/catch.hpp"
#include "tuner/measure/statistics.hpp"

using namespace tilesmith::tuner;

namespace {

constexpr std::size_t kCompetitors = 8;
constexpr std::size_t kRounds = 15;

/// What a competitor takes when nothing disturbs it.
double level_us(std::size_t competitor) { return 1000.0 + 2.0 * double(competitor); }

/// Rounds in shuffled order, as final benchmarks are; `disturbance` of a turn, relative, from its number.
template <typename Disturbance>
std::vector<FinalBenchmarkSample> play(std::mt19937_64& chance, Disturbance&& disturbance) {
  std::vector<FinalBenchmarkSample> turns;
  std::vector<std::size_t> order(kCompetitors);
  std::iota(order.begin(), order.end(), std::size_t{0});
  for (std::size_t round = 0; round < kRounds; ++round) {
    std::shuffle(order.begin(), order.end(), chance);
    for (const std::size_t competitor : order) {
      turns.push_back({competitor, level_us(competitor) * (1 + disturbance(turns.size()))});
    }
  }
  return turns;
}

std::vector<std::vector<double>> as_they_came(const std::vector<FinalBenchmarkSample>& turns) {
  std::vector<std::vector<double>> samples_us(kCompetitors);
  for (const FinalBenchmarkSample& turn : turns) samples_us[turn.competitor].push_back(turn.us);
  return samples_us;
}

/// How far the medians are from the truth once a common factor is taken out, root of the mean square.
double error_of(const std::vector<std::vector<double>>& samples_us) {
  std::vector<double> ratios;
  for (std::size_t i = 0; i < kCompetitors; ++i) ratios.push_back(median(samples_us[i]) / level_us(i));
  const double mean = std::accumulate(ratios.begin(), ratios.end(), 0.0) / double(ratios.size());
  double squares = 0;
  for (const double ratio : ratios) squares += (ratio / mean - 1) * (ratio / mean - 1);
  return std::sqrt(squares / double(ratios.size()));
}

struct Errors {
  double before = 0, after = 0;  ///< mean over many final benchmarks
};

template <typename MakeDisturbance>
Errors errors(MakeDisturbance&& make_disturbance) {
  Errors errors;
  std::mt19937_64 chance(7);
  constexpr int kFinalBenchmarks = 100;
  for (int i = 0; i < kFinalBenchmarks; ++i) {
    const std::vector<FinalBenchmarkSample> turns = play(chance, make_disturbance(chance));
    errors.before += error_of(as_they_came(turns)) / kFinalBenchmarks;
    errors.after += error_of(without_shared_drift(turns, kCompetitors)) / kFinalBenchmarks;
  }
  return errors;
}

}  // namespace

TEST_CASE("a clock that wanders says less of which competitor is faster once shared drift is out") {
  const Errors wandering = errors([](std::mt19937_64& chance) {
    return [&chance, drift = 0.0](std::size_t) mutable {
      drift += std::normal_distribution<>(0, 0.003)(chance);
      return drift + std::normal_distribution<>(0, 0.002)(chance);
    };
  });
  CHECK(wandering.after < 0.6 * wandering.before);
  const Errors falling = errors([](std::mt19937_64& chance) {
    return [&chance](std::size_t turn) { return 0.0005 * double(turn) + std::normal_distribution<>(0, 0.002)(chance); };
  });
  CHECK(falling.after < 0.5 * falling.before);
}

TEST_CASE("noise of each turn's own is not made worse, nor are rare slow turns or neighbours that differ") {
  const Errors white = errors([](std::mt19937_64& chance) {
    return [&chance](std::size_t) { return std::normal_distribution<>(0, 0.005)(chance); };
  });
  CHECK(white.after < 1.03 * white.before);
  const Errors spiked = errors([](std::mt19937_64& chance) {
    return [&chance](
               std::size_t) { return std::normal_distribution<>(0, 0.005)(chance) + (chance() % 20 == 0 ? 0.1 : 0.0); };
  });
  CHECK(spiked.after < 1.05 * spiked.before);
  const Errors alternating =
      errors([](std::mt19937_64&) { return [](std::size_t turn) { return turn % 2 == 0 ? 0.01 : -0.01; }; });
  CHECK(alternating.after == alternating.before);
}

TEST_CASE("times keep their level and every competitor its samples in the order in which they came") {
  std::mt19937_64 chance(3);
  const std::vector<FinalBenchmarkSample> falling = play(chance, [](std::size_t turn) { return 0.001 * double(turn); });
  const auto before = as_they_came(falling);
  const auto after = without_shared_drift(falling, kCompetitors);
  std::vector<double> all_before, all_after;
  for (std::size_t i = 0; i < kCompetitors; ++i) {
    REQUIRE(after[i].size() == kRounds);
    all_before.insert(all_before.end(), before[i].begin(), before[i].end());
    all_after.insert(all_after.end(), after[i].begin(), after[i].end());
  }
  CHECK(std::abs(median(all_after) / median(all_before) - 1) < 0.005);

  const std::vector<FinalBenchmarkSample> steady = play(chance, [](std::size_t) { return 0.0; });
  CHECK(without_shared_drift(steady, kCompetitors) == as_they_came(steady));
}

TEST_CASE("a lone competitor and a final benchmark of one round keep their samples") {
  const std::vector<FinalBenchmarkSample> alone{{0, 10}, {0, 11}, {0, 12}, {0, 20}};
  CHECK(without_shared_drift(alone, 1) == std::vector<std::vector<double>>{{10, 11, 12, 20}});
  CHECK(without_shared_drift({}, 3) == std::vector<std::vector<double>>(3));
  const std::vector<FinalBenchmarkSample> one_round{{1, 30}, {0, 20}, {2, 10}};
  CHECK(without_shared_drift(one_round, 3) == std::vector<std::vector<double>>{{20}, {30}, {10}});
  const std::vector<FinalBenchmarkSample> one_missing{{1, 30}, {1, 31}};
  CHECK(without_shared_drift(one_missing, 3)[0].empty());
  CHECK(without_shared_drift(one_missing, 3)[1] == std::vector<double>{30, 31});
}

TEST_CASE("what is larger than a clock's drift and times that are none leave the samples as they are") {
  std::mt19937_64 chance(5);
  const auto another_load = [](std::size_t turn) { return turn / 40 == 1 ? 9.0 : 0.0; };
  int kept = 0;
  for (int i = 0; i < 200; ++i) {
    const std::vector<FinalBenchmarkSample> turns = play(chance, [&](std::size_t turn) {
      return another_load(turn) + std::normal_distribution<>(0, 0.005)(chance) + (chance() % 2 == 0 ? 2.0 : 0.0);
    });
    const auto after = without_shared_drift(turns, kCompetitors);
    kept += after == as_they_came(turns);
    for (const std::vector<double>& samples : after) {
      for (const double us : samples) REQUIRE((us > 0 && std::isfinite(us)));
    }
  }
  CHECK(kept > 0);
  std::vector<FinalBenchmarkSample> with_none = play(chance, [](std::size_t turn) { return 0.001 * double(turn); });
  with_none[17].us = 0;
  CHECK(without_shared_drift(with_none, kCompetitors) == as_they_came(with_none));
}
