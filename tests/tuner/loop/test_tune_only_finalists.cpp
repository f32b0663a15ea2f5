// A run that searches nothing: what is on record by a former measuring policy is timed again and played off.
#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "tests/catch.hpp"
#include "tests/tuner/tune_toy.hpp"

using namespace tilesmith;
using namespace tilesmith::tuner;
using namespace tilesmith::tuner::toy;

namespace {

/// A store in which every config of each problem was timed by a former policy.
class Recorded {
 public:
  explicit Recorded(const std::vector<Problem>& problems) {
    DeviceLimits limits;
    limits.arch = kArch;
    for (const Problem& problem : problems) {
      for (const Config& config : enumerate_space(*find_family("toy"), {problem, limits}).configs)
        plant(problem, config, evaluator.outcome_of(config).timing->median_us);
    }
  }
  void plant(const Problem& problem, const Config& config, double median_us) {
    db::Record entry = record_of(evaluator, problem, config, ok(median_us));
    entry.environment.measuring_policy = "toy-0";
    entry.run = "former";
    store.record(entry);
  }
  TuneOptions options(int finalists) {
    TuneOptions options = options_for(evaluator);
    options.only_finalists = true;
    options.finalists = finalists;
    return options;
  }
  /// How many entries are of today's policy.
  std::size_t of_today() const {
    const std::vector<db::Record> entries = store.records();
    return std::size_t(std::ranges::count(
        entries, std::string("toy-1"), [](const db::Record& e) { return e.environment.measuring_policy; }));
  }

  ToyEvaluator evaluator;
  db::Store store = db::Store::in_memory();
};

std::vector<Config> sorted(std::vector<Config> configs) {
  std::ranges::sort(configs, {}, &Config::text);
  return configs;
}

/// The toy's fastest.
std::vector<Config> fastest(const ToyEvaluator& evaluator, std::size_t count) {
  DeviceLimits limits;
  limits.arch = kArch;
  std::vector<Config> configs = enumerate_space(ToyFamily{}, {{*find_type_pair("f16f32"), {}}, limits}).configs;
  std::ranges::sort(configs, {},
      [&](const Config& config) { return std::pair(evaluator.outcome_of(config).timing->median_us, config.text()); });
  configs.resize(count);
  return configs;
}

}  // namespace

TEST_CASE("only the best on record are timed again, and played off") {
  Recorded recorded({square(64), square(128)});
  const TuneResult result = quiet_tune(squares({64, 128}), recorded.options(5), recorded.evaluator, recorded.store);
  CHECK(result.ended_how == "done");
  CHECK(result.evaluated == 10);
  CHECK(recorded.evaluator.total() == 10);
  REQUIRE(recorded.evaluator.played_off.size() == 2);
  for (const std::vector<Config>& played : recorded.evaluator.played_off)
    CHECK(sorted(played) == sorted(fastest(recorded.evaluator, 5)));
  CHECK(recorded.of_today() == 20);  // each once by itself and once in the final benchmark
}

TEST_CASE("what wins by today's times is best, whatever it had before") {
  Recorded recorded(std::vector<Problem>{});
  const Config early = ToyFamily::config(5, 3, 2), late = ToyFamily::config(4, 3, 2), slow = ToyFamily::config(1, 1, 1);
  recorded.plant(square(64), early, 5);
  recorded.plant(square(64), late, 6);
  recorded.plant(square(64), slow, 50);
  recorded.evaluator.plants[early.text()] = ok(7);
  recorded.evaluator.plants[late.text()] = ok(6.5);
  recorded.evaluator.plants[slow.text()] = ok(49);
  quiet_tune(squares({64}), recorded.options(2), recorded.evaluator, recorded.store);
  CHECK(recorded.evaluator.evaluations.count(text(square(64)) + slow.text()) == 0);
  db::RecordFilter filter = of_problem(square(64));
  filter.latest_only = true;
  for (const db::Record& entry : recorded.store.records(filter)) {
    if (entry.config == early) CHECK(entry.outcome.timing->median_us == 7);
    if (entry.config == late) CHECK(entry.outcome.timing->median_us == 6.5);
  }
}

TEST_CASE("a run of finalists alone that was killed goes on where it stopped") {
  Recorded recorded({square(64), square(128)});
  const TuneOptions options = recorded.options(6);
  const auto kill_after = [](std::int64_t candidates) {
    return [candidates, seen = std::int64_t{0}](const Progress& progress) mutable {
      if (progress.last && ++seen == candidates) throw std::runtime_error("killed");
    };
  };
  CHECK_THROWS(tune(squares({64, 128}), options, recorded.evaluator, recorded.store, kill_after(4), kNeverStop));
  CHECK(recorded.of_today() == 4);
  recorded.evaluator.drop_in_flight();
  CHECK_THROWS(tune(squares({64, 128}), options, recorded.evaluator, recorded.store, kill_after(4), kNeverStop));
  recorded.evaluator.drop_in_flight();
  quiet_tune(squares({64, 128}), options, recorded.evaluator, recorded.store);
  for (const auto& [candidate, times] : recorded.evaluator.evaluations) {
    INFO(candidate);
    CHECK(times == 1);
  }
  CHECK(recorded.evaluator.total() == 12);
  CHECK(recorded.evaluator.played_off.size() == 2);

  const TuneResult again = quiet_tune(squares({64, 128}), options, recorded.evaluator, recorded.store);
  CHECK(again.evaluated == 0);
  CHECK(recorded.evaluator.played_off.size() == 2);
}

TEST_CASE("of a problem with nothing on record nothing is tried, and what is of today stays") {
  Recorded recorded({square(128)});
  const TuneResult result = quiet_tune(squares({64, 128}), recorded.options(3), recorded.evaluator, recorded.store);
  CHECK(result.ended_how == "done");
  CHECK(result.evaluated == 3);
  CHECK(recorded.store.records(of_problem(square(64))).empty());
}

TEST_CASE("while finalists alone are timed, the evaluator hears of the next problem's") {
  Recorded recorded({square(64), square(128)});
  recorded.evaluator.announces = 12;
  quiet_tune(squares({64, 128}), recorded.options(4), recorded.evaluator, recorded.store);
  REQUIRE(recorded.evaluator.announced.size() == 1);
  CHECK(recorded.evaluator.announced[0].problem == square(128));
  CHECK(sorted(recorded.evaluator.announced[0].candidates) == sorted(fastest(recorded.evaluator, 4)));
}
