// The play-off at the end of a problem's search.
#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "tests/catch.hpp"
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
  std::vector<Config> seeds(const KernelTarget&, const Problem&) const override { return {}; }
  LaunchSequence launches(const Config&, const Problem&) const override { return {}; }
  std::string source(const Config&, const KernelTarget&) const override { return ""; }
};

/// Its evaluator: the larger the tile the faster, by single times and in play-offs.
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

/// Configs 0.1% apart in a shuffled order, single times with a deviation of 1%, and play-offs that are slower: by `first` in the first
/// round and by `each_round` more in each that follows.
struct DriftingEvaluator : ToyEvaluator {
  DriftingEvaluator(double first, double each_round) : factor(first), each(each_round) {
    const std::vector<Config> configs = enumerate_space(ToyFamily{}, {*find_type_pair("f16f32"), {}, limits()}).configs;
    for (std::size_t i = 0; i < configs.size(); ++i)
      true_[configs[i].text()] = 10 * (1 + 0.001 * double(i * 37 % configs.size()));
    answers = [this](const Candidate& candidate) {
      double noise = -6;  // a sum of twelve is nearly normal
      for (int i = 0; i < 12; ++i) noise += double(random() >> 11) / 9007199254740992.0;
      return ok(true_us(candidate.config) * (1 + 0.01 * noise));
    };
  }
  std::vector<db::Outcome> play_off(const Problem&, std::span<const Config> finalists) override {
    played_off.emplace_back(finalists.begin(), finalists.end());
    std::vector<db::Outcome> outcomes;
    for (const Config& config : finalists) outcomes.push_back(ok(true_us(config) * factor));
    factor *= each;
    return outcomes;
  }
  double true_us(const Config& config) const { return true_.at(config.text()); }
  double fastest_us() const {
    return std::min_element(true_.begin(), true_.end(), [](const auto& a, const auto& b) { return a.second < b.second; })->second;
  }
  bool was_played_off(const Config& config) const {
    return std::any_of(played_off.begin(), played_off.end(), [&](const std::vector<Config>& played) {
      return std::find(played.begin(), played.end(), config) != played.end();
    });
  }

  double factor, each;
  std::mt19937_64 random{1};
  std::map<std::string, double> true_;
};

}  // namespace

TEST_CASE("the best are played off, and the play-off's times are the ones that count") {
  ToyEvaluator evaluator;
  evaluator.play_off_factor = 0.5;
  db::Store store = db::Store::in_memory();
  TuneOptions options = options_for(evaluator);
  options.strategy = "exhaustive";
  options.finalists = 3;
  quiet_tune(squares({64}), options, evaluator, store);
  REQUIRE(evaluator.played_off.size() == 1);
  CHECK(evaluator.played_off[0].size() == 3);
  CHECK(evaluator.played_off[0][0] == kOptimum);
  CHECK(store.best().at(0).evidence.outcome.timing->median_us == Approx(5));
  CHECK(store.evidence().size() == legal_configs() + 3);
}

TEST_CASE("a candidate whose single time beats the played-off ones must be played off before it can win") {
  DriftingEvaluator evaluator(1.03, 1);
  db::Store store = db::Store::in_memory();
  TuneOptions options = options_for(evaluator);
  options.strategy = "exhaustive";
  quiet_tune(squares({64}), options, evaluator, store);
  const db::Evidence best = store.best().at(0).evidence;
  CHECK(evaluator.was_played_off(best.config));
  CHECK(evaluator.true_us(best.config) <= 1.002 * evaluator.fastest_us());
  for (std::size_t round = 1; round < evaluator.played_off.size(); ++round) {
    CHECK(evaluator.played_off[round].size() <= 8);
    for (std::size_t i = 1; i < evaluator.played_off[round].size(); ++i) {
      for (std::size_t former = 0; former < round; ++former) {
        const auto& played = evaluator.played_off[former];
        CHECK(std::find(played.begin(), played.end(), evaluator.played_off[round][i]) == played.end());
      }
    }
  }
}

TEST_CASE("what changes from round to round of a play-off decides nothing") {
  for (const double each_round : {0.97, 1.03}) {
    DriftingEvaluator evaluator(1.03, each_round);
    db::Store store = db::Store::in_memory();
    TuneOptions options = options_for(evaluator);
    options.strategy = "exhaustive";
    quiet_tune(squares({64}), options, evaluator, store);
    const Config best = store.best().at(0).evidence.config;
    CHECK(evaluator.was_played_off(best));
    CHECK(evaluator.true_us(best) <= 1.002 * evaluator.fastest_us());
  }
}

TEST_CASE("a play-off ends, however lucky the single times were") {
  ToyEvaluator evaluator;
  evaluator.play_off_factor = 2;
  db::Store store = db::Store::in_memory();
  TuneOptions options = options_for(evaluator);
  options.strategy = "exhaustive";
  options.finalists = 2;
  quiet_tune(squares({64}), options, evaluator, store);
  CHECK(evaluator.played_off.size() == 6);
}

TEST_CASE("a play-off in which nothing passes is not held against the finalists") {
  ToyEvaluator evaluator;
  evaluator.play_off_fails = true;
  db::Store store = db::Store::in_memory();
  TuneOptions options = options_for(evaluator);
  options.strategy = "exhaustive";
  const TuneResult result = quiet_tune(squares({64}), options, evaluator, store);
  CHECK(result.ended_how == "done");
  CHECK(result.failed == 0);
  CHECK(store.best().at(0).evidence.config == kOptimum);
}

TEST_CASE("a run that was killed before its play-off holds it when resumed") {
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

TEST_CASE("a long problem that is taken up again plays off the tiles that were in no play-off and then no more") {
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
