// Values that a family got after a problem was tuned, and configs that were recorded before.
#include "tuner/warm_start/new_values.hpp"

#include "tests/catch.hpp"
#include "tuner/warm_start/families_today.hpp"

using namespace tilesmith;
using namespace tilesmith::tuner;

namespace {

const std::vector<Parameter> kParameters{{"x", {1, 2, 3}, ""}, {"new", {0, 1}, ""}};

Config now(int x, int value) { return Config("f", {{"x", x}, {"new", value}}); }

constexpr std::int64_t kMany = NewValues::kTelling;  // entries before those of the tests

db::Record entry(std::int64_t id, const Config& config) {
  db::Record record;
  record.id = kMany + id;
  record.config = config;
  return record;
}

}  // namespace

TEST_CASE("a config recorded before a parameter was added gets that parameter's first value and then the others") {
  const std::vector<Parameter> parameters{{"x", {4, 8}, ""}, {"new", {3, 1}, ""}, {"y", {1, 2}, ""}};
  const Config first("f", {{"x", 8}, {"new", 3}, {"y", 2}}), second("f", {{"x", 8}, {"new", 1}, {"y", 2}});
  CHECK(as_of_today(Config("f", {{"x", 8}, {"y", 2}}), parameters) == std::vector{first, second});
  CHECK(as_of_today(Config("f", {{"y", 2}, {"x", 8}, {"new", 1}}), parameters) == std::vector{second});
  CHECK(as_of_today(Config("f", {{"y", 2}}), parameters) ==
        std::vector<Config>{Config("f", {{"x", 4}, {"new", 3}, {"y", 2}}),
            Config("f", {{"x", 8}, {"new", 3}, {"y", 2}}), Config("f", {{"x", 4}, {"new", 1}, {"y", 2}})});
  CHECK(as_of_today(Config("f", {{"x", 8}, {"y", 2}, {"gone", 0}}), parameters).empty());
}

TEST_CASE("a value is new to a problem that was tuned before anybody tried it") {
  const db::FirstTried tried{{{"f", "x", 1}, kMany + 1}, {{"f", "x", 2}, kMany + 2}, {{"f", "x", 3}, kMany + 7},
      {{"f", "new", 0}, kMany + 8}, {{"f", "new", 1}, kMany + 8}};
  NewValues values(tried);
  CHECK(values.neighbours(now(1, 0), kParameters).empty());  // nothing of the family: nothing is new
  for (const std::int64_t id : {6, 5, 4}) values.saw(entry(id, Config("f", {{"x", 1}})));
  CHECK(values.neighbours(now(1, 0), kParameters) ==
        std::vector{now(3, 0), now(1, 1)});  // x = 2 was there, and passed over
  CHECK(values.neighbours(Config("g", {{"x", 1}, {"new", 0}}), kParameters).empty());
}

TEST_CASE("while a store has few entries, no value is new") {
  const db::FirstTried tried{{{"f", "x", 1}, 1}};
  NewValues values(tried);
  values.saw(entry(-1, now(1, 0)));
  CHECK(values.neighbours(now(1, 0), kParameters).empty());
}

TEST_CASE("a value that nobody has ever tried is new, and one that the problem has tried since is not") {
  const db::FirstTried tried{{{"f", "x", 1}, kMany + 1}, {{"f", "new", 0}, kMany + 1}, {{"f", "new", 1}, kMany + 9}};
  NewValues values(tried);
  values.saw(entry(9, now(1, 1)));
  for (const std::int64_t id : {6, 5, 4}) values.saw(entry(id, now(1, 0)));
  CHECK(values.neighbours(now(1, 0), kParameters) == std::vector{now(2, 0), now(3, 0)});
}

TEST_CASE("a value tried elsewhere stays new until most of the problem's entries came after it") {
  const db::FirstTried tried{{{"f", "x", 1}, kMany + 1}, {{"f", "x", 2}, kMany + 5}, {{"f", "x", 3}, kMany + 1},
      {{"f", "new", 0}, kMany + 1}, {{"f", "new", 1}, kMany + 1}};
  for (const bool most_after : {false, true}) {
    NewValues values(tried);
    for (const std::int64_t id : {7, 6}) values.saw(entry(id, now(1, 0)));
    if (!most_after) values.saw(entry(4, now(1, 0)));
    for (const std::int64_t id : {3, 2}) {
      if (!most_after) values.saw(entry(id, now(1, 0)));
    }
    CHECK(values.neighbours(now(1, 0), kParameters).empty() == most_after);
  }
}
