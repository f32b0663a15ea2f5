// Configs that were recorded before parameters were added to their family.
#include "tests/catch.hpp"
#include "tuner/added_parameters.hpp"

using namespace tilesmith;
using namespace tilesmith::tuner;

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

TEST_CASE("values that were added since a problem's configs were recorded are untried until one of them was tried") {
  const std::vector<Parameter> parameters{{"x", {4, 8}, ""}, {"new", {3, 1, 2}, ""}};
  const Config before("f", {{"x", 8}}), first("f", {{"x", 8}, {"new", 3}}), other("f", {{"x", 4}, {"new", 1}});
  AddedParameters added;
  added.saw(first, parameters);
  CHECK(added.untried(first, parameters).empty());  // nothing says that it was ever missing
  added.saw(before, parameters);
  CHECK(added.untried(first, parameters) ==
        std::vector<Config>{Config("f", {{"x", 8}, {"new", 1}}), Config("f", {{"x", 8}, {"new", 2}})});
  CHECK(added.untried(Config("other", {{"x", 8}, {"new", 3}}), parameters).empty());
  added.saw(other, parameters);
  CHECK(added.untried(first, parameters).empty());
}
