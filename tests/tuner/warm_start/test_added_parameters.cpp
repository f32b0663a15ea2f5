// Configs that were recorded before parameters were added to their family.
#include "tests/catch.hpp"
#include "tuner/warm_start/added_parameters.hpp"

using namespace tilesmith;
using namespace tilesmith::tuner;

namespace {

constexpr std::int64_t kThen = 7;  // an entry's id

}  // namespace

TEST_CASE("a config recorded before a parameter was added gets that parameter's first value and then the others") {
  const std::vector<Parameter> parameters{{"x", {4, 8}, ""}, {"new", {3, 1}, ""}, {"y", {1, 2}, ""}};
  const Config first("f", {{"x", 8}, {"new", 3}, {"y", 2}}), second("f", {{"x", 8}, {"new", 1}, {"y", 2}});
  CHECK(as_of_today(Config("f", {{"x", 8}, {"y", 2}}), parameters) == std::vector{first, second});
  CHECK(as_of_today(Config("f", {{"y", 2}, {"x", 8}, {"new", 1}}), parameters) == std::vector{second});
  CHECK(as_of_today(Config("f", {{"y", 2}}), parameters) ==
        std::vector<Config>{Config("f", {{"x", 4}, {"new", 3}, {"y", 2}}),
                            Config("f", {{"x", 8}, {"new", 3}, {"y", 2}}),
                            Config("f", {{"x", 4}, {"new", 1}, {"y", 2}})});
  CHECK(as_of_today(Config("f", {{"x", 8}, {"y", 2}, {"gone", 0}}), parameters).empty());
}

TEST_CASE("a value that was added since a problem's configs were recorded is untried until two configs of the tile had it") {
  const std::vector<Parameter> parameters{
      {"block_m", {64, 128}, ""}, {"block_n", {64}, ""}, {"x", {1, 2, 3, 4, 5}, ""}, {"new", {3, 1, 2}, ""}};
  const auto config = [](int block_m, int x, int value) {
    return Config("f", {{"block_m", block_m}, {"block_n", 64}, {"x", x}, {"new", value}});
  };
  const auto before = [](int block_m, int x) { return Config("f", {{"block_m", block_m}, {"block_n", 64}, {"x", x}}); };
  AddedParameters added;
  added.saw(config(64, 1, 3), kThen, parameters);
  CHECK(added.untried(config(64, 1, 3), parameters).empty());  // nothing says that it was ever missing
  added.saw(before(64, 2), kThen, parameters);
  CHECK(added.untried(config(64, 1, 3), parameters) == std::vector{config(64, 1, 1), config(64, 1, 2)});
  CHECK(added.untried(Config("other", {{"x", 1}, {"new", 3}}), parameters).empty());
  for (const int x : {1, 1, 1}) added.saw(config(64, x, 1), kThen, parameters);  // one config
  CHECK(added.untried(config(64, 1, 3), parameters) == std::vector{config(64, 1, 1), config(64, 1, 2)});
  added.saw(config(64, 4, 1), kThen, parameters);
  CHECK(added.untried(config(64, 1, 3), parameters) == std::vector{config(64, 1, 2)});
  CHECK(added.untried(config(64, 1, 2), parameters).empty());  // with the one before, two had the first value
  // Another tile's configs say nothing of this one.
  CHECK(added.untried(config(128, 1, 3), parameters) == std::vector{config(128, 1, 1), config(128, 1, 2)});
}

TEST_CASE("a value that came after most of a family's configs were recorded is untried until two configs of the tile had it") {
  const std::vector<Parameter> parameters{{"block_m", {64, 128}, ""}, {"block_n", {64}, ""}, {"x", {1, 2}, ""}, {"band", {1, 4, 8}, ""}};
  const auto config = [](int x, int band) {
    return Config("f", {{"block_m", 64}, {"block_n", 64}, {"x", x}, {"band", band}});
  };
  std::vector<std::int64_t> asked;
  AddedParameters added([&](const std::string& family, const std::string& parameter, int value, std::int64_t then) {
    asked.push_back(then);
    return family == "f" && ((parameter == "band" && value == 4) || (parameter == "block_m" && value == 128));
  });
  CHECK(added.untried(config(1, 1), parameters).empty());  // of a family with nothing recorded
  CHECK(asked.empty());
  added.saw(config(1, 1), 1, parameters);
  added.saw(config(1, 8), 3, parameters);
  added.saw(config(2, 8), 2, parameters);
  CHECK(added.untried(config(1, 1), parameters) == std::vector{config(1, 4)});  // and not another tile
  CHECK(asked.front() == 2);
  added.saw(config(1, 4), 4, parameters);
  CHECK(added.untried(config(2, 1), parameters) == std::vector{config(2, 4)});
  added.saw(config(2, 4), 4, parameters);
  CHECK(added.untried(config(2, 1), parameters).empty());
}
