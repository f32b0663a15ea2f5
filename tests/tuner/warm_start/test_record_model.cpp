// What other problems' records say of configs for one that was never seen.
#include "tuner/warm_start/record_model.hpp"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/catch.hpp"
#include "tests/tuner/tune_toy.hpp"
#include "tuner/warm_start/initial_configs.hpp"
#include "tuner/warm_start/tried_nearby.hpp"

using namespace tilesmith;
using namespace tilesmith::tuner;
using namespace tilesmith::tuner::toy;

namespace {

/// Of a family in which large problems want a large x, and y = 3 and z = 4 are always best.
double slowdown(const Problem& problem, const Config& config) {
  const double wanted = std::log2(double(problem.m)) - 3;
  const double x = config.at("x") - wanted, y = config.at("y") - 3, z = std::log2(config.at("z")) - 2;
  return 1 + 0.1 * x * x + 0.05 * y * y + 0.1 * z * z;
}

std::vector<Config> all_configs() {
  DeviceLimits limits;
  limits.arch = kArch;
  return enumerate_space(ToyFamily{}, {{*find_type_pair("f16f32"), {}}, limits}).configs;
}

/// Every so-manyth config on squares of 2^4 to 2^10, less those of 2^7.
std::vector<Tried> tried_elsewhere() {
  std::vector<Tried> tried;
  const std::vector<Config> configs = all_configs();
  for (const std::int64_t size : {16, 32, 64, 256, 512, 1024}) {
    for (std::size_t i = std::size_t(size) % 3; i < configs.size(); i += 3)
      tried.push_back({square(size), configs[i], slowdown(square(size), configs[i])});
  }
  return tried;
}

struct Fixture {
  Fixture() { register_toy_family(); }
  ToyEvaluator evaluator;
  TriedOn on{evaluator.device(), evaluator.limits()};
};

std::vector<db::Record> bests_of(const db::Store& store) {
  return KeptBests(store, [](const db::Record& entry) { return entry.environment; }).all();
}

}  // namespace

TEST_CASE("configs for a problem never seen are ranked by what was tried on others") {
  const Fixture fixture;
  const std::vector<Tried> tried = tried_elsewhere();
  const std::vector<Config> ranked = most_promising_first(all_configs(), tried, square(128), fixture.on, 1);
  REQUIRE(ranked.size() == all_configs().size());
  CHECK(slowdown(square(128), ranked.front()) <= 1.2);
  double best_of_ten = 100;
  for (std::size_t i = 0; i < 10; ++i) best_of_ten = std::min(best_of_ten, slowdown(square(128), ranked[i]));
  CHECK(best_of_ten <= 1.1);
  CHECK(slowdown(square(128), ranked.back()) >= 2);
  // Another size, another order: the problem is part of what is learned.
  CHECK(most_promising_first(all_configs(), tried, square(16), fixture.on, 1).front().at("x") < ranked.front().at("x"));
}

TEST_CASE("a ranking depends on the seed alone, and without records there is none") {
  const Fixture fixture;
  const std::vector<Tried> tried = tried_elsewhere();
  const std::vector<Config> ranked = most_promising_first(all_configs(), tried, square(128), fixture.on, 1);
  CHECK(most_promising_first(all_configs(), tried, square(128), fixture.on, 1) == ranked);
  CHECK(most_promising_first(all_configs(), tried, square(128), fixture.on, 2) != ranked);
  CHECK(most_promising_first(all_configs(), {}, square(128), fixture.on, 1) == all_configs());
}

TEST_CASE(
    "what the model promises most of comes first of the initial configs, from what was tried on this device or one alike") {
  Fixture fixture;
  db::Store store = db::Store::in_memory();
  for (const Tried& one : tried_elsewhere())
    store.record(record_of(fixture.evaluator, one.problem, one.config, ok(10 * one.slowdown)));
  const auto initial_configs_on = [&](const db::DeviceIdentity& device) {
    const InitialConfigsFor whom{{find_family("toy")}, device, fixture.evaluator.limits(),
        [&](const std::string& family) { return fixture.evaluator.environment(family); }, {}};
    return InitialConfigSource(whom, store).of(square(128)).to_try;
  };
  const auto best_of_four = [](const std::vector<Config>& initial_configs) {
    double best = 100;
    for (std::size_t i = 0; i < 4; ++i) best = std::min(best, slowdown(square(128), initial_configs.at(i)));
    return best;
  };
  const std::vector<Config> here = initial_configs_on(fixture.evaluator.device());
  CHECK(best_of_four(here) <= 1.15);
  CHECK(here == initial_configs_on(fixture.evaluator.device()));
  for (const Config& guess : here) CHECK(std::count(here.begin(), here.end(), guess) == 1);
  // What a family thinks best, and its ladder, are there too.
  for (const Config& own : {ToyFamily::config(4, 4, 2), ToyFamily::config(8, 8, 8), ToyFamily::config(2, 2, 1)})
    CHECK((own.at("x") * own.at("y") > 48 || std::count(here.begin(), here.end(), own) == 1));

  db::DeviceIdentity other = fixture.evaluator.device();
  other.name = "another";
  CHECK(best_of_four(initial_configs_on(other)) <= 1.15);
  other.sm_count = 7;
  CHECK(best_of_four(initial_configs_on(other)) > 1.15);  // elsewhere only the bests count
}

TEST_CASE("what was too little to learn from is looked for again when the bests are") {
  Fixture fixture;
  db::Store store = db::Store::in_memory();
  const InitialConfigsFor whom{{find_family("toy")}, fixture.evaluator.device(), fixture.evaluator.limits(),
      [&](const std::string& family) { return fixture.evaluator.environment(family); }, {}};
  InitialConfigSource source(whom, store);
  const std::vector<Config> before = source.of(square(128)).to_try;  // as where a problem is announced
  for (const Tried& one : tried_elsewhere())
    store.record(record_of(fixture.evaluator, one.problem, one.config, ok(10 * one.slowdown)));
  CHECK(source.of(square(128)).to_try == before);
  source.refresh_bests();
  CHECK(source.of(square(128)).to_try == InitialConfigSource(whom, store).of(square(128)).to_try);
}

TEST_CASE("what was tried on the problem itself teaches nothing of it, and a few candidates teach nothing at all") {
  Fixture fixture;
  db::Store store = db::Store::in_memory();
  const InitialConfigsFor whom{{find_family("toy")}, fixture.evaluator.device(), fixture.evaluator.limits(),
      [&](const std::string& family) { return fixture.evaluator.environment(family); }, {}};
  const std::vector<Config> none = InitialConfigSource(whom, store).of(square(128)).to_try;
  for (const Config& config : all_configs()) {
    if (config.at("x") == 3) continue;  // left to guess
    store.record(record_of(fixture.evaluator, square(128), config, ok(10 * slowdown(square(128), config))));
  }
  std::vector<Config> left;
  for (const Config& config : none) {
    if (config.at("x") == 3) left.push_back(config);
  }
  CHECK(InitialConfigSource(whom, store).of(square(128)).to_try == left);
  // On a similar device it teaches, on others not.
  const auto tried_by = [&](const db::DeviceIdentity& device) {
    return tried_nearby(square(128), bests_of(store), store, device, [](const Config& config, const Problem&) {
      return config;
    }).sample.size();
  };
  db::DeviceIdentity another = whom.device;
  another.name = "another";
  CHECK(tried_by(whom.device) == 0);
  CHECK(tried_by(another) > 10);
  another.sm_count = 7;
  CHECK(tried_by(another) == 0);
  store.record(record_of(fixture.evaluator, square(64), ToyFamily::config(3, 1, 1), ok(10)));
  CHECK(
      InitialConfigSource(whom, store).of(square(128)).to_try.front() == ToyFamily::config(3, 1, 1));  // a best nearby
}

TEST_CASE("three problems speak against a family, and not two of them on similar devices") {
  const Fixture fixture;
  const auto outclassed_after = [&](std::initializer_list<std::int64_t> sizes, const Problem& problem = square(128)) {
    db::Store store = db::Store::in_memory();
    for (const std::int64_t size : sizes) {
      for (const char* name : {"Toy", "another"}) {
        for (const auto& [family, median_us] : {std::pair{"fast", 10.0}, {"slow", 90.0}}) {
          db::Record record = record_of(fixture.evaluator, square(size), Config(family, {{"x", 1}}), ok(median_us));
          record.device.name = name;
          store.record(record);
        }
      }
    }
    const auto as_it_is = [](const Config& config, const Problem&) { return config; };
    return tried_nearby(problem, bests_of(store), store, fixture.evaluator.device(), as_it_is).outclassed;
  };
  CHECK(outclassed_after({64, 256}).empty());
  CHECK(outclassed_after({64, 256, 512}) == std::set<std::string>{"slow"});
  CHECK(outclassed_after({64, 256, 512}, batched(square(128), 2)) == std::set<std::string>{"slow"});
  CHECK(outclassed_after({64, 256, 512}, batched(square(16), 65536)).empty());  // they tell of large products
}
