// What became of bests in another database.
#include "tests/catch.hpp"
#include "tests/tuner/made_recording.hpp"
#include "tuner/bests/compare.hpp"
#include "tuner/exit_status.hpp"

using namespace tilesmith;
using namespace tilesmith::tests;
using tuner::Change;

namespace {

db::JudgedBest best(std::int64_t m, double us, const char* trust = "valid", double spread = 0.001) {
  db::JudgedBest made;
  made.record.task = packed_problem({*find_type_pair("f16f32"), {}}, m, 512, 512);
  made.record.config = Config("simt", {{"x", 1}});
  made.record.device = made_device();
  made.record.environment.measuring_policy = "cold-4";
  made.record.outcome.status = db::Status::ok;
  made.record.outcome.timing = db::Timing{us, spread, 15};
  made.trust = trust;
  return made;
}

Change only_change(
    const std::vector<db::JudgedBest>& a, const std::vector<db::JudgedBest>& b, double within = tuner::kSameWithin) {
  const tuner::Comparison comparison = tuner::compare(a, b, {within, {}});
  REQUIRE(comparison.problems.size() == 1);
  return comparison.problems.front().change;
}

}  // namespace

TEST_CASE("a best is faster or slower by more than noise alone") {
  CHECK(only_change({best(64, 10)}, {best(64, 9)}) == Change::faster);
  CHECK(only_change({best(64, 10)}, {best(64, 11)}) == Change::slower);
  CHECK(only_change({best(64, 10)}, {best(64, 10.15)}) == Change::same);
  CHECK(only_change({best(64, 10)}, {best(64, 9.85)}) == Change::same);
  CHECK(only_change({best(64, 10)}, {best(64, 10.15)}, 0.01) == Change::slower);
  CHECK(only_change({best(64, 10, "valid", 0.1)}, {best(64, 9.2, "valid", 0.05)}) == Change::same);  // wide spreads
}

TEST_CASE("a best is new, gone or stale by what each side has of it") {
  CHECK(only_change({}, {best(64, 9)}) == Change::added);
  CHECK(only_change({best(64, 9)}, {}) == Change::gone);
  CHECK(only_change({best(64, 9)}, {best(64, 9, "retired")}) == Change::stale);
  CHECK(only_change({best(64, 9)}, {best(64, 9, "illegal")}) == Change::stale);
  CHECK(only_change({best(64, 9)}, {best(64, 9, "not loaded")}) == Change::stale);
  CHECK(only_change({best(64, 9)}, {best(64, 9, "reverify")}) == Change::same);
  CHECK(only_change({best(64, 9, "retired")}, {best(64, 8)}) == Change::faster);  // it was measured all the same
}

TEST_CASE("times of other measuring policies do not compare") {
  db::JudgedBest former = best(64, 10, "remeasure");
  former.record.environment.measuring_policy = "cold-3";
  CHECK(only_change({former}, {best(64, 5)}) == Change::unlike);
  db::JudgedBest trial = best(64, 10, "remeasure");
  trial.record.environment.measuring_policy = db::kTrialPolicy;
  CHECK(only_change({trial}, {trial}) == Change::unlike);
  CHECK(tuner::compare({former}, {best(64, 5)}).mean_speedup() == 0);
}

TEST_CASE("the summary says why times do not compare, and that the devices differ") {
  db::JudgedBest former = best(64, 10, "remeasure"), trial = best(128, 10, "remeasure"), other = best(64, 5);
  former.record.environment.measuring_policy = "cold-3";
  trial.record.environment.measuring_policy = db::kTrialPolicy;
  CHECK(tuner::words_of(tuner::compare({former}, {best(64, 5)})) ==
        "1 unlike (timed by policy cold-3 in A, cold-4 in B)");
  CHECK(tuner::words_of(tuner::compare({former, trial}, {best(64, 5), trial})) ==
        "2 unlike (both timed by a library's trial; timed by policy cold-3 in A, cold-4 in B)");
  CHECK(tuner::words_of(tuner::compare({best(64, 10), best(128, 10)},
            {best(64, 9, "retired"), best(128, 9, "illegal")})) == "2 stale (illegal; retired)");
  other.record.device.name = "NVIDIA H100";
  CHECK(tuner::words_of(tuner::compare({former}, {other})) ==
        "1 unlike (timed by policy cold-3 in A, cold-4 in B); A and B are of different devices");
}

TEST_CASE("what would run counts, not what is on record behind it") {
  const tuner::Comparison comparison = tuner::compare({best(64, 10)}, {best(64, 10), best(64, 2, "retired")});
  REQUIRE(comparison.problems.size() == 1);
  CHECK(comparison.problems.front().change == Change::same);
}

TEST_CASE("the most that was lost comes first, and the means are of what compares") {
  const tuner::Comparison comparison =
      tuner::compare({best(1, 10), best(2, 100), best(3, 10), best(4, 10), best(5, 10)},
          {best(1, 20), best(2, 150), best(3, 5), best(4, 10), best(6, 1)});
  std::vector<std::int64_t> order;
  for (const auto& one : comparison.problems) order.push_back(one.problem.m);
  CHECK(order == std::vector<std::int64_t>{2, 1, 5, 3, 6, 4});
  CHECK(comparison.compared() == 4);
  CHECK(comparison.a_us() == Approx(130));
  CHECK(comparison.b_us() == Approx(185));
  CHECK(comparison.mean_speedup() == Approx(std::pow(0.5 * (100.0 / 150) * 2 * 1, 0.25)));
  CHECK(
      tuner::words_of(comparison) ==
      "2 slower, 1 gone, 1 faster, 1 new, 1 same; of 4 that compare B is 0.904 times as fast (geometric mean) and takes 1.423 of A's time");
  CHECK(tuner::words_of(tuner::compare({}, {})) == "no problem to compare");
}

TEST_CASE("a workload leaves out other problems and gives weights") {
  tuner::CompareOptions options;
  options.workload =
      tuner::Workload{"w", {{best(1, 1).record.task.problem(), 3}, {best(9, 1).record.task.problem(), 1}}};
  const tuner::Comparison comparison = tuner::compare({best(1, 10), best(2, 100)}, {best(1, 20), best(2, 1)}, options);
  REQUIRE(comparison.problems.size() == 1);
  CHECK(comparison.a_us() == Approx(30));
  CHECK(comparison.in_neither == 1);
}

TEST_CASE("problems are paired by device, and across devices where each side is of one") {
  db::JudgedBest other = best(64, 5);
  other.record.device.name = "NVIDIA H100";
  const tuner::Comparison across = tuner::compare({best(64, 10)}, {other});
  CHECK(across.across_devices);
  REQUIRE(across.problems.size() == 1);
  CHECK(across.problems.front().speedup() == Approx(2));
  const tuner::Comparison both = tuner::compare({best(64, 10), other}, {best(64, 10), other});
  CHECK_FALSE(both.across_devices);
  CHECK(both.problems.size() == 2);
  db::JudgedBest third = best(64, 5);
  third.record.device.name = "NVIDIA A100";
  CHECK_THROWS_AS(tuner::compare({best(64, 10), other}, {third}), tuner::UsageError);
}
