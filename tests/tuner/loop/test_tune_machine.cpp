// Failures of the machine and not of candidates: what is tried, recorded and said of them.
#include <stdexcept>

#include "tests/catch.hpp"
#include "tests/db/bests.hpp"
#include "tests/tuner/tune_toy.hpp"

using namespace tilesmith;
using namespace tilesmith::tuner;
using namespace tilesmith::tuner::toy;

namespace {

db::Outcome no_memory() {
  db::Outcome outcome{db::Status::launch_failed, "the GPU has no memory left: timing: cuMemAlloc", std::nullopt};
  outcome.by_machine = true;
  return outcome;
}

/// Its final benchmarks find that the machine fails on one config.
class FailingFinalBenchmarks final : public ToyEvaluator {
 public:
  explicit FailingFinalBenchmarks(Config failing) : failing_(std::move(failing)) {}
  std::vector<db::Outcome> final_benchmark(const Task& task, std::span<const Config> finalists) override {
    std::vector<db::Outcome> outcomes = ToyEvaluator::final_benchmark(task, finalists);
    for (std::size_t i = 0; i < finalists.size(); ++i) {
      if (finalists[i] == failing_) outcomes[i] = no_memory();
    }
    return outcomes;
  }

 private:
  Config failing_;
};

}  // namespace

TEST_CASE("what the machine failed on is not recorded, and the next run tries it again") {
  ToyEvaluator evaluator;
  const Config failing[] = {kOptimum, ToyFamily::config(1, 1, 1), ToyFamily::config(4, 4, 2)};
  for (const Config& config : failing) evaluator.plants[config.text()] = no_memory();
  db::Store store = db::Store::in_memory();
  TuneOptions options = options_for(evaluator);
  options.strategy = "exhaustive";
  options.finalists = 0;
  const TuneResult first = quiet_tune(squares({64}), options, evaluator, store);
  CHECK(first.ended_how == "done");
  CHECK(first.evaluated == std::int64_t(legal_configs()));
  CHECK(first.failed == 3);
  CHECK(store.records().size() == legal_configs() - 3);
  for (const db::Record& entry : store.records()) CHECK(entry.outcome.status == db::Status::ok);

  evaluator.plants.clear();
  const TuneResult second = quiet_tune(squares({64}), options, evaluator, store);
  CHECK(second.evaluated == 3);
  CHECK(db::test::bests_of(store).at(0).record.config == kOptimum);
}

TEST_CASE("what the machine failed on is tried once a run, in whatever slice") {
  ToyEvaluator evaluator;
  evaluator.answers = [&](const Candidate& candidate) {
    return candidate.config.at("z") == 8 ? no_memory() : evaluator.outcome_of(candidate.config);
  };
  evaluator.wide = 1;
  db::Store store = db::Store::in_memory();
  TuneOptions options = options_for(evaluator);
  options.budget = std::chrono::seconds(400);
  options.finalists = 0;
  std::uint32_t slices = 0;
  tune(
      squares({64, 128}), options, evaluator, store, [&](const Progress& now) { slices = std::max(slices, now.slice); },
      kNeverStop);
  CHECK(slices > 1);
  for (const auto& [candidate, times] : evaluator.evaluations) {
    INFO(candidate);
    CHECK(times == 1);
  }
}

TEST_CASE(
    "a run in which the machine fails on one candidate after the other ends with the cause, and leaves all to the next") {
  ToyEvaluator evaluator;
  evaluator.answers = [](const Candidate& candidate) {
    const bool compiled = candidate.config.at("x") != 3;
    return compiled ? no_memory() : db::Outcome{db::Status::compile_failed, "ptxas says no", std::nullopt};
  };
  db::Store store = db::Store::in_memory();
  TuneOptions options = options_for(evaluator);
  options.strategy = "exhaustive";
  try {
    quiet_tune(squares({64}), options, evaluator, store);
    FAIL("the run should have ended");
  } catch (const std::runtime_error& error) {
    CHECK(std::string(error.what()).find("8 candidates one after the other") == 0);
    CHECK(std::string(error.what()).find("the GPU has no memory left") != std::string::npos);
  }
  CHECK(evaluator.total() < 30);
  for (const db::Record& entry : store.records()) CHECK(entry.outcome.status == db::Status::compile_failed);

  ToyEvaluator roomy;
  options.clock_seconds = [&roomy] { return roomy.clock; };
  quiet_tune(squares({64}), options, roomy, store);
  CHECK(db::test::bests_of(store).at(0).record.config == kOptimum);
}

TEST_CASE(
    "a finalist that the machine fails on in a final benchmark keeps what it had, and the others are played off") {
  FailingFinalBenchmarks evaluator(kOptimum);
  evaluator.final_benchmark_factor = 1.1;
  db::Store store = db::Store::in_memory();
  TuneOptions options = options_for(evaluator);
  options.strategy = "exhaustive";
  options.finalists = 3;
  quiet_tune(squares({64}), options, evaluator, store);
  REQUIRE(evaluator.played_off.size() == 1);
  CHECK(store.records().size() == legal_configs() + 2);
  const db::Record best = db::test::bests_of(store).at(0).record;
  CHECK(best.config == kOptimum);
  CHECK(best.outcome.timing->median_us == Approx(10));
}
