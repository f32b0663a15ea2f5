// What `compile` and `verify` take of a large space.
#include "tuner/search/sample.hpp"

#include <set>
#include <string>
#include <vector>

#include "tests/catch.hpp"

using namespace tilesmith;
using namespace tilesmith::tuner;

TEST_CASE("a spread sample is deterministic, takes what comes first, repeats nothing and covers every value") {
  // In `mma` few configs copy less than 16 bytes, and none of the first choices.
  const KernelTarget target{{*find_type_pair("f16f32"), {}}, *limits_for_arch("sm_87")};
  const Space space = enumerate_space(*find_family("mma"), target);
  REQUIRE(space.configs.size() > 200);
  const std::vector<Config> first{space.configs[17], Config("mma", {{"no_such", 1}}), space.configs[17]};
  const std::vector<Config> sample = spread_sample(space, first, 64, 7);
  REQUIRE(sample.size() == 64);
  CHECK(sample.front() == space.configs[17]);
  CHECK(spread_sample(space, first, 64, 7) == sample);
  CHECK_FALSE(spread_sample(space, first, 64, 8) == sample);
  std::set<std::string> texts;
  for (const Config& config : sample) texts.insert(config.text());
  CHECK(texts.size() == sample.size());
  for (const Parameter& parameter : space.parameters) {
    std::set<int> in_space, in_sample;
    for (const Config& config : space.configs) in_space.insert(config.at(parameter.name));
    for (const Config& config : sample) in_sample.insert(config.at(parameter.name));
    INFO(parameter.name);
    CHECK(in_sample == in_space);
  }
  CHECK(spread_sample(space, {}, space.configs.size() + 5, 1).size() == space.configs.size());
}

TEST_CASE("what refuses every problem is left out of a space, and what serves one stays") {
  const KernelTarget target{{*find_type_pair("f16f32"), {}}, *limits_for_arch("sm_87")};
  const Family& gemv = *find_family("gemv");
  const Space whole = enumerate_space(gemv, target);
  const std::vector<Problem> wide{packed_problem(target, 64, 64, 64)};
  Space space = whole;
  keep_serving(space, gemv, wide);
  CHECK(space.configs.empty());
  const std::vector<Problem> both{wide.front(), packed_problem(target, 1, 64, 64)};
  space = whole;
  keep_serving(space, gemv, both);
  CHECK_FALSE(space.configs.empty());
  for (const Config& config : space.configs) CHECK_FALSE(gemv.refusal(config, both.back()));
}

TEST_CASE("what serves a matrix of one row as it is planned stays in a space, however odd its stride") {
  const KernelTarget target{{*find_type_pair("f16f32"), {}}, *limits_for_arch("sm_87")};
  const Family& mma = *find_family("mma");
  Config straight = mma.initial_configs(target, ordinary_problem(target)).front();
  straight.set("pack", 0);
  const std::vector<Problem> row{packed_problem(target, 1, 96, 199)}, two_rows{packed_problem(target, 2, 96, 199)};
  REQUIRE(mma.refusal(straight, row.front()));
  Space space;
  space.configs = {straight};
  keep_serving(space, mma, row);
  CHECK(space.configs.size() == 1);
  keep_serving(space, mma, two_rows);
  CHECK(space.configs.empty());
}

TEST_CASE("lists take turns, an item each, and the longer ones go on") {
  using Lists = std::vector<std::vector<int>>;
  CHECK(in_turns(Lists{{1, 2, 3}, {}, {4}, {5, 6}}) == std::vector<int>{1, 4, 5, 2, 6, 3});
  CHECK(in_turns(Lists{}).empty());
  CHECK(in_turns(Lists{{}}).empty());
}
