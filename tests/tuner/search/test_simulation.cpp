// Strategies simulated on made tables.
#include <algorithm>
#include <atomic>

#include "tests/catch.hpp"
#include "tuner/search/simulation.hpp"

using namespace tilesmith;
using namespace tilesmith::tuner;

namespace {

const std::atomic<bool> kGoOn{false};

/// A bowl of 12 × 12 × 3 configs whose optimum lies inside; every seventh failed.
OutcomeTable bowl() {
  FamilyOutcomes outcomes;
  outcomes.family = "bowl";
  std::vector<int> values;
  for (int i = 0; i < 12; ++i) values.push_back(i);
  outcomes.parameters = {{"x", values, ""}, {"y", values, ""}, {"z", {1, 2, 4}, ""}};
  for (std::size_t x = 0; x < 12; ++x) {
    for (std::size_t y = 0; y < 12; ++y) {
      for (std::size_t z = 0; z < 3; ++z) {
        const double off_x = double(x) - 7, off_y = double(y) - 4;
        const bool failed = (5 * x + 3 * y + z) % 7 == 0;
        outcomes.rows.push_back(
            {{x, y, z}, failed ? Score() : Score(10 + off_x * off_x + off_y * off_y + 3 * double(z))});
      }
    }
  }
  return make_table("bowl", {outcomes});
}

SimulationOptions options(std::size_t runs, std::size_t evaluations) {
  SimulationOptions result;
  result.runs = runs;
  result.evaluations = evaluations;
  return result;
}

std::size_t best_of(const OutcomeTable& table) {
  return std::size_t(
      std::find(table.outcomes.begin(), table.outcomes.end(), Score(table.optimum_us)) - table.outcomes.begin());
}

bool same(const Curve& a, const Curve& b) { return a.mean == b.mean && a.tenth == b.tenth && a.minimum == b.minimum; }

}  // namespace

TEST_CASE("a table joins families, sorts their configs and knows its optimum") {
  FamilyOutcomes one{"one", {{"x", {5, 6}, ""}}, {{{1}, 4.0}, {{0}, std::nullopt}}};
  const FamilyOutcomes two{"two", {{"y", {8}, ""}}, {{{0}, 3.0}}};
  const OutcomeTable table = make_table("both", {one, two});
  REQUIRE(table.space.size() == 3);
  CHECK(table.space.config(0).text() == "one{x=5}");
  CHECK(table.outcomes == std::vector<Score>{std::nullopt, 4.0, 3.0});
  CHECK(table.ok == 2);
  CHECK(table.optimum_us == 3);
  one.rows.push_back({{1}, 4.0});
  CHECK_THROWS_AS(make_table("twice", {one}), std::invalid_argument);
  one.rows.back().positions = {2};
  CHECK_THROWS_AS(make_table("no such value", {one}), std::invalid_argument);
}

TEST_CASE("the exhaustive strategy ends at exactly the optimum, and every run of it alike") {
  const OutcomeTable table = bowl();
  const auto curve = simulate(table, "exhaustive", options(5, 1000), kGoOn);
  REQUIRE(curve);
  REQUIRE(curve->mean.size() == table.space.size());
  CHECK(curve->mean.back() == 1.0);
  CHECK(curve->minimum.back() == 1.0);
  CHECK(curve->mean[0] == 0);  // the first config failed
  CHECK(curve->mean[best_of(table) - 1] < 1);
  CHECK(curve->mean[best_of(table)] == 1.0);
}

TEST_CASE("fractions of the optimum never fall, and the minimum, tenth percentile and mean are in order") {
  const OutcomeTable table = bowl();
  for (const StrategyInfo& info : strategies()) {
    INFO(info.name);
    const auto curve = simulate(table, info.name, options(40, 200), kGoOn);
    REQUIRE(curve);
    REQUIRE(curve->mean.size() == 200);
    for (std::size_t k = 0; k < 200; ++k) {
      REQUIRE(curve->minimum[k] <= curve->tenth[k]);
      REQUIRE(curve->minimum[k] <= curve->mean[k] + 1e-12);  // of equal fractions the mean is rounded
      REQUIRE(curve->mean[k] <= 1);
      if (k > 0) REQUIRE((curve->mean[k] >= curve->mean[k - 1] && curve->minimum[k] >= curve->minimum[k - 1]));
    }
  }
}

TEST_CASE("the tenth percentile is the nearest rank") {
  const OutcomeTable table = bowl();
  std::vector<double> firsts;
  for (std::uint64_t run = 0; run < 20; ++run) {
    const auto index = make_strategy("random", table.space, 1 + run)->ask(1).front();
    firsts.push_back(table.outcomes[index] ? table.optimum_us / *table.outcomes[index] : 0);
  }
  std::sort(firsts.begin(), firsts.end());
  const auto curve = simulate(table, "random", options(20, 1), kGoOn);
  REQUIRE(curve);
  CHECK(curve->tenth[0] == firsts[1]);
  CHECK(curve->minimum[0] == firsts[0]);
}

TEST_CASE("a simulation depends on the seed and the width, not on which thread makes which run") {
  const OutcomeTable table = bowl();
  const SimulationOptions one = options(30, 100);
  const auto first = simulate(table, "local", one, kGoOn);
  REQUIRE(first);
  for (int again = 0; again < 3; ++again) CHECK(same(*simulate(table, "local", one, kGoOn), *first));
  SimulationOptions other = one;
  other.seed = 1000;
  CHECK_FALSE(same(*simulate(table, "local", other, kGoOn), *first));
  other = one;
  other.width = 16;
  CHECK_FALSE(same(*simulate(table, "local", other, kGoOn), *first));
}

TEST_CASE("random search scores 0, the optimum at once 1, and local search between them") {
  const OutcomeTable table = bowl();
  const SimulationOptions asked = options(50, 200);
  const auto random = simulate(table, "random", asked, kGoOn);
  REQUIRE(random);
  CHECK(score_against_random(*random, *random) == 0);
  const std::size_t best = best_of(table);
  const MakeStrategy at_once = [best](const SearchSpace& space, std::uint64_t seed) {
    return make_strategy("random", space, seed, {{best}});
  };
  CHECK(score_against_random(*simulate(table, at_once, asked, kGoOn), *random) == Approx(1));
  const double local = score_against_random(*simulate(table, "local", asked, kGoOn), *random);
  CHECK(local > 0.2);
  CHECK(local < 1);
  CHECK(score_against_random(*simulate(table, "exhaustive", asked, kGoOn), *random) < 0);
}

TEST_CASE("a score begins where random search has a time and is 0 where it leaves nothing") {
  const Curve random{{0, 0.5, 0.75}, {}, {}, 0};
  CHECK(score_against_random({{1, 0.75, 1}, {}, {}, 0}, random) == Approx(0.5 / 0.75));
  CHECK(score_against_random({{1, 1}, {}, {}, 0}, {{1, 1}, {}, {}, 0}) == 0);
}

TEST_CASE("a simulation that is stopped gives nothing, and unknown strategies and zero runs are refused") {
  const OutcomeTable table = bowl();
  const std::atomic<bool> stop{true};
  CHECK_FALSE(simulate(table, "local", options(5, 10), stop));
  CHECK_THROWS_AS(simulate(table, "none", options(5, 10), kGoOn), std::invalid_argument);
  CHECK_THROWS_AS(simulate(table, "local", options(0, 10), kGoOn), std::invalid_argument);
  std::size_t told = 0;
  REQUIRE(simulate(table, "random", options(9, 10), kGoOn, [&] { ++told; }));
  CHECK(told == 9);
  const MakeStrategy throwing = [](const SearchSpace&, std::uint64_t) -> std::unique_ptr<Strategy> {
    throw std::runtime_error("no");
  };
  CHECK_THROWS_AS(simulate(table, throwing, options(9, 10), kGoOn), std::runtime_error);
}
