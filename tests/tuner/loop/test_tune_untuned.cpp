// Tuning leaves no problem slower than the library ran it before: what it would run is tried, and played off, however
// short the time slices are.
#include <algorithm>
#include <cmath>
#include <functional>
#include <latch>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "kernels/families/estimate.hpp"
#include "runtime/choose/choosers.hpp"
#include "runtime/compile/compiler.hpp"
#include "tests/catch.hpp"
#include "tests/tuner/run_binary.hpp"
#include "tests/tuner/tune_toy.hpp"
#include "tuner/schedule/slice_board.hpp"
#include "tuner/search/rng.hpp"

using namespace tilesmith;
using namespace tilesmith::tuner;
using namespace tilesmith::tuner::toy;

namespace {

/// The toy with an estimate, which is the same for all: what was measured tells its configs apart.
class EstimatedToy final : public ToyFamily {
 public:
  std::string_view name() const override { return "estimated_toy"; }
  bool supports(const KernelTarget& target) const override { return target.limits.arch == "estimated_arch"; }
  std::optional<Estimate> estimate(const Config&, const KernelTarget&, const Problem&) const override {
    Estimate made;
    made.cycles = 1e5;
    return made;
  }
  std::vector<NamedConfig> ladder(const KernelTarget&) const override { return {}; }
  std::vector<Config> initial_configs(const KernelTarget&, const Problem&) const override { return {}; }
};

/// Times that differ from problem to problem, compilations of which some take longer than a short slice, and kernels
/// that are wrong. Single times flatter by up to 4%.
class RandomEvaluator final : public ToyEvaluator {
 public:
  explicit RandomEvaluator(std::uint64_t seed) : seed_(seed) {
    if (find_family("estimated_toy") == nullptr) register_family(std::make_unique<EstimatedToy>());
    limits_ = *limits_for_arch("sm_87");
    limits_.arch = "estimated_arch";
    environment_.compiler_options = runtime::compiler_options_text({square(64), limits_});
  }
  void submit(const Candidate& candidate, const std::optional<Incumbent>&) override {
    if (began != nullptr) std::exchange(began, nullptr)->arrive_and_wait();
    order.push_back(candidate.config);
    const double part = draw("compilation", candidate.task.problem(), candidate.config);
    const double seconds = candidate.config.text() == fails_late ? 4 : 3 * std::pow(part, 4);  // most are short
    in_flight_.push_back({candidate, clock + seconds});
  }
  std::size_t in_flight() const override { return in_flight_.size(); }
  Evaluated next() override {  // whatever is compiled first
    const auto first = std::ranges::min_element(in_flight_, {}, &Compiling::done_at);
    const Candidate candidate = first->candidate;
    clock = std::max(clock, first->done_at) + 0.02;
    in_flight_.erase(first);
    if (is_wrong(candidate.task.problem(), candidate.config)) return {candidate, {db::Status::mismatch, "wrong", {}}};
    const double flattered = candidate.config.text() == slow_alone
                                 ? 10
                                 : 1 - 0.04 * draw("single", candidate.task.problem(), candidate.config);
    return {candidate, ok(flattered * true_us(candidate.task.problem(), candidate.config))};
  }
  std::vector<Evaluated> drop_in_flight() override {
    in_flight_.clear();
    return {};
  }
  std::vector<db::Outcome> final_benchmark(const Task& task, std::span<const Config> finalists) override {
    clock += 0.02 * double(finalists.size());
    played_off.emplace_back(finalists.begin(), finalists.end());
    std::vector<db::Outcome> outcomes;
    for (const Config& config : finalists) outcomes.push_back(ok(true_us(task.problem(), config)));
    return outcomes;
  }
  bool is_wrong(const Problem& problem, const Config& config) const {
    if (config.family() != "estimated_toy") return false;
    return config.text() == fails_late || draw("wrong", problem, config) < 0.2;
  }
  double true_us(const Problem& problem, const Config& config) const {
    return 50 + 100 * draw("time", problem, config);
  }
  std::string slow_alone;       // a config whose single times are ten times as long
  std::string fails_late;       // a config that is wrong, and takes long to compile
  std::latch* began = nullptr;  // waits there at the first candidate

 private:
  double draw(const std::string& what, const Problem& problem, const Config& config) const {
    Rng rng(seed_ + std::hash<std::string>{}(what + text(problem) + config.text()));
    return double(rng.below(1 << 20)) / (1 << 20);
  }
  struct Compiling {
    Candidate candidate;
    double done_at;
  };
  const std::uint64_t seed_;
  std::vector<Compiling> in_flight_;
};

/// Problems with a second each, and what is known of others nearby.
struct ManyProblems {
  explicit ManyProblems(std::int64_t count, std::uint64_t seed_of_all, db::Store in = db::Store::in_memory())
      : seed(seed_of_all), store(std::move(in)) {
    options.families = {"estimated_toy"};
    for (std::int64_t i = 20; i < 20 + count; ++i) workload.tasks.push_back({square(64 * i), 1});
    for (std::int64_t i = 22; i < 20 + count; i += 8) plant(square(64 * i + 8), 12);
    options.budget = std::chrono::seconds(count);
    options.strategy = "random";  // takes the least time here
  }
  void plant(const Problem& problem, std::size_t count) {
    static const std::vector<Config> configs =
        enumerate_space(*find_family("estimated_toy"), {problem, RandomEvaluator(0).limits_}).configs;
    Rng rng(seed + std::uint64_t(problem.m));
    for (std::size_t i = 0; i < count; ++i) {
      const Config& config = configs[rng.below(configs.size())];
      if (!evaluator.is_wrong(problem, config))
        store.record(record_of(evaluator, problem, config, ok(evaluator.true_us(problem, config))));
    }
  }
  /// What the library runs now, of all problems; it passes over wrong kernels.
  std::vector<Config> choices() {
    runtime::DeviceInfo device;
    device.identity = evaluator.device();
    device.limits = evaluator.limits();
    device.driver_version = evaluator.environment_.driver_version;
    const auto catalogue = runtime::catalogue_of(store);
    runtime::Choosers choosers(*catalogue, device, false);
    std::vector<Config> found;
    for (const WeightedTask& one : workload.tasks) {
      runtime::Without without;
      const auto choose = [&] {
        return choosers.of({one.task.problem(), device.limits}).choose(one.task.problem(), without, 0).config;
      };
      for (found.push_back(choose()); evaluator.is_wrong(one.task.problem(), found.back()); found.back() = choose())
        without.configs.insert(found.back().text());
    }
    return found;
  }
  TuneResult run() { return quiet_tune(workload, options, evaluator, store); }
  /// Counts the problems that have a time now. Checks that none of them is slower than before, and that some of many
  /// are faster.
  int tuned_since(const std::vector<Config>& before) {
    const std::vector<Config> now = choices();
    int tuned = 0, faster = 0;
    for (std::size_t i = 0; i < now.size(); ++i) {
      const Problem& problem = workload.tasks[i].task.problem();
      const bool is_tuned = !store.records({.task = problem, .status = db::Status::ok, .limit = 1}).empty();
      if (!is_tuned || before[i].family() != "estimated_toy") continue;  // of another family: the user named this one
      INFO(text(problem) << ": " << before[i].text() << " before, " << now[i].text() << " now, seed " << seed);
      CHECK(evaluator.true_us(problem, now[i]) <= evaluator.true_us(problem, before[i]));
      ++tuned;
      faster += now[i] == before[i] ? 0 : 1;
    }
    if (tuned > 50) CHECK(faster > 0);
    return tuned;
  }

  const std::uint64_t seed;
  RandomEvaluator evaluator{seed};
  db::Store store;
  Workload workload{"many", {}};
  TuneOptions options = options_for(evaluator);
};

}  // namespace

TEST_CASE("a run of many short time slices leaves no problem slower than the library ran it before") {
  ManyProblems many(80, 1);
  const std::vector<Config> before = many.choices();
  const double began = many.evaluator.clock;
  many.run();
  CHECK(many.evaluator.clock - began < 80 + 10);
  CHECK(many.tuned_since(before) >= 60);
}

TEST_CASE("the same holds where problems have records, of former drivers among them") {
  for (const bool former : {false, true}) {
    ManyProblems many(30, 4);
    for (std::size_t i = 0; i < 30; i += 2) many.plant(many.workload.tasks[i].task.problem(), 6);
    if (former) many.evaluator.environment_.driver_version = "590";
    const std::vector<Config> before = many.choices();
    many.run();
    CHECK(many.tuned_since(before) >= 20);
  }
}

TEST_CASE("the same holds where a search was killed and resumed") {
  ManyProblems many(30, 5);
  const std::vector<WeightedTask> problems = std::exchange(many.workload.tasks, {});
  int tuned = 0;
  for (int i = 0; i < 20; ++i) {
    many.workload.tasks = {problems[std::size_t(i)]};
    const std::vector<Config> before = many.choices();
    const auto killer = [&, outcomes = 0](const Progress& now) mutable {
      if (now.last && ++outcomes > i % 4) throw std::runtime_error("killed");
    };
    CHECK_THROWS(tune(many.workload, many.options, many.evaluator, many.store, killer, kNeverStop));
    many.evaluator.drop_in_flight();
    many.options.budget = std::chrono::seconds(1);
    many.run();
    tuned += many.tuned_since(before);
  }
  CHECK(tuned >= 15);
}

TEST_CASE("the same holds of two tuners that share a run, its budget and its database") {
  const tests::TempFolder folder;
  ManyProblems many(30, 6, db::Store::open(folder / "tuned.db"));
  const std::vector<Config> before = many.choices();
  SliceBoard board(many.workload, many.evaluator.clock + 15);
  board.set_tuners(2);
  std::latch both_began(2);  // before anything is recorded
  const auto work = [&](int tuner) {
    RandomEvaluator evaluator(many.seed);
    evaluator.began = &both_began;
    db::Store store = db::Store::open(folder / "tuned.db");
    TuneOptions options = many.options;
    options.clock_seconds = [&] { return evaluator.clock; };
    options.board = &board;
    options.tuner = tuner;
    quiet_tune(many.workload, options, evaluator, store);
  };
  std::thread other(work, 1);
  work(0);
  other.join();
  CHECK(many.tuned_since(before) >= 15);
}

TEST_CASE("what the library would run is compiled first, announced first, and a finalist whatever its single time") {
  ManyProblems many(20, 7);
  many.evaluator.announces = 3;
  many.workload.tasks.resize(2);
  many.options.budget = std::chrono::seconds(60);
  many.options.finalists = 3;
  const std::vector<Config> before = many.choices();
  many.evaluator.slow_alone = before[0].text();
  many.run();
  CHECK(many.evaluator.order.front() == before[0]);
  const std::vector<Config>& finalists = many.evaluator.played_off.front();
  CHECK(std::ranges::find(finalists, before[0]) != finalists.end());
  REQUIRE(!many.evaluator.announced.empty());
  CHECK(many.evaluator.announced[0].candidates.front() == before[1]);
}

TEST_CASE("where what the library would run fails, the next of its ranking is tried, though the time is over by then") {
  ManyProblems many(20, 1);  // of a seed by which the search does not try it of itself
  many.workload.tasks.resize(1);
  many.options.budget = std::chrono::seconds(1);
  many.evaluator.fails_late = many.choices()[0].text();
  const std::vector<Config> before = many.choices();
  const double began = many.evaluator.clock;
  many.run();
  CHECK(many.evaluator.clock - began > 4);
  CHECK(std::ranges::find(many.evaluator.order, before[0]) == many.evaluator.order.end() - 1);
  CHECK(many.tuned_since(before) == 1);
}
