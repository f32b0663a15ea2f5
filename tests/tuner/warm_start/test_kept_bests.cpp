// Bests that are kept while a database grows: always those that it would give anew, in its order.
#include <string>
#include <vector>

#include "tests/catch.hpp"
#include "tests/db/bests.hpp"
#include "tests/tuner/tune_toy.hpp"
#include "tuner/warm_start/kept_bests.hpp"

using namespace tilesmith;
using namespace tilesmith::tuner;
using namespace tilesmith::tuner::toy;

namespace {

std::vector<std::string> texts(const std::vector<db::Record>& bests) {
  std::vector<std::string> found;
  for (const db::Record& entry : bests)
    found.push_back(text(entry.task.problem()) + " " + db::text(entry.device) + " " + entry.config.text());
  return found;
}

std::vector<std::string> anew(const db::Store& store) {
  std::vector<db::Record> bests;
  for (const db::JudgedBest& best : db::test::bests_of(store)) bests.push_back(best.record);
  return texts(bests);
}

db::Environment as_it_is(const db::Record& entry) { return entry.environment; }

}  // namespace

TEST_CASE("kept bests are those that the store would give anew once they are refreshed") {
  ToyEvaluator evaluator, elsewhere;
  elsewhere.identity_.sm_count = 3;
  db::Store store = db::Store::in_memory();
  const auto record = [&](const ToyEvaluator& where, Problem problem, int x, const db::Outcome& outcome) {
    store.record(record_of(where, problem, ToyFamily::config(x, 1, 1), outcome));
  };
  KeptBests bests(store, as_it_is);
  CHECK(bests.all().empty());
  for (const int m : {32, 96, 128}) record(evaluator, square(m), 2, ok(5));
  CHECK(bests.all().empty());
  bests.refresh();
  REQUIRE(bests.all().size() == 3);
  CHECK(texts(bests.all()) == anew(store));

  record(evaluator, square(96), 3, ok(4));  // a faster one
  record(evaluator, square(80), 4, ok(5));  // problems between those known, of another type pair and transposes too
  Problem turned = packed_problem({*find_type_pair("bf16f32"), {true, false}}, 64, 1000, 9);
  record(evaluator, turned, 5, ok(5));
  turned.lda += 8;
  record(evaluator, turned, 5, ok(5));
  record(elsewhere, square(96), 6, ok(9));  // another device
  record(evaluator, square(7), 6, {db::Status::mismatch, "wrong sums", std::nullopt});
  bests.refresh();
  REQUIRE(bests.all().size() == 7);
  CHECK(texts(bests.all()) == anew(store));

  // What was right fails later: the one before is the best again, and a problem whose only one it was has none.
  record(evaluator, square(96), 3, {db::Status::mismatch, "wrong sums", std::nullopt});
  record(evaluator, square(80), 4, {db::Status::mismatch, "wrong sums", std::nullopt});
  CHECK(texts(bests.all()) != anew(store));
  bests.refresh();
  CHECK(bests.all().size() == 6);
  CHECK(texts(bests.all()) == anew(store));
  bests.refresh();
  CHECK(texts(bests.all()) == anew(store));
}

TEST_CASE("a faster time that does not count today is no kept best, unless there is no other") {
  ToyEvaluator evaluator;
  db::Store store = db::Store::in_memory();
  const auto record = [&](int m, int x, double us, const std::string& plan_hash, const std::string& policy) {
    db::Record entry = record_of(evaluator, square(m), ToyFamily::config(x, 1, 1), ok(us));
    entry.plan_hash = plan_hash;
    entry.environment.measuring_policy = policy;
    store.record(entry);
  };
  record(32, 1, 1, "former", "cold-4");
  record(32, 2, 2, "", "cold-3");
  record(32, 3, 3, "", "cold-4");
  record(64, 4, 5, "former", "cold-4");
  record(64, 5, 4, "former", "cold-4");
  KeptBests bests(store, [](const db::Record& entry) {
    db::Environment now = entry.environment;
    now.measuring_policy = "cold-4";
    return now;
  });
  REQUIRE(bests.all().size() == 2);
  CHECK(bests.all()[0].config == ToyFamily::config(3, 1, 1));
  CHECK(bests.all()[1].config == ToyFamily::config(5, 1, 1));
}
