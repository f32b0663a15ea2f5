// Which recorded times decide what runs, where kernels have changed since some were taken.
#include "db/store/trust.hpp"
#include "tests/catch.hpp"
#include "tests/tuner/tune_toy.hpp"
#include "tuner/bests/judge.hpp"

using namespace tilesmith;
using namespace tilesmith::tuner;
using namespace tilesmith::tuner::toy;

namespace {

class Recorder {
 public:
  Recorder() : store_(db::Store::in_memory()) {}

  void add(const Problem& problem, const Config& config, const std::string& plan_hash, const db::Outcome& outcome,
      const std::string& policy = {}, const std::string& driver = {}) {
    db::Record record = record_of(evaluator_, problem, config, outcome);
    record.plan_hash = plan_hash;
    if (!driver.empty()) record.environment.driver_version = driver;
    if (!policy.empty()) record.environment.measuring_policy = policy;
    store_.record(record);
  }

  /// What it names is there until the next call.
  UsableBests usable(const std::function<bool(const db::Record&)>& runs = {}) {
    entries_ = store_.records();
    const auto now = [&](const db::Record& entry) { return evaluator_.environment(entry.config.family()); };
    return usable_bests(entries_, now, runs);
  }

 private:
  db::Store store_;
  std::vector<db::Record> entries_;
  ToyEvaluator evaluator_;
};

}  // namespace

TEST_CASE("a faster time of a former kernel hides no time of today's") {
  Recorder recorder;
  const Problem problem = square(64), other = square(96);
  recorder.add(problem, ToyFamily::config(1, 1, 1), "hash-0", toy::ok(1));
  recorder.add(problem, ToyFamily::config(1, 2, 1), "", toy::ok(5));
  recorder.add(problem, ToyFamily::config(1, 3, 1), "", toy::ok(7));
  recorder.add(other, ToyFamily::config(1, 1, 1), "hash-0", toy::ok(1));
  const UsableBests found = recorder.usable();
  REQUIRE(found.bests.size() == 1);
  CHECK(found.bests[0].entry->task.problem() == problem);
  CHECK(found.bests[0].entry->config == ToyFamily::config(1, 2, 1));
  CHECK(found.bests[0].trust == db::Trust::valid);
  CHECK(found.retired_problems == 1);
}

TEST_CASE("of a candidate the latest entry counts, a failure too") {
  Recorder recorder;
  const Problem problem = square(64);
  recorder.add(problem, ToyFamily::config(1, 1, 1), "", toy::ok(1));
  recorder.add(problem, ToyFamily::config(1, 2, 1), "", toy::ok(5));
  recorder.add(problem, ToyFamily::config(1, 1, 1), "", {db::Status::mismatch, "wrong", std::nullopt});
  CHECK(recorder.usable().bests.at(0).entry->config == ToyFamily::config(1, 2, 1));
  recorder.add(problem, ToyFamily::config(1, 2, 1), "", {db::Status::mismatch, "wrong", std::nullopt});
  CHECK(recorder.usable().bests.empty());
  CHECK(recorder.usable().retired_problems == 0);
}

TEST_CASE("times of a former measuring policy count for problems that have none of today's, those of the latest") {
  Recorder recorder;
  const Problem both = square(64), former = square(96);
  recorder.add(both, ToyFamily::config(1, 1, 1), "", toy::ok(1), "former");
  recorder.add(both, ToyFamily::config(1, 2, 1), "", toy::ok(5));
  recorder.add(both, ToyFamily::config(1, 3, 1), "", toy::ok(2), "former");
  recorder.add(former, ToyFamily::config(1, 1, 1), "", toy::ok(1), "first");
  recorder.add(former, ToyFamily::config(1, 2, 1), "", toy::ok(9), "former");
  recorder.add(former, ToyFamily::config(1, 3, 1), "", toy::ok(8), "former");
  const UsableBests found = recorder.usable();
  REQUIRE(found.bests.size() == 2);
  CHECK(found.retired_problems == 0);
  for (const db::Judged& best : found.bests) {
    const bool of_both = best.entry->task.problem() == both;
    CHECK(best.entry->config == (of_both ? ToyFamily::config(1, 2, 1) : ToyFamily::config(1, 3, 1)));
    CHECK(best.trust == (of_both ? db::Trust::valid : db::Trust::remeasure));
  }
}

TEST_CASE("what is valid comes before what is faster and to be re-verified, and what a rule refuses is passed over") {
  Recorder recorder;
  const Problem problem = square(64);
  recorder.add(problem, ToyFamily::config(1, 1, 1), "", toy::ok(1), "", "a former driver");
  recorder.add(problem, ToyFamily::config(1, 2, 1), "", toy::ok(5));
  recorder.add(problem, ToyFamily::config(1, 3, 1), "", toy::ok(6));
  CHECK(recorder.usable().bests.at(0).entry->config == ToyFamily::config(1, 2, 1));
  const auto runs = [](const Config& refused) {
    return [refused](const db::Record& entry) { return !(entry.config == refused); };
  };
  CHECK(recorder.usable(runs(ToyFamily::config(1, 2, 1))).bests.at(0).entry->config == ToyFamily::config(1, 3, 1));
}
