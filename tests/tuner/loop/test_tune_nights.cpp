// A problem that is tuned on in another night, in which the device has another speed.
#include <map>
#include <string>

#include "tests/catch.hpp"
#include "tests/db/bests.hpp"
#include "tests/tuner/drifting_evaluator.hpp"

using namespace tilesmith;
using namespace tilesmith::tuner;
using namespace tilesmith::tuner::toy;

namespace {

/// Two nights, the second with other times: `speed` of the first's. What is new then is 2% faster than what was best,
/// once, and else 1% slower at least.
struct TwoNights {
  DriftingEvaluator evaluator{1};
  db::Store store = db::Store::in_memory();
  TuneOptions options = options_for(evaluator);
  Config first_best = kOptimum;

  TwoNights() {
    evaluator.noise = 0.001;
    options.strategy = "exhaustive";
    options.max_candidates = 120;
  }
  void first_night() {
    quiet_tune(squares({64}), options, evaluator, store);
    first_best = best();
  }
  Config best() const { return db::test::bests_of(store).at(0).record.config; }
  /// Returns the faster one.
  Config second_night(double night, bool has_faster) {
    const double best_us = evaluator.true_us(first_best);
    Config faster = first_best;
    for (auto& [text, us] : evaluator.true_) {
      if (evaluator.evaluations.count(::tilesmith::text(square(64)) + text) > 0) continue;
      us = std::max(us, 1.01 * best_us);
      if (has_faster && faster == first_best) {
        us = 0.98 * best_us;
        faster = *Config::parse(text);
      }
    }
    evaluator.night = night;
    options.max_candidates = 0;
    CHECK(quiet_tune(squares({64}), options, evaluator, store).evaluated > 0);
    return faster;
  }
};

}  // namespace

TEST_CASE("what is faster than the known best is found in a slower night too") {
  for (const double night : {0.8, 0.95, 1.0, 1.03, 1.05}) {
    INFO(night);
    TwoNights nights;
    nights.first_night();
    const Config faster = nights.second_night(night, true);
    CHECK(nights.best() == faster);
    CHECK(nights.evaluator.was_played_off(faster));
  }
}

TEST_CASE("the known best is beaten by nobody for the sake of a faster night") {
  for (const double night : {0.85, 0.95, 1.0, 1.05}) {
    INFO(night);
    TwoNights nights;
    nights.first_night();
    nights.second_night(night, false);
    CHECK(nights.best() == nights.first_best);
  }
}

TEST_CASE("times of another night are kept on the known best's scale") {
  TwoNights nights;
  nights.first_night();
  const double first_us = db::test::bests_of(nights.store).at(0).record.outcome.timing->median_us;
  nights.second_night(1.05, true);
  CHECK(db::test::bests_of(nights.store).at(0).record.outcome.timing->median_us == Approx(0.98 * first_us));
}
