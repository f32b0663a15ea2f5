// Where a search starts from: which records count, and whose bests and initial configs come first.
#include <atomic>
#include <chrono>
#include <thread>

#include "tests/catch.hpp"
#include "tests/db/bests.hpp"
#include "tests/tuner/run_binary.hpp"
#include "tests/tuner/tune_toy.hpp"
#include "tuner/loop/tune_start.hpp"

using namespace tilesmith;
using namespace tilesmith::tuner;
using namespace tilesmith::tuner::toy;

namespace {

/// Records of this device and, unless another is given, of this environment.
void plant(db::Store& store, const ToyEvaluator& evaluator, const Problem& problem, const Config& config,
    const db::Outcome& outcome = toy::ok(5), const std::optional<db::Environment>& environment = std::nullopt) {
  db::Record record = record_of(evaluator, problem, config, outcome);
  if (environment) record.environment = *environment;
  store.record(record);
}

/// The first configs that a search of the problem tries.
std::vector<Config> first_seeds(const StartingPoint& start, std::size_t most) {
  std::vector<Config> configs;
  for (std::size_t i = 0; i < std::min(most, start.initial_configs.size()); ++i) {
    configs.push_back(start.space.config(start.initial_configs[i]));
  }
  return configs;
}

/// Whatever other threads ask it they wait for while it holds them up.
class HeldUp final : public ToyEvaluator {
 public:
  bool knows(const Task& task, const Config& config) const override {
    for (int ms = 0; holds_up_ && ms < 10000 && std::this_thread::get_id() != here_; ++ms)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return ToyEvaluator::knows(task, config);
  }
  void hold_up(bool whether) { holds_up_ = whether; }

 private:
  const std::thread::id here_ = std::this_thread::get_id();
  std::atomic<bool> holds_up_{false};
};

/// Cannot tell, as where the store cannot be read.
class Unreadable final : public ToyEvaluator {
 public:
  bool knows(const Task&, const Config&) const override { throw db::StoreError("not to be read"); }
};

}  // namespace

TEST_CASE("other options or another policy retire records: it is tried again") {
  ToyEvaluator evaluator;
  db::Store store = db::Store::in_memory();
  TuneOptions options = options_for(evaluator);
  options.max_candidates = 10;
  quiet_tune(squares({64}), options, evaluator, store);
  evaluator.environment_.compiler_options = "-O2";
  const TuneResult result = quiet_tune(squares({64}), options, evaluator, store);
  CHECK(result.reused == 0);
  CHECK(result.evaluated == 10);
}

TEST_CASE("the fastest of retired records are tried before the bests of other problems, and nothing of it is known") {
  ToyEvaluator evaluator;
  db::Store store = db::Store::in_memory();
  const Problem problem = square(64);
  db::Environment old_options = evaluator.environment_, old_driver = evaluator.environment_;
  old_options.compiler_options = "-O0";
  old_driver.driver_version = "570";
  const auto config = [](int x) { return ToyFamily::config(x, 3, 8); };
  const db::Outcome wrong{db::Status::mismatch, "wrong sums", std::nullopt};
  for (const int x : {4, 1, 3, 2, 5, 6, 7}) plant(store, evaluator, problem, config(x), ok(x), old_options);
  for (int y = 1; y <= 6; ++y) plant(store, evaluator, problem, ToyFamily::config(1, y, 8), ok(10 + y), old_options);
  plant(store, evaluator, problem, config(1), wrong, old_options);  // the later entry counts
  plant(store, evaluator, problem, config(2), wrong, old_driver);   // more to be trusted than its retired time
  plant(store, evaluator, problem, config(8), ok(100), old_driver);
  plant(store, evaluator, problem, config(3), ok(50), evaluator.environment_);
  plant(store, evaluator, square(128), ToyFamily::config(7, 2, 4));

  StartingPoints starting_points({"toy"}, evaluator, store);
  const StartingPoint start = starting_points.of(problem);
  const auto other = [](int y) { return ToyFamily::config(1, y, 8); };
  CHECK(first_seeds(start, 11) == std::vector{config(8), config(4), config(5), config(6), config(7), other(1), other(2),
                                      other(4), other(5), ToyFamily::config(7, 2, 4), ToyFamily::config(4, 4, 2)});
  REQUIRE(start.reused.size() == 1);
  CHECK(start.space.config(start.reused[0].index) == config(3));
  for (const Config& none : {config(1), config(2), config(3), other(6)}) {
    const auto index = start.space.index_of(none);
    REQUIRE(index);
    CHECK(std::count(start.initial_configs.begin(), start.initial_configs.end(), *index) == 0);
  }
}

TEST_CASE("what was best is lost where retired records are faster than what is known") {
  ToyEvaluator evaluator;
  db::Store store = db::Store::in_memory();
  const Problem problem = square(64);
  db::Environment old_options = evaluator.environment_;
  old_options.compiler_options = "-O0";
  StartingPoints starting_points({"toy"}, evaluator, store);
  const auto best_is_lost = [&] { return starting_points.of(problem).best_is_lost; };
  CHECK_FALSE(best_is_lost());
  plant(store, evaluator, problem, ToyFamily::config(1, 1, 1), ok(20));
  plant(store, evaluator, problem, ToyFamily::config(1, 1, 2), ok(30), old_options);
  CHECK_FALSE(best_is_lost());
  plant(store, evaluator, problem, ToyFamily::config(1, 1, 4), ok(10), old_options);
  CHECK(best_is_lost());
  plant(store, evaluator, problem, ToyFamily::config(1, 1, 4),
      ok(12));  // tried again, and slower: by another build, or the device is
  CHECK_FALSE(best_is_lost());
  plant(store, evaluator, problem, ToyFamily::config(1, 2, 4), ok(8), old_options);
  CHECK(best_is_lost());
  plant(store, evaluator, problem, ToyFamily::config(1, 1, 8), ok(7));
  CHECK_FALSE(best_is_lost());
  db::Environment old_policy = evaluator.environment_;
  old_policy.measuring_policy = "toy-0";
  plant(store, evaluator, problem, ToyFamily::config(1, 2, 8), ok(1), old_policy);  // by another clock
  CHECK_FALSE(best_is_lost());
}

TEST_CASE("a search whose best is lost tries its initial configs before it goes by what it knows of slower configs") {
  ToyEvaluator evaluator;
  evaluator.wide = 6;
  db::Store store = db::Store::in_memory();
  db::Environment old_options = evaluator.environment_;
  old_options.compiler_options = "-O0";
  for (int y = 1; y <= 6; ++y) {
    for (const int z : {1, 2}) plant(store, evaluator, square(64), ToyFamily::config(8, y, z), ok(500));
  }
  const std::vector<Config> lost{ToyFamily::config(5, 5, 4), ToyFamily::config(5, 6, 4), ToyFamily::config(6, 5, 4)};
  for (const Config& config : lost) plant(store, evaluator, square(64), config, ok(1), old_options);
  TuneOptions options = options_for(evaluator);
  options.max_candidates = 12 + 6;
  quiet_tune(squares({64}), options, evaluator, store);
  REQUIRE(evaluator.order.size() == 6);
  std::vector<Config> initial_configs = lost;
  for (const Config& own : {ToyFamily::config(4, 4, 2), ToyFamily::config(2, 2, 1), ToyFamily::config(1, 1, 1)})
    initial_configs.push_back(own);
  CHECK(std::is_permutation(
      evaluator.order.begin(), evaluator.order.end(), initial_configs.begin(), initial_configs.end()));
}

TEST_CASE("retired records of another device or of a config that left the space is no seed") {
  ToyEvaluator evaluator;
  db::Store store = db::Store::in_memory();
  db::Environment old_options = evaluator.environment_;
  old_options.compiler_options = "-O0";
  ToyEvaluator other;
  other.identity_.power_mode = "30W";
  plant(store, other, square(64), ToyFamily::config(6, 3, 8), ok(5), old_options);  // the best there: a seed as such
  plant(store, other, square(64), ToyFamily::config(7, 3, 8), ok(6), old_options);
  plant(store, evaluator, square(64), ToyFamily::config(8, 8, 8), ok(5), old_options);  // breaks a rule
  StartingPoints starting_points({"toy"}, evaluator, store);
  const StartingPoint start = starting_points.of(square(64));
  CHECK(start.reused.empty());
  CHECK(first_seeds(start, 2) == std::vector{ToyFamily::config(6, 3, 8), ToyFamily::config(4, 4, 2)});
}

TEST_CASE("records of another driver is tried again, the fastest first") {
  ToyEvaluator evaluator;
  evaluator.wide = 1;
  db::Store store = db::Store::in_memory();
  TuneOptions options = options_for(evaluator);
  options.max_candidates = 40;
  options.finalists = 0;
  quiet_tune(squares({64}), options, evaluator, store);
  const Config best = db::test::bests_of(store).at(0).record.config;
  evaluator.environment_.driver_version = "590";
  evaluator.order.clear();
  const TuneResult result = quiet_tune(squares({64}), options, evaluator, store);
  CHECK(result.reused == 0);
  CHECK(result.evaluated == 40);
  CHECK(evaluator.order.front() == best);
}

TEST_CASE("records of another device is not reused, but its best is a seed") {
  ToyEvaluator evaluator;
  db::Store store = db::Store::in_memory();
  TuneOptions options = options_for(evaluator);
  options.strategy = "exhaustive";
  quiet_tune(squares({64}), options, evaluator, store);
  ToyEvaluator other;
  other.wide = 1;
  other.identity_.power_mode = "30W";
  options = options_for(other);
  options.max_candidates = 5;
  const TuneResult result = quiet_tune(squares({64}), options, other, store);
  CHECK(result.reused == 0);
  CHECK(other.order.front() == kOptimum);
}

TEST_CASE(
    "the bests of the nearest problems and the families' initial configs come in turn, then the ladder from the top") {
  ToyEvaluator evaluator;
  evaluator.wide = 1;
  db::Store store = db::Store::in_memory();
  TuneOptions options = options_for(evaluator);
  options.finalists = 0;
  plant(store, evaluator, square(4096), ToyFamily::config(5, 2, 4));  // too far away to be a guess
  plant(store, evaluator, square(128), ToyFamily::config(7, 2, 4));
  plant(store, evaluator, packed_problem({*find_type_pair("bf16f32"), {true, false}}, 64, 64, 64),
      ToyFamily::config(6, 2, 4));
  options.max_candidates = 6;
  quiet_tune(squares({64}), options, evaluator, store);
  REQUIRE(evaluator.order.size() == 6);
  CHECK(evaluator.order[0] == ToyFamily::config(6, 2, 4));
  CHECK(evaluator.order[1] == ToyFamily::config(4, 4, 2));  // the seed 8, 8, 8 breaks a rule
  CHECK(evaluator.order[2] == ToyFamily::config(7, 2, 4));
  CHECK(evaluator.order[3] == ToyFamily::config(2, 2, 1));
  CHECK(evaluator.order[4] == ToyFamily::config(1, 1, 1));
  CHECK_FALSE(evaluator.incumbents.front());
  REQUIRE(evaluator.incumbents.back());
  CHECK(evaluator.incumbents.back()->us ==
        Approx(evaluator.outcome_of(evaluator.incumbents.back()->config).timing->median_us));
}

TEST_CASE("a problem whose rows are aligned alike is nearer than one of more like size whose rows are not") {
  ToyEvaluator evaluator;
  db::Store store = db::Store::in_memory();
  const TypePair& type = *find_type_pair("f16f32");
  plant(store, evaluator, packed_problem({type, {}}, 64, 64, 60), ToyFamily::config(6, 2, 4));  // rows of A: 8 bytes
  plant(store, evaluator, packed_problem({type, {}}, 80, 64, 64), ToyFamily::config(7, 2, 4));
  StartingPoints starting_points({"toy"}, evaluator, store);
  CHECK(first_seeds(starting_points.of(square(64)), 3) ==
        std::vector{ToyFamily::config(7, 2, 4), ToyFamily::config(4, 4, 2), ToyFamily::config(6, 2, 4)});
}

TEST_CASE("legal configs are kept for the last few type pairs and transposes that were asked for") {
  ToyEvaluator evaluator;
  const db::Store store = db::Store::in_memory();
  StartingPoints starting_points({"toy"}, evaluator, store, 8);  // of finalists alone: the library is not asked
  const auto enumerates = [&](std::string_view type, Transposes trans, std::int64_t size = 64) {
    const int before = ToyFamily::rules_asked;
    const StartingPoint start = starting_points.of(packed_problem({*find_type_pair(type), trans}, size, size, size));
    const bool asked = ToyFamily::rules_asked > before;
    CHECK(start.space.size() == legal_configs());
    return asked;
  };
  // All the ways there are, one more than are kept of them.
  std::vector<std::pair<std::string_view, Transposes>> ways;
  for (const TypePair& type : type_pairs()) {
    for (const bool a : {false, true}) {
      for (const bool b : {false, true}) ways.push_back({type.name, {a, b}});
    }
  }
  REQUIRE(ways.size() > StartingPoints::kMostKept);
  ways.resize(StartingPoints::kMostKept + 1);
  const auto [last_type, last_trans] = ways.back();
  for (std::size_t i = 0; i + 1 < ways.size(); ++i) CHECK(enumerates(ways[i].first, ways[i].second));
  CHECK_FALSE(enumerates(ways[0].first, ways[0].second, 128));
  CHECK(enumerates(last_type, last_trans));  // in the place of the second, the longest unused
  CHECK_FALSE(enumerates(ways[0].first, ways[0].second));
  CHECK_FALSE(enumerates(ways[2].first, ways[2].second));
  CHECK_FALSE(enumerates(last_type, last_trans));
  CHECK(enumerates(ways[1].first, ways[1].second));
}

TEST_CASE("a space made ahead is the one made when it is asked for, also if another is asked for first") {
  ToyEvaluator evaluator;
  db::Store store = db::Store::in_memory();
  const Problem even = square(64), odd = packed_problem(even, 65, 64, 64);
  StartingPoints fresh({"toy"}, evaluator, store), ahead({"toy"}, evaluator, store);
  const auto same = [&](const Problem& problem) {
    const StartingPoint expected = fresh.of(problem), start = ahead.of(problem);
    REQUIRE(start.space.size() == expected.space.size());
    for (std::size_t i = 0; i < start.space.size(); ++i) REQUIRE(start.space.config(i) == expected.space.config(i));
    CHECK(start.initial_configs == expected.initial_configs);
  };
  ahead.prepare(odd);
  same(odd);
  ahead.prepare(odd);
  same(even);
  ahead.prepare(even);
  ahead.prepare(odd);
  same(odd);
  same(even);
}

TEST_CASE("of a store in a file initial configs are made meanwhile, and are those of a store in memory") {
  const tests::TempFolder folder;
  HeldUp evaluator;
  db::Store in_file = db::Store::open(folder / "tuned.db"), in_memory = db::Store::in_memory();
  const Problem next = square(64);
  for (db::Store* store : {&in_file, &in_memory}) {
    for (const int x : {1, 2, 3, 4}) plant(*store, evaluator, square(64 + 8 * x), ToyFamily::config(x, 5, 2));
  }
  StartingPoints here({"toy"}, evaluator, in_memory), beside({"toy"}, evaluator, in_file);
  evaluator.hold_up(true);
  beside.prepare(next, 5);
  CHECK_FALSE(beside.announced(false));  // others are at work on them
  plant(in_file, evaluator, square(256), ToyFamily::config(4, 4, 4), {db::Status::mismatch, "wrong", std::nullopt});
  CHECK_FALSE(beside.announced(false));
  evaluator.hold_up(false);
  const auto announced = beside.announced(true);
  REQUIRE(announced);
  CHECK(announced->first == next);
  CHECK(announced->second.to_try.size() == 5);
  here.prepare(next, 5);
  CHECK(announced->second.to_try == here.announced(false)->second.to_try);  // made here, when asked for
  CHECK_FALSE(beside.announced(true));                                      // told once
  CHECK(beside.of(next).space.size() > 0);

  beside.prepare(next);
  CHECK_FALSE(beside.announced(true));  // nobody asked for any
  beside.prepare(next, 5);
  CHECK(beside.of(square(128)).space.size() > 0);
  CHECK_FALSE(beside.announced(true));  // another problem came instead
}

TEST_CASE("what cannot be announced says so once, and then comes the problem after it") {
  Unreadable evaluator;
  db::Store store = db::Store::in_memory();
  StartingPoints starting_points({"toy"}, evaluator, store);
  const Task after = square(128);
  starting_points.prepare(square(64), 5, &after);
  for (int problem = 0; problem < 2; ++problem) CHECK_THROWS_AS(starting_points.announced(true), db::StoreError);
  CHECK_FALSE(starting_points.announced(true));
}
