// What is tried first on a problem, by the real families' own initial configs.
#include <algorithm>
#include <utility>
#include <vector>

#include "tests/catch.hpp"
#include "tests/tuner/tune_toy.hpp"
#include "tuner/warm_start/initial_configs.hpp"

using namespace tilesmith;
using namespace tilesmith::tuner;
using namespace tilesmith::tuner::toy;

namespace {

void plant(db::Store& store, const ToyEvaluator& evaluator, const Problem& problem, const Config& config,
    double median_us, const std::string& plan_hash = "") {
  db::Record record = record_of(evaluator, problem, config, toy::ok(median_us));
  record.plan_hash = plan_hash;
  store.record(record);
}

InitialConfigSource source_for(
    const std::vector<std::string>& families, const ToyEvaluator& evaluator, const db::Store& store) {
  return InitialConfigSource({families_named(families), evaluator.device(), *limits_for_arch("sm_90a"),
                                 [&](const std::string& family) { return evaluator.environment(family); }, {}},
      store);
}

std::vector<Config> first_configs_of(std::vector<Config> configs, std::size_t count) {
  configs.resize(std::min(configs.size(), count));
  return configs;
}

}  // namespace

TEST_CASE("all initial configs of the real families are legal and eligible, and each family is heard of early") {
  const db::Store store = db::Store::in_memory();
  const DeviceLimits limits = *limits_for_arch("sm_90a");
  InitialConfigSource source({families_named({"simt", "wmma", "mma", "wgmma", "gemv"}), {}, limits,
                                 [](const std::string&) { return db::Environment{}; }, {}},
      store);
  const Problem problem = packed_problem({*find_type_pair("f16f32"), {}}, 4096, 4096, 4096);
  const std::vector<Config> initial_configs = source.of(problem, 8).to_try;
  REQUIRE(initial_configs.size() == 8);
  CHECK(initial_configs[0].family() == "wgmma");
  CHECK(initial_configs[1].family() == "mma");
  for (const Config& config : initial_configs) {
    const Family& family = *find_family(config.family());
    CHECK_FALSE(illegal_because(family, config, {problem, limits}));
    CHECK_FALSE(family.refusal(config, problem));
  }
}

TEST_CASE(
    "a family that was far behind on problems nearby has its own initial configs last, on problems of that type pair") {
  ToyEvaluator evaluator;
  db::Store store = db::Store::in_memory();
  const auto problem_of = [](const char* type, std::int64_t size) {
    return packed_problem({*find_type_pair(type), {}}, size, size, size);
  };
  const auto initial_configs_of = [&](const Problem& problem) {
    return source_for({"simt", "wmma", "wgmma"}, evaluator, store).of(problem).to_try;
  };
  const auto first_place = [](const std::vector<Config>& configs, const std::string& family) {
    const auto of_family = [&](const Config& config) { return config.family() == family; };
    return std::find_if(configs.begin(), configs.end(), of_family) - configs.begin();
  };
  const Problem problem = problem_of("f16f32", 2048);
  const std::vector<Config> fresh = initial_configs_of(problem);
  CHECK(first_place(fresh, "wmma") < 5);
  CHECK(first_place(fresh, "simt") < 5);

  for (const std::int64_t size : {512, 768, 1024, 1536, 3072, 4096}) {
    double us = 0;  // wgmma's from 200, wmma's never within twice that, simt's far behind
    for (const Config& config : first_configs_of(initial_configs_of(problem_of("f16f32", size)), 40)) {
      const double from = config.family() == "wgmma" ? 200 : config.family() == "wmma" ? 410 : 9000;
      plant(store, evaluator, problem_of("f16f32", size), config, from + us++);
    }
  }
  const std::vector<Config> initial_configs = initial_configs_of(problem);
  CHECK(first_place(initial_configs, "wmma") > 20);
  CHECK(first_place(initial_configs, "simt") > 20);
  CHECK(
      first_place(initial_configs, "wmma") < std::ptrdiff_t(initial_configs.size()));  // kept, for whoever has the time
  CHECK(first_place(initial_configs, "simt") < std::ptrdiff_t(initial_configs.size()));
  CHECK(first_place(initial_configs_of(problem_of("bf16f32", 2048)), "simt") < 10);

  // Near the best of one problem: no longer.
  plant(store, evaluator, problem_of("f16f32", 1024), fresh[std::size_t(first_place(fresh, "wmma"))], 390);
  CHECK(first_place(initial_configs_of(problem), "wmma") < 10);
  CHECK(first_place(initial_configs_of(problem), "simt") > 20);
}
