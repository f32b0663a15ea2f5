// A budget: how problems share it, and what they leave to each other.
#include <algorithm>
#include <map>

#include "tests/catch.hpp"
#include "tests/tuner/tune_toy.hpp"
#include "tuner/loop/tune.hpp"

using namespace tilesmith;
using namespace tilesmith::tuner;
using namespace tilesmith::tuner::toy;

namespace {

Workload twenty_squares() {
  Workload workload{"many", {}};
  for (std::int64_t i = 1; i <= 20; ++i) workload.tasks.push_back({square(64 * i), 1});
  return workload;
}

/// Of three problems the second one's time falls with every candidate; the others have the same time whatever is tried.
ToyEvaluator one_that_gains() {
  ToyEvaluator evaluator;
  evaluator.answers = [tried = 0](const Candidate& candidate) mutable {
    return ok(candidate.task == square(128) ? 1000.0 / ++tried : 10);
  };
  return evaluator;
}

std::size_t tried(const db::Store& store, std::int64_t size) { return store.records(of_problem(square(size))).size(); }

}  // namespace

TEST_CASE("the budget is honoured and shared by weight") {
  ToyEvaluator evaluator;
  // Both gain with every candidate, so that neither leaves time to the other, whatever is tried.
  evaluator.answers = [tried = 0](const Candidate&) mutable { return ok(1000.0 / ++tried); };
  db::Store store = db::Store::in_memory();
  TuneOptions options = options_for(evaluator);
  options.budget = std::chrono::seconds(120);
  options.finalists = 0;
  Workload workload = squares({64, 128});
  workload.tasks[1].weight = 3;
  const double began = evaluator.clock;
  double longest_left = 0;
  const TuneResult result = tune(
      workload, options, evaluator, store,
      [&](const Progress& p) { longest_left = std::max(longest_left, p.seconds_left); }, kNeverStop);
  CHECK(result.ended_how == "budget");
  CHECK(evaluator.clock - began <= 120);
  CHECK(longest_left <= 120);
  const auto first = store.records(of_problem(square(64))).size();
  const auto second = store.records(of_problem(square(128))).size();
  CHECK((first >= 26 && first <= 30));
  CHECK((second >= 84 && second <= 90));
  CHECK(store.runs().at(0).ended_how == "budget");
}

TEST_CASE("time that one problem leaves over flows on to the next") {
  ToyEvaluator evaluator;
  db::Store store = db::Store::in_memory();
  TuneOptions options = options_for(evaluator);
  options.strategy = "exhaustive";
  quiet_tune(squares({64}), options, evaluator, store);
  options.budget = std::chrono::seconds(100);
  options.finalists = 0;
  quiet_tune(squares({64, 128}), options, evaluator, store);
  CHECK(store.records(of_problem(square(128))).size() > 90);
}

TEST_CASE("a budget too small for its problems gives the first ones a candidate each and skips the rest") {
  ToyEvaluator evaluator;
  db::Store store = db::Store::in_memory();
  TuneOptions options = options_for(evaluator);
  options.budget = std::chrono::duration<double>(3.5);
  options.finalists = 0;
  evaluator.wide = 1;
  const TuneResult result = quiet_tune(squares({16, 32, 64, 128, 256, 512}), options, evaluator, store);
  CHECK(result.ended_how == "budget");
  CHECK(result.evaluated <= 4);
  CHECK(store.records(of_problem(square(16))).size() >= 1);
  CHECK(store.records(of_problem(square(512))).empty());
}

TEST_CASE("where a problem's first outcome takes long, more candidates than one come with it") {
  ToyEvaluator evaluator;
  evaluator.wide = 8;
  evaluator.seconds_first = 1;
  evaluator.seconds_each = 0.0625;
  db::Store store = db::Store::in_memory();
  TuneOptions options = options_for(evaluator);
  options.finalists = 0;
  options.budget = std::chrono::seconds(18);  // 0.9 s a problem: less than a first outcome takes
  const Workload workload = twenty_squares();
  const double began = evaluator.clock;
  const TuneResult result = quiet_tune(workload, options, evaluator, store);
  CHECK(evaluator.clock - began <= 20);
  CHECK(result.evaluated >= 10 * 8);
  for (std::int64_t i = 1; i <= 10; ++i) CHECK(store.records(of_problem(square(64 * i))).size() >= 8);
}

TEST_CASE("where outcomes come in bursts no problem takes the time of those after it") {
  ToyEvaluator evaluator;
  evaluator.wide = 34;
  evaluator.burst = 9;
  evaluator.seconds_each = 0.0625;
  db::Store store = db::Store::in_memory();
  TuneOptions options = options_for(evaluator);
  options.finalists = 0;
  options.budget = std::chrono::seconds(60);  // 3 s a problem: 48 candidates
  const Workload workload = twenty_squares();
  const double began = evaluator.clock;
  quiet_tune(workload, options, evaluator, store);
  CHECK(evaluator.clock - began <= 61);
  for (std::int64_t i = 1; i <= 20; ++i) {
    const std::size_t tried = store.records(of_problem(square(64 * i))).size();
    INFO(i << ": " << tried);
    CHECK(tried >= 30);
    CHECK(tried <= 66);
  }
}

TEST_CASE(
    "where launches are long no more candidates are in flight than there is time for, though others took little") {
  ToyEvaluator evaluator;
  evaluator.wide = 34;
  evaluator.seconds_each = 0.01;
  db::Store store = db::Store::in_memory();
  TuneOptions options = options_for(evaluator);
  options.finalists = 0;
  options.max_candidates = 30;
  quiet_tune(squares({64}), options, evaluator, store);
  const Problem large = square(8192);
  store.record(record_of(evaluator, large, ToyFamily::config(1, 1, 1), ok(100e3)));
  evaluator.answers = [&](const Candidate& candidate) {
    const bool is_large = candidate.task == large;
    if (is_large) evaluator.clock += 0.85;
    return ok(is_large ? 100e3 : 10);
  };
  options.max_candidates = 0;
  options.budget = std::chrono::seconds(20);
  const double began = evaluator.clock;
  quiet_tune(squares({72, 8192}), options, evaluator, store);
  CHECK(evaluator.clock - began <= 21);
  CHECK(tried(store, 8192) >= 10);
}

TEST_CASE("a settled problem gives its time to one that still improves, and keeps the most of it") {
  std::vector<Config> orders[2];
  for (std::vector<Config>& order : orders) {
    ToyEvaluator evaluator = one_that_gains();
    db::Store store = db::Store::in_memory();
    TuneOptions options = options_for(evaluator);
    options.finalists = 0;
    options.budget = std::chrono::seconds(240);  // 80 candidates each
    const double began = evaluator.clock;
    std::map<std::size_t, std::uint32_t> slices;
    std::set<std::size_t> gave_up;
    const auto note = [&](const Progress& now) {
      slices[now.task_index] = std::max(slices[now.task_index], now.slice);
      if (now.gave_up_time) gave_up.insert(now.task_index);
      if (now.gave_up_time) CHECK(now.trend.settled());
    };
    const TuneResult result = tune(squares({64, 128, 256}), options, evaluator, store, note, kNeverStop);
    CHECK(result.ended_how == "budget");
    CHECK(result.reused == 0);
    CHECK(evaluator.clock - began <= 240);
    CHECK(evaluator.total() >= 230);
    for (const std::int64_t settled : {64, 256}) {
      CHECK(tried(store, settled) >= 52);
      CHECK(tried(store, settled) <= 60);
    }
    CHECK(tried(store, 128) >= 115);
    CHECK(gave_up == std::set<std::size_t>{0, 2});
    CHECK(slices[1] >= 2);
    CHECK(slices[0] == 1);
    order = evaluator.order;
  }
  CHECK(orders[0] == orders[1]);
}

TEST_CASE("a resumed run knows which problems had settled") {
  ToyEvaluator evaluator = one_that_gains();
  db::Store store = db::Store::in_memory();
  TuneOptions options = options_for(evaluator);
  options.finalists = 0;
  options.budget = std::chrono::seconds(120);
  quiet_tune(squares({64, 128, 256}), options, evaluator, store);
  const std::size_t before = tried(store, 64), gained = tried(store, 128);
  quiet_tune(squares({64, 128, 256}), options, evaluator, store);
  CHECK(tried(store, 64) - before >= kLeastEvaluations);
  CHECK(tried(store, 64) - before <= 30);  // its share was 40
  CHECK(tried(store, 128) - gained >= 60);
}

TEST_CASE("a resumed run begins with the problems that the one before did not get to") {
  ToyEvaluator evaluator;
  db::Store store = db::Store::in_memory();
  TuneOptions options = options_for(evaluator);
  options.max_candidates = 10;
  quiet_tune(squares({64}), options, evaluator, store);
  std::vector<std::int64_t> order;
  const std::atomic<bool> stop{false};
  tune(
      squares({64, 128}), options, evaluator, store,
      [&](const Progress& p) {
        if (order.empty() || order.back() != p.task.problem().m) order.push_back(p.task.problem().m);
      },
      stop);
  CHECK(order == std::vector<std::int64_t>{128, 64});
}

TEST_CASE("a budget that outlasts what there is to try ends with every space tried") {
  ToyEvaluator evaluator;
  db::Store store = db::Store::in_memory();
  TuneOptions options = options_for(evaluator);
  options.max_candidates = 40;
  options.budget = std::chrono::seconds(200);
  const TuneResult result = quiet_tune(squares({64, 128, 256}), options, evaluator, store);
  CHECK(result.ended_how == "done");
  CHECK(evaluator.total() == 3 * 40);
}
