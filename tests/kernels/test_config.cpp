#include "kernels/config.hpp"

#include <stdexcept>

#include "tests/catch.hpp"

using namespace tilesmith;

TEST_CASE("a config's canonical text reads back to the same config") {
  const Config config("wmma", {{"frag_m", 16}, {"stages", 0}, {"pad_bytes", -3}});
  CHECK(config.text() == "wmma{frag_m=16,stages=0,pad_bytes=-3}");
  REQUIRE(Config::parse(config.text()));
  CHECK(*Config::parse(config.text()) == config);
  CHECK(*Config::parse("simt{}") == Config("simt", {}));
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
