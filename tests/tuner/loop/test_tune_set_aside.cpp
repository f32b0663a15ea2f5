// Problems on which measuring itself fails: they are set aside, and the others are tuned.
#include <set>
#include <stdexcept>

#include "tests/catch.hpp"
#include "tests/tuner/tune_toy.hpp"
#include "tuner/schedule/slice_board.hpp"

using namespace tilesmith;
using namespace tilesmith::tuner;
using namespace tilesmith::tuner::toy;

namespace {

/// Measuring fails on some problems, from the candidate on that follows the first `outcomes`.
class Failing final : public ToyEvaluator {
 public:
  explicit Failing(std::set<std::int64_t> sizes, int outcomes = 0) {
    answers = [this, sizes = std::move(sizes), outcomes](const Candidate& candidate) {
      if (sizes.contains(candidate.task.problem().m) && ++asked_[candidate.task.problem().m] > outcomes) {
        throw EvaluatorError("measuring is not possible: the reference is wrong");
      }
      return outcome_of(candidate.config);
    };
  }
  TuneOptions options() {
    TuneOptions options = options_for(*this);
    options.max_candidates = 10;
    options.finalists = 0;
    return options;
  }

 private:
  std::map<std::int64_t, int> asked_;
};

std::size_t tried_in(const db::Store& store, std::int64_t size) {
  return store.records(of_problem(square(size))).size();
}

}  // namespace

TEST_CASE("a problem on which measuring fails is set aside night after night, and the others are tuned") {
  db::Store store = db::Store::in_memory();
  for (int night = 0; night < 2; ++night) {
    Failing evaluator({64});
    const TuneResult result = quiet_tune(squares({64, 128, 256}), evaluator.options(), evaluator, store);
    CHECK(result.ended_how == "done");
    CHECK(result.set_aside == std::vector<Task>{square(64)});
    CHECK(tried_in(store, 64) == 0);
    CHECK(tried_in(store, 128) == 10);
    CHECK(tried_in(store, 256) == 10);
  }
}

TEST_CASE("what a problem had before measuring failed on it is kept, and two such problems in a row end no run") {
  db::Store store = db::Store::in_memory();
  Failing evaluator({64, 128}, 3);
  TuneOptions options = evaluator.options();
  options.budget = std::chrono::seconds(300);
  const TuneResult result = quiet_tune(squares({64, 128, 256}), options, evaluator, store);
  CHECK(result.set_aside == std::vector<Task>{square(64), square(128)});
  CHECK(tried_in(store, 64) == 3);
  CHECK(tried_in(store, 128) == 3);
  CHECK(tried_in(store, 256) == 10);
  CHECK(evaluator.in_flight() == 0);
}

TEST_CASE("a run ends where nothing works: on two problems in a row, or on all there are") {
  for (const std::initializer_list<std::int64_t> sizes : {std::initializer_list<std::int64_t>{64, 128, 256}, {64}}) {
    db::Store store = db::Store::in_memory();
    Failing evaluator({64, 128});
    CHECK_THROWS_AS(quiet_tune(squares(sizes), evaluator.options(), evaluator, store), EvaluatorError);
    CHECK(store.runs().at(0).ended_how == "failed: measuring is not possible: the reference is wrong");
    CHECK(store.records().empty());
  }
}

TEST_CASE("two broken problems in a row end no run where others are known to work, in no later run either") {
  db::Store store = db::Store::in_memory();
  for (int night = 0; night < 2; ++night) {
    Failing evaluator({64, 128, 320, 384});
    TuneOptions options = evaluator.options();
    if (night == 1) options.max_candidates = 20;
    const TuneResult result = quiet_tune(squares({256, 64, 128, 320, 384, 512}), options, evaluator, store);
    CHECK(result.ended_how == "done");
    CHECK(result.set_aside == std::vector<Task>{square(64), square(128), square(320), square(384)});
    CHECK(tried_in(store, 256) == std::size_t(options.max_candidates));  // a trial of what works is no record
    CHECK(tried_in(store, 512) == std::size_t(options.max_candidates));
  }
}

TEST_CASE("a run ends where measuring fails on two problems in a row, and on what worked too") {
  db::Store store = db::Store::in_memory();
  ToyEvaluator sound;
  TuneOptions options = options_for(sound);
  options.max_candidates = 10;
  quiet_tune(squares({256, 512}), options, sound, store);
  const std::size_t before = store.records().size();

  Failing evaluator({64, 128, 256, 512});
  CHECK_THROWS_AS(quiet_tune(squares({64, 128, 256, 512}), evaluator.options(), evaluator, store), EvaluatorError);
  CHECK(store.records().size() == before);
  CHECK(evaluator.in_flight() == 0);
  Failing without_memory({64, 128});
  without_memory.answers = [broken = without_memory.answers](const Candidate& candidate) {
    broken(candidate);
    return db::Outcome{db::Status::launch_failed, "no memory", std::nullopt, true};
  };
  CHECK_THROWS_AS(
      quiet_tune(squares({64, 128, 256, 512}), without_memory.options(), without_memory, store), EvaluatorError);
}

TEST_CASE("problems that are too large for a device's memory do not speak for the others") {
  db::Store store = db::Store::in_memory();
  Failing evaluator({16384, 32768});
  const TuneResult result = quiet_tune(squares({16384, 32768, 64}), evaluator.options(), evaluator, store);
  CHECK(result.set_aside.size() == 2);
  CHECK(tried_in(store, 64) == 10);
}

TEST_CASE("a problem that one tuner set aside is left to the others of its board") {
  const Workload workload = squares({64, 128});
  SliceBoard board(workload);
  board.set_tuners(2);
  db::Store store = db::Store::in_memory();
  Failing evaluator({64});
  TuneOptions options = evaluator.options();
  options.board = &board;
  CHECK(quiet_tune(workload, options, evaluator, store).set_aside.size() == 1);
  CHECK(board.count(SliceBoard::State::done) == 1);
  ToyEvaluator other;
  options.clock_seconds = [&other] { return other.clock; };
  options.tuner = 1;
  CHECK(quiet_tune(workload, options, other, store).set_aside.empty());
  CHECK(board.count(SliceBoard::State::done) == 2);
  CHECK(tried_in(store, 64) == 10);
}
