// A search space: configs of several families by their indices, their neighbours and digits.
#include <algorithm>
#include <atomic>
#include <set>
#include <stdexcept>

#include "tests/catch.hpp"
#include "tests/tuner/search/toy_spaces.hpp"
#include "tuner/search/search_space.hpp"

using namespace tilesmith;
using namespace tilesmith::tuner;
using namespace tilesmith::tuner::toy;

TEST_CASE("a search space finds every config by value, whatever the order of its parameters") {
  const SearchSpace space({toy_space(), line_space()});
  REQUIRE(space.size() == toy_space().configs.size() + 3);
  for (std::size_t i = 0; i < space.size(); ++i) REQUIRE(space.index_of(space.config(i)) == i);
  CHECK(
      space.index_of(Config("toy", {{"z", 2}, {"x", 5}, {"y", 3}})) == space.index_of(toy::ToyFamily::config(5, 3, 2)));
  CHECK_FALSE(space.index_of(toy::ToyFamily::config(8, 8, 1)));  // breaks the rule
  CHECK_FALSE(space.index_of(toy::ToyFamily::config(9, 1, 1)));  // no such value
  CHECK_FALSE(space.index_of(Config("toy", {{"x", 1}})));
  CHECK_FALSE(space.index_of(Config("none", {{"x", 10}})));
}

TEST_CASE("neighbours are legal, of the same family, differ in one parameter, and single steps come first") {
  const SearchSpace space({toy_space(), line_space()});
  for (std::size_t i = 0; i < space.size(); ++i) {
    const auto around = space.neighbourhood(i);
    const auto all = space.neighbours(i);
    REQUIRE(all.size() == around.adjacent.size() + around.farther.size());
    REQUIRE(std::equal(around.adjacent.begin(), around.adjacent.end(), all.begin()));
    REQUIRE(std::set<std::size_t>(all.begin(), all.end()).size() == all.size());
    for (const std::size_t n : all) {
      REQUIRE(n < space.size());
      REQUIRE(space.config(n).family() == space.config(i).family());
      REQUIRE(differing(space.config(n), space.config(i)) == 1);
    }
    // Being neighbours is mutual.
    for (const std::size_t n : around.adjacent) {
      const auto back = space.neighbourhood(n).adjacent;
      REQUIRE(std::count(back.begin(), back.end(), i) == 1);
    }
  }
  const auto corner = space.neighbourhood(*space.index_of(toy::ToyFamily::config(6, 8, 1)));
  CHECK(corner.adjacent.size() == 3);  // x = 5, y = 7, z = 2; x = 7 would break the rule
  CHECK(corner.farther.size() == 4 + 6 + 2);
}

TEST_CASE("the digits and the family of a config lead back to it") {
  const SearchSpace space({toy_space(), line_space()});
  CHECK(space.family_count() == 2);
  for (std::size_t i = 0; i < space.size(); ++i) {
    REQUIRE(space.family(i) == (space.config(i).family() == "line" ? 1 : 0));
    const auto digits = space.digits(i);
    REQUIRE(digits.size() == space.radices(i).size());
    std::vector<SearchSpace::Change> changes;
    for (std::size_t p = 0; p < digits.size(); ++p) changes.emplace_back(p, digits[p]);
    const std::size_t first_of_family = space.family(i) == 0 ? 0 : space.size() - 3;
    REQUIRE(space.changed(first_of_family, changes) == i);
  }
}

TEST_CASE("of a space some configs are kept, in their order, and found as before") {
  const SearchSpace space({line_space(), toy_space(), line_space()});
  const auto wanted = [](const Config& config) {
    return config.family() == "line" ? config.at("x") != 20 : config.at("x") % 2 == 1;
  };
  std::vector<Config> expected;
  for (std::size_t i = 0; i < space.size(); ++i) {
    if (wanted(space.config(i))) expected.push_back(space.config(i));
  }
  std::atomic<std::size_t> asked = 0;
  const SearchSpace kept = space.where([&](const Config& config) { return ++asked, wanted(config); });
  CHECK(asked == space.size());
  REQUIRE(kept.size() == expected.size());
  REQUIRE(kept.family_count() == 3);
  CHECK(kept.family_range(0) == std::pair<std::size_t, std::size_t>{0, 2});
  CHECK(kept.family_range(2) == std::pair<std::size_t, std::size_t>{kept.size() - 2, kept.size()});
  for (std::size_t i = 0; i < kept.size(); ++i) {
    REQUIRE(kept.config(i) == expected[i]);
    if (i < kept.size() - 2) REQUIRE(kept.index_of(kept.config(i)) == i);  // the third family's configs are the first's
  }
  for (std::size_t i = 0; i < space.size(); ++i) {
    if (!wanted(space.config(i))) REQUIRE_FALSE(kept.index_of(space.config(i)));
  }
  const SearchSpace none = kept.where([](const Config&) { return false; });
  CHECK(none.size() == 0);
  CHECK(none.family_count() == 3);
  CHECK_FALSE(none.index_of(expected.front()));
}

TEST_CASE("of more configs than one core goes through at a time those are kept that are wanted") {
  Space numbers;
  numbers.family = "line";
  numbers.parameters = {{"x", {}, ""}};
  for (int x = 0; x < 20000; ++x) {
    numbers.parameters[0].values.push_back(x);
    numbers.configs.push_back(Config("line", {{"x", x}}));
  }
  const SearchSpace space({numbers});
  const SearchSpace kept = space.where([](const Config& config) { return config.at("x") % 3 == 1; });
  REQUIRE(kept.size() == 6667);
  for (std::size_t i = 0; i < kept.size(); ++i) {
    REQUIRE(kept.config(i).at("x") == int(3 * i + 1));
    REQUIRE(kept.index_of(kept.config(i)) == i);
  }
  CHECK_THROWS_AS(space.where([](const Config& config) -> bool {
    if (config.at("x") == 19999) throw std::runtime_error("of the last one");
    return true;
  }),
      std::runtime_error);
}

TEST_CASE("a config outside its own space is refused") {
  Space space = line_space();
  space.configs.push_back(Config("line", {{"x", 11}}));
  CHECK_THROWS_AS(SearchSpace({space}), std::invalid_argument);
}

TEST_CASE("changing several parameters at once gives the legal config or none") {
  const SearchSpace space({line_space(), toy_space()});
  const std::size_t from = *space.index_of(toy::ToyFamily::config(1, 1, 1));
  const SearchSpace::Change legal[] = {{0, 4}, {2, 3}};
  CHECK(space.changed(from, legal) == space.index_of(toy::ToyFamily::config(5, 1, 8)));
  const SearchSpace::Change illegal[] = {{0, 7}, {1, 7}};
  CHECK_FALSE(space.changed(from, illegal));
  const SearchSpace::Change beyond[] = {{3, 0}};
  CHECK_FALSE(space.changed(from, beyond));
}
