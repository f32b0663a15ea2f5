// How long a final benchmark goes on, and whom it draws in.
#include <algorithm>
#include <vector>

#include "tests/catch.hpp"
#include "tests/db/bests.hpp"
#include "tests/tuner/drifting_evaluator.hpp"

using namespace tilesmith;
using namespace tilesmith::tuner;
using namespace tilesmith::tuner::toy;

TEST_CASE("a candidate whose single time beats the played-off ones must be played off before it can win") {
  DriftingEvaluator evaluator(1.03);
  db::Store store = db::Store::in_memory();
  TuneOptions options = options_for(evaluator);
  options.strategy = "exhaustive";
  quiet_tune(squares({64}), options, evaluator, store);
  const db::Record best = db::test::bests_of(store).at(0).record;
  CHECK(evaluator.was_played_off(best.config));
  CHECK(evaluator.true_us(best.config) <= 1.002 * evaluator.fastest_us());
  for (std::size_t round = 1; round < evaluator.played_off.size(); ++round) {
    CHECK(evaluator.played_off[round].size() <= 8);
    for (std::size_t i = 1; i < evaluator.played_off[round].size(); ++i) {
      for (std::size_t former = 0; former < round; ++former) {
        const auto& played = evaluator.played_off[former];
        CHECK(std::find(played.begin(), played.end(), evaluator.played_off[round][i]) == played.end());
      }
    }
  }
}

TEST_CASE("what changes from round to round of a final benchmark decides nothing") {
  for (const double each_round : {0.97, 1.03}) {
    DriftingEvaluator evaluator(1.03, each_round);
    db::Store store = db::Store::in_memory();
    TuneOptions options = options_for(evaluator);
    options.strategy = "exhaustive";
    quiet_tune(squares({64}), options, evaluator, store);
    const Config best = db::test::bests_of(store).at(0).record.config;
    CHECK(evaluator.was_played_off(best));
    CHECK(evaluator.true_us(best) <= 1.002 * evaluator.fastest_us());
  }
}

TEST_CASE("rounds go on until nobody who was not played is ahead, however few play at a time") {
  for (const std::size_t finalists : {2, 4, 8}) {
    double loss = 0;
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
      DriftingEvaluator evaluator(1.03, 1, seed);
      db::Store store = db::Store::in_memory();
      TuneOptions options = options_for(evaluator);
      options.strategy = "exhaustive";
      options.finalists = int(finalists);
      quiet_tune(squares({64}), options, evaluator, store);
      const Config best = db::test::bests_of(store).at(0).record.config;
      CHECK(evaluator.was_played_off(best));
      loss += evaluator.true_us(best) / evaluator.fastest_us() - 1;
      for (const auto& playing : evaluator.played_off) CHECK(playing.size() <= finalists);
    }
    CHECK(loss / 10 < 0.001);
  }
}

TEST_CASE("where single times tell candidates apart one round decides") {
  DriftingEvaluator evaluator(1.001);
  evaluator.noise = 0.0001;
  db::Store store = db::Store::in_memory();
  TuneOptions options = options_for(evaluator);
  options.strategy = "exhaustive";
  quiet_tune(squares({64}), options, evaluator, store);
  CHECK(evaluator.played_off.size() == 1);
  CHECK(evaluator.true_us(db::test::bests_of(store).at(0).record.config) == Approx(evaluator.fastest_us()));
}

TEST_CASE("a final benchmark takes at most a third of what its slice took before, but for six rounds") {
  for (const bool is_cheap : {true, false}) {
    ToyEvaluator evaluator;
    evaluator.final_benchmark_factor = 2;  // whoever was not played is ahead
    evaluator.seconds_each = is_cheap ? 1 : 0;
    db::Store store = db::Store::in_memory();
    TuneOptions options = options_for(evaluator);
    options.strategy = "exhaustive";
    options.finalists = 2;
    if (!is_cheap)
      options.clock_seconds = [&] { return evaluator.clock + 100.0 * double(evaluator.played_off.size()); };
    quiet_tune(squares({64}), options, evaluator, store);
    const std::size_t most = std::size_t(double(legal_configs()) / 3 / 2) + 1;  // two competitors take two seconds
    CHECK(evaluator.played_off.size() == (is_cheap ? most : 6));
  }
}

TEST_CASE("no further round of a final benchmark begins once the run is over") {
  DriftingEvaluator evaluator(1.05);
  db::Store store = db::Store::in_memory();
  TuneOptions options = options_for(evaluator);
  options.strategy = "exhaustive";
  options.finalists = 4;
  const double budget = double(legal_configs()) + 30;  // a third of that would be left for rounds
  options.budget = std::chrono::duration<double>(budget);
  const double began = evaluator.clock;
  quiet_tune(squares({64}), options, evaluator, store);
  CHECK(evaluator.rounds_began.size() == 8);
  CHECK(evaluator.rounds_began.back() < began + budget);
}

TEST_CASE("the first problem of a run keeps time for its final benchmark too") {
  DriftingEvaluator evaluator(1);
  db::Store store = db::Store::in_memory();
  TuneOptions options = options_for(evaluator);
  options.budget = std::chrono::seconds(100);
  const double began = evaluator.clock;
  quiet_tune(squares({64}), options, evaluator, store);
  CHECK(evaluator.rounds_began.size() >= 1);
  CHECK(evaluator.clock <= began + 108);  // a round that began in time goes on
  CHECK(evaluator.rounds_began.front() <= began + 92);
}
