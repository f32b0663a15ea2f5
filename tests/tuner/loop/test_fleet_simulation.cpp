// How long shards take to come as far as one tuner, by a recording.
#include "tuner/loop/fleet_simulation.hpp"

#include <cmath>

#include "tests/catch.hpp"
#include "tests/tuner/made_landscape.hpp"
#include "tuner/peaks.hpp"
#include "tuner/schedule/shards.hpp"

using namespace tilesmith;
using namespace tilesmith::tests;
using tuner::FleetSimulation;

namespace {

/// Twenty problems; on each a config is the slower, the further it is from one that the problem's size decides.
db::Landscape valley() {
  db::Landscape landscape;
  for (int p = 0; p < 20; ++p) {
    const Problem problem = packed_problem({*find_type_pair(p < 10 ? "f16f32" : "s8s32"), {}}, 64 << (p % 5), 256 << (p % 3), 1024);
    for (int x = 0; x < 120; ++x) {
      db::Evidence entry;
      entry.problem = problem;
      entry.config = Config("simt", {{"x", x}});
      const double off = std::abs(x - 20.0 * (p % 5) - 10) / 30;
      entry.outcome = {db::Status::ok, "", db::Timing{tuner::nominal_us(problem) * (1.3 + off), 0.01, 15}};
      landscape.entries.push_back(entry);
    }
  }
  return landscape;
}

std::vector<std::size_t> by_load(const tuner::Workload& workload, std::size_t count) { return tuner::shards_of(workload, count, tuner::nominal_us); }

}  // namespace

TEST_CASE("even shards of similar problems come as far in little more than their part of the time") {
  const FleetSimulation simulation(valley(), 600, 1);
  CHECK(simulation.workload().problems.size() == 600);
  const FleetSimulation::Scaled one = simulation.scaled(1, by_load);
  CHECK(one.ratio == Approx(1).margin(0.05));
  CHECK(one.quality > 0.8);
  const FleetSimulation::Scaled four = simulation.scaled(4, by_load);
  CHECK(four.ratio < 1.3);
  CHECK(four.quality >= one.quality - 0.01);
  // Shards of 37 problems know few that are like the next: warm starts are worth less, and more shards still end sooner.
  const FleetSimulation::Scaled sixteen = simulation.scaled(16, by_load);
  CHECK(sixteen.ratio > four.ratio);
  CHECK(sixteen.seconds < 0.75 * four.seconds);
}

TEST_CASE("shards that are not even take longer, and the simulation tells") {
  const FleetSimulation simulation(valley(), 600, 1);
  const auto lopsided = [](const tuner::Workload& workload, std::size_t count) {
    std::vector<std::size_t> shards(workload.problems.size(), 0);  // half of all in the first
    for (std::size_t i = 0; i < shards.size(); ++i) shards[i] = i % 2 == 0 ? 0 : i / 2 % count;
    return shards;
  };
  CHECK(simulation.scaled(8, lopsided).ratio > 1.5 * simulation.scaled(8, by_load).ratio);
}

TEST_CASE("more time makes a simulated fleet better, and nothing is lost of a problem") {
  const FleetSimulation simulation(valley(), 200, 2);
  const std::vector<std::size_t> one(200, 0);
  double last = 0;
  for (const double part : {0.05, 0.2, 0.5, 1.0, 4.0}) {
    const double now = simulation.quality(one, 1, part * simulation.seconds());
    CHECK(now >= last - 0.005);
    last = now;
  }
  CHECK(simulation.quality(one, 1, 100 * simulation.seconds()) == Approx(1));  // every candidate is tried
  CHECK(simulation.quality(one, 1, 0) == 0);
}

TEST_CASE("a recording without enough configs cannot be simulated") { CHECK_THROWS_AS(FleetSimulation(db::Landscape{}, 10, 1), std::invalid_argument); }
