// Which recorded times decide what runs, where kernels have changed since some were taken.
#include "tests/catch.hpp"
#include "tests/tuner/test_tune_toy.hpp"
#include "tuner/usable_bests.hpp"

using namespace tilesmith;
using namespace tilesmith::tuner;
using namespace tilesmith::tuner::toy;

namespace {

class Recorder {
 public:
  Recorder() : store_(db::Store::in_memory()) {}

  void add(const Problem& problem, const Config& config, const std::string& template_hash, const db::Outcome& outcome) {
    db::Evidence evidence = evidence_of(evaluator_, problem, config, outcome);
    evidence.producer.template_hash = template_hash;
    store_.record(evidence);
  }

  UsableBests usable() {
    return usable_bests(store_.evidence(),
                        [&](const db::Evidence& entry) { return evaluator_.producer(entry.config.family()); });
  }

 private:
  db::Store store_;
  ToyEvaluator evaluator_;
};

}  // namespace

TEST_CASE("a faster time of a former kernel hides no time of today's") {
  Recorder recorder;
  const Problem problem = square(64), other = square(96);
  recorder.add(problem, ToyFamily::config(1, 1, 1), "hash-0", toy::ok(1));
  recorder.add(problem, ToyFamily::config(1, 2, 1), "hash-1", toy::ok(5));
  recorder.add(problem, ToyFamily::config(1, 3, 1), "hash-1", toy::ok(7));
  recorder.add(other, ToyFamily::config(1, 1, 1), "hash-0", toy::ok(1));
  const UsableBests found = recorder.usable();
  REQUIRE(found.bests.size() == 1);
  CHECK(found.bests[0].problem == problem);
  CHECK(found.bests[0].config == ToyFamily::config(1, 2, 1));
  CHECK(found.retired == 1);
}

TEST_CASE("of a candidate the latest entry counts, a failure too") {
  Recorder recorder;
  const Problem problem = square(64);
  recorder.add(problem, ToyFamily::config(1, 1, 1), "hash-1", toy::ok(1));
  recorder.add(problem, ToyFamily::config(1, 2, 1), "hash-1", toy::ok(5));
  recorder.add(problem, ToyFamily::config(1, 1, 1), "hash-1", {db::Status::mismatch, "wrong", std::nullopt});
  CHECK(recorder.usable().bests.at(0).config == ToyFamily::config(1, 2, 1));
  recorder.add(problem, ToyFamily::config(1, 2, 1), "hash-1", {db::Status::mismatch, "wrong", std::nullopt});
  CHECK(recorder.usable().bests.empty());
  CHECK(recorder.usable().retired == 0);
}
