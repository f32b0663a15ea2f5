// The final benchmark at the end of a problem's search.
#include <string>
#include <vector>

#include "tests/catch.hpp"
#include "tests/db/bests.hpp"
#include "tests/tuner/tune_toy.hpp"

using namespace tilesmith;
using namespace tilesmith::tuner;
using namespace tilesmith::tuner::toy;

namespace {

/// Three block tiles of two configs each.
class TiledFamily final : public Family {
 public:
  std::string_view name() const override { return "tiled"; }
  std::string_view summary() const override { return "no kernels"; }
  bool supports(const KernelTarget& target) const override { return target.limits.arch == "tiled_arch"; }
  std::vector<Parameter> parameters(const KernelTarget&) const override {
    return {{"block_m", {64, 128, 256}, "rows"}, {"block_n", {64}, "columns"}, {"stages", {2, 3}, "stages"}};
  }
  std::vector<Rule> rules(const KernelTarget&) const override { return {}; }
  std::optional<std::string> refusal(const Config&, const Problem&) const override { return std::nullopt; }
  std::vector<Config> initial_configs(const KernelTarget&, const Problem&) const override { return {}; }
  LaunchSequence launches(const Config&, const Problem&) const override { return {}; }
  std::string source(const Config&, const KernelTarget&) const override { return ""; }
};

/// Its evaluator: the larger the tile the faster, by single times and in final benchmarks.
struct TiledEvaluator {
  ToyEvaluator evaluator;

  explicit TiledEvaluator(double unit_us) {
    if (find_family("tiled") == nullptr) register_family(std::make_unique<TiledFamily>());
    evaluator.limits_.arch = "tiled_arch";
    const double by_tile[] = {1.02, 1.01, 1};
    for (int tile = 0; tile < 3; ++tile) {
      for (const int stages : {2, 3}) {
        const Config config("tiled", {{"block_m", 64 << tile}, {"block_n", 64}, {"stages", stages}});
        evaluator.plants[config.text()] = ok(unit_us * (by_tile[tile] + 0.001 * stages));
      }
    }
  }
  TuneOptions options(int finalists) {
    TuneOptions options = options_for(evaluator);
    options.families = {"tiled"};
    options.strategy = "exhaustive";
    options.finalists = finalists;
    return options;
  }
};

}  // namespace

TEST_CASE("the best are played off, and the final benchmark's times are the ones that count") {
  ToyEvaluator evaluator;
  evaluator.final_benchmark_factor = 0.5;
  db::Store store = db::Store::in_memory();
  TuneOptions options = options_for(evaluator);
  options.strategy = "exhaustive";
  options.finalists = 3;
  quiet_tune(squares({64}), options, evaluator, store);
  REQUIRE(evaluator.played_off.size() == 1);
  CHECK(evaluator.played_off[0].size() == 3);
  CHECK(evaluator.played_off[0][0] == kOptimum);
  CHECK(db::test::bests_of(store).at(0).record.outcome.timing->median_us == Approx(5));
  CHECK(store.records().size() == legal_configs() + 3);
}

TEST_CASE("a final benchmark in which nothing passes is not held against the finalists") {
  ToyEvaluator evaluator;
  evaluator.final_benchmark_fails = true;
  db::Store store = db::Store::in_memory();
  TuneOptions options = options_for(evaluator);
  options.strategy = "exhaustive";
  const TuneResult result = quiet_tune(squares({64}), options, evaluator, store);
  CHECK(result.ended_how == "done");
  CHECK(result.failed == 0);
  CHECK(db::test::bests_of(store).at(0).record.config == kOptimum);
}

TEST_CASE("a run that was killed before its final benchmark holds it when resumed") {
  ToyEvaluator evaluator;
  db::Store store = db::Store::in_memory();
  TuneOptions options = options_for(evaluator);
  options.max_candidates = 20;
  const auto killer = [](const Progress& progress) {
    if (progress.done == 20) throw std::runtime_error("killed");
  };
  CHECK_THROWS(tune(squares({64}), options, evaluator, store, killer, kNeverStop));
  CHECK(evaluator.played_off.empty());
  const TuneResult resumed = quiet_tune(squares({64}), options, evaluator, store);
  CHECK(resumed.evaluated == 0);
  CHECK(evaluator.played_off.size() == 1);
}

TEST_CASE("those that were played off are played off again only beside newcomers") {
  ToyEvaluator evaluator;
  db::Store store = db::Store::in_memory();
  TuneOptions options = options_for(evaluator);
  options.strategy = "exhaustive";
  options.finalists = 3;
  options.max_candidates = 20;
  quiet_tune(squares({64}), options, evaluator, store);
  REQUIRE(evaluator.played_off.size() == 1);

  options.max_candidates = 25;
  evaluator.answers = [](const Candidate&) { return ok(1000); };
  CHECK(quiet_tune(squares({64}), options, evaluator, store).evaluated == 5);
  CHECK(evaluator.played_off.size() == 1);

  options.max_candidates = 30;
  const Config before = evaluator.played_off[0][0];
  evaluator.answers = [&](const Candidate&) { return ok(evaluator.outcome_of(before).timing->median_us * 1.001); };
  quiet_tune(squares({64}), options, evaluator, store);
  REQUIRE(evaluator.played_off.size() == 2);
  CHECK(evaluator.played_off[1][0] == before);
}

TEST_CASE(
    "a long problem that is taken up again plays off the tiles that were in no final benchmark and then no more") {
  TiledEvaluator tiled(300);
  db::Store store = db::Store::in_memory();
  quiet_tune(squares({64}), tiled.options(2), tiled.evaluator, store);
  REQUIRE(tiled.evaluator.played_off.size() == 1);  // both of the largest tile

  CHECK(quiet_tune(squares({64}), tiled.options(6), tiled.evaluator, store).evaluated == 0);
  REQUIRE(tiled.evaluator.played_off.size() == 2);
  CHECK(tiled.evaluator.played_off[1].size() == 6);
  quiet_tune(squares({64}), tiled.options(6), tiled.evaluator, store);
  CHECK(tiled.evaluator.played_off.size() == 2);
}

TEST_CASE("a short problem that is taken up again plays off nothing new for the sake of its tiles") {
  TiledEvaluator tiled(10);
  db::Store store = db::Store::in_memory();
  quiet_tune(squares({64}), tiled.options(2), tiled.evaluator, store);
  quiet_tune(squares({64}), tiled.options(6), tiled.evaluator, store);
  CHECK(tiled.evaluator.played_off.size() == 1);
}
