// The tune loop: what is tried, recorded and resumed.
#include "tuner/loop/tune.hpp"

#include <stdexcept>

#include "tests/catch.hpp"
#include "tests/db/bests.hpp"
#include "tests/tuner/tune_toy.hpp"

using namespace tilesmith;
using namespace tilesmith::tuner;
using namespace tilesmith::tuner::toy;

TEST_CASE("exhaustive tuning tries every legal config once, and the best is the optimum") {
  ToyEvaluator evaluator;
  db::Store store = db::Store::in_memory();
  TuneOptions options = options_for(evaluator);
  options.strategy = "exhaustive";
  const TuneResult result = quiet_tune(squares({64}), options, evaluator, store);
  CHECK(result.ended_how == "done");
  CHECK(result.evaluated == std::int64_t(legal_configs()));
  CHECK(result.failed == 0);
  CHECK(evaluator.evaluations.size() == legal_configs());
  CHECK(evaluator.total() == legal_configs());
  CHECK(evaluator.most_in_flight == evaluator.wide);
  const auto best = db::test::bests_of(store);
  REQUIRE(best.size() == 1);
  CHECK(best[0].record.config == kOptimum);
  const auto runs = store.runs();
  REQUIRE(runs.size() == 1);
  CHECK(runs[0].uuid == result.run);
  CHECK(runs[0].ended_how == "done");
  CHECK(runs[0].workload == "test");
}

TEST_CASE("what the problem refuses or the evaluator does not know is not tried") {
  ToyEvaluator evaluator;
  evaluator.unknown.insert(ToyFamily::config(4, 4, 2).text());
  db::Store store = db::Store::in_memory();
  TuneOptions options = options_for(evaluator);
  options.strategy = "exhaustive";
  quiet_tune(squares({63}), options, evaluator, store);
  CHECK(evaluator.total() == legal_configs() * 3 / 4 - 1);
  for (const Config& config : evaluator.order) {
    CHECK(config.at("z") != 8);
    CHECK_FALSE(config == ToyFamily::config(4, 4, 2));
  }
}

TEST_CASE("every status is recorded as it came, and none of them ends the run") {
  ToyEvaluator evaluator;
  using db::Status;
  const Status failures[] = {Status::illegal, Status::compile_failed, Status::spilled, Status::launch_failed,
      Status::timed_out, Status::device_fault, Status::mismatch};
  int x = 1;
  for (const Status status : failures) {
    evaluator.plants[ToyFamily::config(x++, 1, 1).text()] = {
        status, "planted " + std::string(name(status)), std::nullopt};
  }
  db::Store store = db::Store::in_memory();
  TuneOptions options = options_for(evaluator);
  options.strategy = "exhaustive";
  std::int64_t last_failed = 0;
  const TuneResult result = tune(
      squares({64}), options, evaluator, store, [&](const Progress& progress) { last_failed = progress.failed; },
      kNeverStop);
  CHECK(result.ended_how == "done");
  CHECK(result.failed == 7);
  CHECK(last_failed == 7);
  for (const Status status : failures) {
    db::RecordFilter filter;
    filter.status = status;
    const auto entries = store.records(filter);
    REQUIRE(entries.size() == 1);
    CHECK(entries[0].outcome.message == "planted " + std::string(name(status)));
    CHECK(entries[0].run == result.run);
  }
}

TEST_CASE("a second run repeats nothing, failures included, and finds the same best") {
  ToyEvaluator evaluator;
  evaluator.plants[ToyFamily::config(1, 1, 1).text()] = {db::Status::mismatch, "planted", std::nullopt};
  db::Store store = db::Store::in_memory();
  TuneOptions options = options_for(evaluator);
  options.max_candidates = 60;
  const TuneResult first = quiet_tune(squares({64, 128}), options, evaluator, store);
  CHECK(first.evaluated == 120);
  const std::size_t before = evaluator.total();
  const std::size_t final_benchmarks = evaluator.played_off.size();
  const std::size_t entries = store.records().size();
  std::int64_t reused = 0;
  const TuneResult second = tune(
      squares({64, 128}), options, evaluator, store,
      [&](const Progress& p) {
        reused = p.reused;
        CHECK(p.left == 0);
      },
      kNeverStop);
  CHECK(second.ended_how == "done");
  CHECK(second.evaluated == 0);
  CHECK(second.reused == 120);
  CHECK(reused == 60);
  CHECK(evaluator.total() == before);
  CHECK(evaluator.played_off.size() == final_benchmarks);  // already played off: not again
  CHECK(store.records().size() == entries);
  options.max_candidates = 80;
  CHECK(quiet_tune(squares({64}), options, evaluator, store).evaluated == 20);
  for (const auto& [key, count] : evaluator.evaluations) CHECK(count == 1);
}

TEST_CASE("a run that was killed midway resumes where it stopped") {
  ToyEvaluator evaluator;
  db::Store store = db::Store::in_memory();
  TuneOptions options = options_for(evaluator);
  options.max_candidates = 50;
  int outcomes = 0;
  const auto killer = [&](const Progress& progress) {
    if (progress.last && ++outcomes == 20) throw std::runtime_error("killed");
  };
  CHECK_THROWS_WITH(tune(squares({64}), options, evaluator, store, killer, kNeverStop), "killed");
  CHECK(store.records().size() == 20);  // the one that was being reported too
  CHECK(store.runs().at(0).ended_how == "failed: killed");

  ToyEvaluator fresh;
  options.clock_seconds = [&fresh] { return fresh.clock; };
  const TuneResult resumed = quiet_tune(squares({64}), options, fresh, store);
  CHECK(resumed.reused == 20);
  CHECK(resumed.evaluated == 30);
  for (const auto& [key, count] : fresh.evaluations) {
    CHECK(count == 1);
    CHECK(evaluator.evaluations.count(key) == 0);
  }
}

TEST_CASE("outcomes are in the store before progress hears of them") {
  ToyEvaluator evaluator;
  db::Store store = db::Store::in_memory();
  TuneOptions options = options_for(evaluator);
  options.max_candidates = 10;
  int heard = 0;
  const auto check = [&](const Progress& progress) {
    if (!progress.last) return;
    ++heard;
    CHECK(store.records().size() == std::size_t(heard));
    CHECK(progress.done == heard);
    CHECK(progress.left == 10 - heard);
    CHECK(progress.task == square(64));
    CHECK(progress.best_us > 0);
    CHECK_FALSE(progress.best_config.empty());
  };
  tune(squares({64}), options, evaluator, store, check, kNeverStop);
  CHECK(heard == 10);
}

TEST_CASE("the stop flag ends the run cleanly with what was found") {
  ToyEvaluator evaluator;
  db::Store store = db::Store::in_memory();
  const TuneOptions options = options_for(evaluator);
  std::atomic<bool> stop{false};
  const TuneResult result = tune(
      squares({64, 128}), options, evaluator, store, [&](const Progress& p) { stop = p.done >= 15; }, stop);
  CHECK(result.ended_how == "interrupted");
  CHECK(result.evaluated == 15);
  CHECK(evaluator.played_off.empty());
  CHECK(store.records().size() == 15);
  CHECK(store.runs().at(0).ended_how == "interrupted");
  CHECK(db::test::bests_of(store).size() == 1);

  // What was left in flight is recorded when the same evaluator goes on, and nothing is lost or doubled.
  TuneOptions more = options;
  more.max_candidates = 30;
  quiet_tune(squares({64}), more, evaluator, store);
  for (const auto& [key, count] : evaluator.evaluations) CHECK(count == 1);
}

TEST_CASE("unknown strategies and families and ill-formed problems are refused before anything is written") {
  ToyEvaluator evaluator;
  db::Store store = db::Store::in_memory();
  TuneOptions options = options_for(evaluator);
  options.strategy = "gradient";
  std::string known;
  for (const StrategyInfo& info : strategies()) known += (known.empty() ? "" : ", ") + std::string(info.name);
  CHECK_THROWS_WITH(
      quiet_tune(squares({64}), options, evaluator, store), "unknown strategy 'gradient': expected one of " + known);
  options.strategy = "local";
  options.families = {"nosuch"};
  CHECK_THROWS_AS(quiet_tune(squares({64}), options, evaluator, store), std::invalid_argument);
  options.families = {"toy"};
  CHECK_THROWS_AS(quiet_tune(squares({0}), options, evaluator, store), std::invalid_argument);
  CHECK(store.runs().empty());
}
