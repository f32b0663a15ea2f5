// What is tried first on a problem: which list of configs, without a space.
#include <algorithm>
#include <utility>
#include <vector>

#include "tests/catch.hpp"
#include "tests/tuner/run_binary.hpp"
#include "tests/tuner/tune_toy.hpp"
#include "tuner/loop/tune_start.hpp"
#include "tuner/warm_start/initial_configs.hpp"

using namespace tilesmith;
using namespace tilesmith::tuner;
using namespace tilesmith::tuner::toy;

namespace {

void plant(db::Store& store, const ToyEvaluator& evaluator, const Problem& problem, const Config& config,
    const std::string& plan_hash = "", double median_us = 5) {
  db::Record record = record_of(evaluator, problem, config, toy::ok(median_us));
  record.plan_hash = plan_hash;
  store.record(record);
}

InitialConfigSource source_for(const ToyEvaluator& evaluator, const db::Store& store) {
  return InitialConfigSource({families_named({"toy"}), evaluator.device(), evaluator.limits(),
                                 [&](const std::string& family) { return evaluator.environment(family); }, {}},
      store);
}

Config toy_config(int x, int y, int z) { return ToyFamily::config(x, y, z); }

std::vector<Config> first_of(std::vector<Config> configs, std::size_t count) {
  configs.resize(std::min(configs.size(), count));
  return configs;
}

}  // namespace

TEST_CASE("what is filled in of an older recording is a guess and never known") {
  ToyEvaluator evaluator;
  db::Store store = db::Store::in_memory();
  const Config without_z("toy", {{"x", 7}, {"y", 3}}), elsewhere("toy", {{"x", 6}, {"y", 3}}),
      breaks_a_rule("toy", {{"x", 8}, {"y", 7}});
  plant(store, evaluator, square(64), without_z);
  plant(store, evaluator, square(64), breaks_a_rule, "", 1);
  plant(store, evaluator, square(128), elsewhere);
  const InitialConfigs initial_configs = source_for(evaluator, store).of(square(64));
  CHECK(initial_configs.known.empty());
  CHECK(first_of(initial_configs.to_try, 2) == std::vector{toy_config(7, 3, 1), toy_config(6, 3, 1)});
}

TEST_CASE("the fastest configs are tried with a parameter that was added since, in turn with those to be tried again") {
  ToyEvaluator evaluator;
  db::Store store = db::Store::in_memory();
  for (int i = 0; i < NewValues::kTelling; ++i) {
    plant(store, evaluator, square(2048), Config("toy", {{"x", 1 + i % 8}, {"y", 1 + i % 8}}), "hash-0");
  }
  for (const int x : {1, 2, 3, 4})
    plant(store, evaluator, square(64), Config("toy", {{"x", x}, {"y", 3}}), "hash-0", 9 - x);
  plant(store, evaluator, square(64), toy_config(5, 3, 1), "", 4);  // today's, by the first value
  const InitialConfigs initial_configs = source_for(evaluator, store).of(square(64));
  CHECK(first_of(initial_configs.to_try, 12) ==
        std::vector{toy_config(5, 3, 2), toy_config(4, 3, 1), toy_config(5, 3, 4), toy_config(3, 3, 1),
            toy_config(5, 3, 8), toy_config(2, 3, 1), toy_config(4, 3, 2), toy_config(1, 3, 1), toy_config(4, 3, 4),
            toy_config(4, 3, 8), toy_config(3, 3, 2), toy_config(3, 3, 4)});
  // What is slower than what is known comes behind one of these; what was faster, before.
  plant(store, evaluator, square(64), Config("toy", {{"x", 6}, {"y", 3}}), "hash-0", 3);
  CHECK(source_for(evaluator, store).of(square(64)).to_try.front() == toy_config(6, 3, 1));
}

TEST_CASE("where all times are by a former measuring policy, what was fastest comes before what it never had") {
  ToyEvaluator evaluator;
  db::Store store = db::Store::in_memory();
  for (const int x : {6, 7}) {
    db::Record record = record_of(evaluator, square(64), Config("toy", {{"x", x}, {"y", 3}}), toy::ok(12 - x));
    record.environment.measuring_policy = "a former one";
    store.record(record);
  }
  CHECK(source_for(evaluator, store).of(square(64)).to_try.front() == toy_config(7, 3, 1));
}

TEST_CASE(
    "a value that came after a problem was tuned is tried with the fastest configs, in turn with those to be tried again") {
  ToyEvaluator evaluator;
  db::Store few = db::Store::in_memory(), many = db::Store::in_memory();
  const auto record = [&](db::Store& store, const Problem& problem, const Config& config, const char* hash,
                          const char* at) {
    db::Record made = record_of(evaluator, problem, config, toy::ok(5 + config.at("x")));
    made.plan_hash = hash;
    made.created_at = at;
    store.record(made);
  };
  const char *early = "2026-01-01T00:00:00.000Z", *without_clock = "1970-01-01T00:00:00.000Z";
  for (std::int64_t i = 0; i < NewValues::kTelling; ++i) {
    record(many, square(2048), toy_config(1 + i % 4, 1 + i % 4, 2), "hash-0", early);
  }
  for (db::Store* store : {&few, &many}) {
    for (const int z : {1, 4}) record(*store, square(4096), toy_config(7, 4, z), "hash-0", early);
    for (const int x : {5, 6, 7}) record(*store, square(64), toy_config(x, 3, 2), "hash-0", early);
  }
  record(many, square(4096), toy_config(7, 3, 8), "", without_clock);
  const auto first = [&](db::Store& store) { return first_of(source_for(evaluator, store).of(square(64)).to_try, 3); };
  CHECK(first(few) == std::vector{toy_config(5, 3, 2), toy_config(6, 3, 2), toy_config(7, 3, 2)});
  // Of all of the family's outcomes by then none has z = 8, nor x = 8; what has was recorded elsewhere, later.
  CHECK(first(many) == std::vector{toy_config(5, 3, 2), toy_config(8, 3, 2), toy_config(6, 3, 2)});
}

TEST_CASE("initial_configs hold nothing known, nothing twice and nothing that the problem refuses") {
  ToyEvaluator evaluator;
  db::Store store = db::Store::in_memory();
  const Problem odd = packed_problem({*find_type_pair("f16f32"), {}}, 65, 64, 64);
  plant(store, evaluator, odd, toy_config(4, 4, 2));            // the family's own guess
  plant(store, evaluator, odd, toy_config(1, 3, 4), "hash-0");  // retired
  plant(store, evaluator, square(64), toy_config(1, 3, 4));     // the same once more
  plant(store, evaluator, square(128), toy_config(2, 3, 8));    // wants even M
  plant(store, evaluator, square(32), toy_config(3, 3, 4));
  InitialConfigSource source = source_for(evaluator, store);
  const InitialConfigs initial_configs = source.of(odd);
  REQUIRE(initial_configs.known.size() == 1);
  CHECK(initial_configs.known[0].config == toy_config(4, 4, 2));
  CHECK(initial_configs.to_try ==
        std::vector{toy_config(1, 3, 4), toy_config(3, 3, 4), toy_config(2, 2, 1), toy_config(1, 1, 1)});
  CHECK(source.of(odd, 2).to_try == std::vector{toy_config(1, 3, 4), toy_config(3, 3, 4)});
  CHECK(source.of(odd, 2).known.size() == 1);
}

TEST_CASE(
    "what was fastest for a problem on a similar device comes first where it is new, before nearer problems of its own") {
  ToyEvaluator evaluator;
  db::Store store = db::Store::in_memory();
  const db::DeviceIdentity here = evaluator.device();
  const auto record_on = [&](const db::DeviceIdentity& device, const Problem& problem, const Config& config, double us,
                             const std::string& plan_hash = "", const std::string& driver = "580") {
    db::Record record = record_of(evaluator, problem, config, toy::ok(us));
    record.device = device;
    record.plan_hash = plan_hash;
    record.environment.driver_version = driver;
    store.record(record);
  };
  const auto device = [&](const char* name, int sm_count) {
    db::DeviceIdentity other = here;
    other.name = name;
    other.sm_count = sm_count;
    return other;
  };
  record_on(here, square(128), toy_config(1, 3, 2), 5);
  const db::DeviceIdentity alike = device("as many multiprocessors", here.sm_count);
  record_on(alike, square(64), toy_config(7, 3, 1), 4);
  record_on(alike, square(64), toy_config(6, 3, 1), 3);
  record_on(alike, square(64), toy_config(5, 3, 1), 2, "", "570");  // to be verified again there
  record_on(alike, square(64), toy_config(5, 4, 1), 1, "hash-0");   // by a former kernel
  // Another, less alike, has no place left. Its name comes first.
  record_on(device("a larger one", 2 * here.sm_count), square(64), toy_config(3, 3, 1), 1);

  // In turn with bests, this device's nearest first, and the family's own guess; where records count more, before what
  // is faster.
  const InitialConfigs initial_configs = source_for(evaluator, store).of(square(64));
  CHECK(initial_configs.known.empty());
  CHECK(
      first_of(initial_configs.to_try, 6) == std::vector{toy_config(6, 3, 1), toy_config(1, 3, 2), toy_config(4, 4, 2),
                                                 toy_config(7, 3, 1), toy_config(3, 3, 1), toy_config(5, 3, 1)});
  CHECK(initial_configs.to_try.at(6) == toy_config(5, 4, 1));

  // What this device has tried of them is not tried again.
  record_on(here, square(64), toy_config(6, 3, 1), 4);
  CHECK(source_for(evaluator, store).of(square(64)).to_try.front() == toy_config(7, 3, 1));
}

TEST_CASE("what has its turn as a similar device's takes no place among the bests of other problems") {
  ToyEvaluator evaluator;
  db::Store store = db::Store::in_memory();
  db::DeviceIdentity alike = evaluator.device();
  alike.name = "another";
  std::int64_t size = 64;
  for (const int x : {4, 5, 6, 7}) {
    db::Record record = record_of(evaluator, square(64), toy_config(x, 3, 1), toy::ok(x));
    record.device = alike;
    store.record(record);
    plant(store, evaluator, square(size += 8), toy_config(x, 3, 1));  // nearer than what follows
  }
  for (int x = 1; x <= 8; ++x) plant(store, evaluator, square(size += 8), toy_config(x, 2, 2));
  const std::vector<Config> initial_configs = source_for(evaluator, store).of(square(64)).to_try;
  for (int x = 1; x <= 8; ++x)
    CHECK(std::count(initial_configs.begin(), initial_configs.end(), toy_config(x, 2, 2)) == 1);
}

TEST_CASE("devices that are not similar have no turn of their own among the initial_configs") {
  ToyEvaluator evaluator;
  db::DeviceIdentity far_larger = evaluator.device(), virtually_here = evaluator.device();
  far_larger.name = "a far larger one";
  far_larger.sm_count = 2 * evaluator.device().sm_count + 1;
  virtually_here.name = "a server's as sm_87";
  REQUIRE(db::ran_as(virtually_here) == "sm_87");
  for (const db::DeviceIdentity& other : {far_larger, virtually_here}) {
    INFO(other.name);
    db::Store store = db::Store::in_memory();
    plant(store, evaluator, square(128), toy_config(1, 3, 2));
    db::Record record = record_of(evaluator, square(64), toy_config(6, 3, 1), toy::ok(1));
    record.device = other;
    store.record(record);
    CHECK(source_for(evaluator, store).of(square(64)).to_try.front() == toy_config(1, 3, 2));
  }
}

TEST_CASE("bests that are recorded later are initial configs once the former are refreshed") {
  ToyEvaluator evaluator;
  db::Store store = db::Store::in_memory();
  InitialConfigSource source = source_for(evaluator, store);
  CHECK(source.of(square(64)).to_try.front() == toy_config(4, 4, 2));
  plant(store, evaluator, square(128), toy_config(7, 2, 4));
  CHECK(source.of(square(64)).to_try.front() == toy_config(4, 4, 2));
  source.refresh_bests();
  CHECK(source.of(square(64)).to_try.front() == toy_config(7, 2, 4));
}

TEST_CASE("a search starts with the very initial configs that are told without its space") {
  ToyEvaluator evaluator;
  db::Store store = db::Store::in_memory();
  for (const int x : {1, 2, 3, 4}) plant(store, evaluator, square(64 + 8 * x), toy_config(x, 5, 2));
  plant(store, evaluator, square(64), toy_config(6, 6, 1), "hash-0");
  StartingPoints starting_points({"toy"}, evaluator, store);
  const StartingPoint start = starting_points.of(square(64));
  std::vector<Config> initial_configs;
  for (const std::size_t index : start.initial_configs) initial_configs.push_back(start.space.config(index));
  CHECK(initial_configs == source_for(evaluator, store).of(square(64)).to_try);
  initial_configs.resize(3);
  starting_points.prepare(square(64), 3);
  const auto announced = starting_points.announced(true);
  REQUIRE(announced);
  CHECK(announced->second.to_try == initial_configs);
  CHECK_FALSE(starting_points.announced(true));  // told once
}

TEST_CASE(
    "while a problem is searched, the evaluator hears of the first initial configs of the next and of its finalists") {
  ToyEvaluator evaluator;
  const tests::TempFolder folder;
  db::Store store = GENERATE(false, true) ? db::Store::open(folder / "tuned.db") : db::Store::in_memory();
  TuneOptions options = options_for(evaluator);
  options.max_candidates = 6;
  options.finalists = 0;
  quiet_tune(squares({64, 128}), options, evaluator, store);
  CHECK(evaluator.announced.empty());  // it asked for none

  evaluator.announces = 2;
  plant(store, evaluator, square(512), toy_config(7, 2, 4));
  quiet_tune(squares({256, 1024}), options, evaluator, store);
  REQUIRE(evaluator.announced.size() == 1);
  CHECK(evaluator.announced[0].problem == square(1024));
  CHECK(evaluator.announced[0].candidates == std::vector{toy_config(7, 2, 4), toy_config(4, 4, 2)});
  options.max_candidates = 1;
  quiet_tune(squares({260, 1028, 64}), options, evaluator, store);
  REQUIRE(evaluator.announced.size() == 3);
  CHECK(evaluator.announced[1].problem == square(1028));
  CHECK(evaluator.announced[2].problem == square(64));  // two slices before its own, and once
  CHECK(evaluator.announced[1].candidates.size() == 1);
  CHECK(evaluator.announced[2].finalists.empty());  // of no final benchmark

  // Of what is known, the fastest: not what failed, nor what is retired.
  options.finalists = 2;
  for (const int x : {1, 5, 3, 4}) plant(store, evaluator, square(2048), toy_config(x, 3, 2), "", 10 - x);
  plant(store, evaluator, square(2048), toy_config(5, 3, 1), "hash-0", 1);
  store.record(record_of(evaluator, square(2048), toy_config(6, 3, 2), {db::Status::mismatch, "wrong", std::nullopt}));
  quiet_tune(squares({1032, 2048}), options, evaluator, store);
  REQUIRE(evaluator.announced.size() == 4);
  CHECK(evaluator.announced[3].finalists == std::vector{toy_config(5, 3, 2), toy_config(4, 3, 2)});
}

TEST_CASE("the best of a sister is the first guess, before those of nearer shapes, with and without the epilogue") {
  ToyEvaluator evaluator;
  db::Store store = db::Store::in_memory();
  Problem fused = square(1024), gated = square(1024), near = square(1024);
  fused.epilogue = *parse_epilogue("bias_n+gelu");
  gated.epilogue = *parse_epilogue("swiglu");
  gated.ldc = 512;
  near.m = 1040;
  near.epilogue = fused.epilogue;
  plant(store, evaluator, near, toy_config(1, 1, 1));  // a fiftieth of a doubling away
  plant(store, evaluator, square(1024), toy_config(5, 3, 1));
  plant(store, evaluator, square(1024), toy_config(6, 3, 1), "", 6);  // slower
  CHECK(source_for(evaluator, store).of(fused).to_try.front() == toy_config(5, 3, 1));
  CHECK(source_for(evaluator, store).of(gated).to_try.front() == toy_config(5, 3, 1));
  CHECK(source_for(evaluator, store).of(near).known.size() == 1);
  // The other way round, and from one epilogue to another.
  db::Store of_fused = db::Store::in_memory();
  plant(of_fused, evaluator, near, toy_config(1, 1, 1));
  plant(of_fused, evaluator, fused, toy_config(7, 3, 1));
  Problem plain_near = square(1024);
  plain_near.m = 1008;
  plant(of_fused, evaluator, plain_near, toy_config(2, 2, 1));
  CHECK(source_for(evaluator, of_fused).of(square(1024)).to_try.front() == toy_config(7, 3, 1));
  Problem relu = square(1024);
  relu.epilogue = *parse_epilogue("relu");
  CHECK(source_for(evaluator, of_fused).of(relu).to_try.front() == toy_config(7, 3, 1));
}

TEST_CASE("a batch of other entries is a guess, and comes before one problem of the shape") {
  ToyEvaluator evaluator;
  db::Store store = db::Store::in_memory();
  plant(store, evaluator, square(128), toy_config(1, 1, 1));
  plant(store, evaluator, batched(square(128), 64), toy_config(5, 3, 1));
  CHECK(source_for(evaluator, store).of(batched(square(128), 48)).to_try.front() == toy_config(5, 3, 1));
  CHECK(source_for(evaluator, store).of(square(136)).to_try.front() == toy_config(1, 1, 1));
}
