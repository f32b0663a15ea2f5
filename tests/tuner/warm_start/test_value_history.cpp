// Which values a family got after a problem was tuned.
#include "tuner/warm_start/value_history.hpp"

#include <cstdint>

#include "tests/catch.hpp"
#include "tests/tuner/tune_toy.hpp"

using namespace tilesmith;
using namespace tilesmith::tuner;
using namespace tilesmith::tuner::toy;

namespace {

constexpr std::int64_t kThen = ValueHistory::kTelling, kLate = kThen + 1;  // ids of entries

/// So many entries of x = 1 early, one of x = 2 late, by a clock that was set back in between.
db::Store store_of(std::int64_t early) {
  ToyEvaluator evaluator;
  db::Store store = db::Store::in_memory();
  db::Evidence entry = evidence_of(evaluator, square(64), ToyFamily::config(1, 1, 1), toy::ok(5));
  entry.created_at = "2026-01-01T00:00:00.000Z";
  for (std::int64_t i = 0; i < early; ++i) store.record(entry);
  entry.config = ToyFamily::config(2, 1, 1);
  entry.created_at = "1970-01-01T00:00:00.000Z";
  store.record(entry);
  return store;
}

}  // namespace

TEST_CASE("a value came after a time at which its family had many outcomes, and none with it") {
  const db::Store store = store_of(ValueHistory::kTelling);
  const ValueHistory history(store);
  CHECK_FALSE(history.came_after("toy", "x", 1, kThen));
  CHECK(history.came_after("toy", "x", 2, kThen));
  CHECK_FALSE(history.came_after("toy", "x", 2, kLate));
  CHECK(history.came_after("toy", "x", 3, kLate));  // in none at all
  CHECK(history.came_after("toy", "new", 1, kThen));
  CHECK_FALSE(history.came_after("other", "x", 3, kThen));
}

TEST_CASE("of a family with few outcomes by then nothing is said") {
  const db::Store store = store_of(ValueHistory::kTelling - 1);
  const ValueHistory history(store);
  for (const int x : {1, 2, 3}) CHECK_FALSE(history.came_after("toy", "x", x, kThen - 1));  // the last of them
  CHECK(history.came_after("toy", "x", 3, kLate));
}
