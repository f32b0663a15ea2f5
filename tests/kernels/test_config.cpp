#include "kernels/families/config.hpp"

#include <limits>
#include <stdexcept>

#include "tests/catch.hpp"

using namespace tilesmith;

TEST_CASE("a config's canonical text reads back to the same config") {
  const Config config("wmma", {{"frag_m", 16}, {"stages", 0}, {"pad_bytes", -3}});
  CHECK(config.text() == "wmma{frag_m=16,stages=0,pad_bytes=-3}");
  REQUIRE(Config::parse(config.text()));
  CHECK(*Config::parse(config.text()) == config);
  CHECK(*Config::parse("simt{}") == Config("simt", {}));
  const Config extreme("x", {{"least", std::numeric_limits<int>::min()}, {"most", std::numeric_limits<int>::max()}});
  CHECK(extreme.text() == "x{least=-2147483648,most=2147483647}");
  CHECK(*Config::parse(extreme.text()) == extreme);
}

TEST_CASE("a text that is no config is refused") {
  for (const char* bad : {"", "wmma", "wmma{", "{a=1}", "wmma{a}", "wmma{a=}", "wmma{=1}", "wmma{a=1,}", "wmma{a=1x}",
           "wmma{a=1,a=2}", "wmma{a=99999999999}"}) {
    INFO(bad);
    CHECK_FALSE(Config::parse(bad));
  }
}

TEST_CASE("asking a config for a parameter that it lacks names both") {
  const Config config("wmma", {{"frag_m", 16}});
  CHECK_THROWS_AS(config.at("stages"), std::out_of_range);
  CHECK_FALSE(config.has("stages"));
}

TEST_CASE("a name finds its parameter wherever it lies in a config") {
  // One place that asks, of configs in which it lies elsewhere or not at all.
  const auto stages = [](const Config& config) { return config.at("stages"); };
  const Config last("mma", {{"block_m", 64}, {"block_n", 32}, {"stages", 3}});
  const Config first("mma", {{"stages", 5}, {"block_m", 96}, {"block_n", 16}});
  const Config only("simt", {{"stages", 7}});
  const Config none("gemv", {{"block_m", 1}, {"block_n", 2}, {"split_k", 4}});
  for (int repeat = 0; repeat < 2; ++repeat) {
    CHECK(stages(last) == 3);
    CHECK(stages(first) == 5);
    CHECK(stages(only) == 7);
    CHECK_THROWS_AS(stages(none), std::out_of_range);
    CHECK(stages(last) == 3);
  }
}

TEST_CASE("a name in memory that is written anew is read anew") {
  const Config config("mma", {{"block_m", 64}, {"block_n", 32}});
  char name[] = "block_m";
  CHECK(config.at(name) == 64);
  name[6] = 'n';
  CHECK(config.at(name) == 32);
  name[5] = '\0';
  CHECK_THROWS_AS(config.at(name), std::out_of_range);
}
