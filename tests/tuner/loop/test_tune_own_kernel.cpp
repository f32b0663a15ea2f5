// A kernel of one's own is tuned by the loop that tunes problems.
#include "kernels/families/user/load.hpp"
#include "tests/catch.hpp"
#include "tests/kernel_folder.hpp"
#include "tests/tuner/tune_toy.hpp"
#include "tuner/warm_start/own_kernel_start.hpp"

using namespace tilesmith;
using namespace tilesmith::tuner;
using namespace tilesmith::tuner::toy;

namespace {

/// Fastest with 256 threads and 4 a thread, and slower with the columns.
class OwnEvaluator final : public ToyEvaluator {
 public:
  OwnEvaluator() {
    limits_ = *limits_for_arch("sm_90a");
    answers = [](const Candidate& candidate) { return ok(time_of(candidate.task, candidate.config)); };
  }
  std::vector<db::Outcome> final_benchmark(const Task& task, std::span<const Config> finalists) override {
    std::vector<db::Outcome> outcomes;
    for (const Config& config : finalists) outcomes.push_back(ok(time_of(task, config)));
    return outcomes;
  }
  static double time_of(const Task& task, const Config& config) {
    const double block = config.at("block") / 256.0, each = config.at("per_thread") / 4.0;
    return double(task.kernel().sizes.at(1).second) * (1 + std::abs(std::log2(block)) + std::abs(std::log2(each)));
  }
};

Workload workload_of(std::initializer_list<Task> tasks) {
  Workload workload{"own", {}, false};
  for (const Task& task : tasks) workload.tasks.push_back({task, 1});
  return workload;
}

Task sized(const std::string& kernel, std::int64_t rows, std::int64_t cols) {
  return SizedKernel{kernel, {{"rows", rows}, {"cols", cols}}};
}

Config best() { return Config("softmax_tuned", {{"block", 256}, {"per_thread", 4}}); }

}  // namespace

TEST_CASE("a kernel of one's own is tuned, kept, and known to the next run") {
  static const tests::KernelFolder folder("softmax_tuned");
  load_family_dir(folder.path());
  OwnEvaluator evaluator;
  db::Store store = db::Store::in_memory();
  const TuneOptions options = options_for(evaluator);
  const Workload workload = workload_of({sized("softmax_tuned", 64, 1000)});
  const TuneResult result = quiet_tune(workload, options, evaluator, store);
  CHECK(result.ended_how == "done");
  CHECK(result.evaluated == 17);  // the whole space
  const std::vector<db::Record> records = db::fastest_first(store, {.task = workload.tasks[0].task});
  REQUIRE(records.size() >= 17);
  CHECK(records.front().config == best());
  CHECK(text(records.front().task) == "kernel softmax_tuned rows=64 cols=1000");
  CHECK(records.front().plan_hash.size() == 32);

  const TuneResult again = quiet_tune(workload, options, evaluator, store);
  CHECK(again.evaluated == 0);
  CHECK(again.reused == 17);

  SECTION("at other sizes the bests of the nearest come first") {
    const Workload other = workload_of({sized("softmax_tuned", 64, 2000)});
    TuneOptions few = options;
    few.max_candidates = 1;
    evaluator.order.clear();
    quiet_tune(other, few, evaluator, store);
    REQUIRE_FALSE(evaluator.order.empty());
    CHECK(evaluator.order.front() == best());
  }
  SECTION("records of a kernel are nobody else's") {
    CHECK(store.records({.type = "f16f32"}).empty());
    CHECK(store.tasks_since(0) == std::vector{workload.tasks[0].task});
  }
}

TEST_CASE("problems and kernels of one's own share a run") {
  static const tests::KernelFolder folder("softmax_beside");
  load_family_dir(folder.path());
  ToyEvaluator evaluator;
  evaluator.answers = [&](const Candidate& candidate) {
    return candidate.task.is_gemm() ? evaluator.outcome_of(candidate.config)
                                    : ok(OwnEvaluator::time_of(candidate.task, candidate.config));
  };
  TuneOptions options = options_for(evaluator);
  options.finalists = 0;
  db::Store store = db::Store::in_memory();
  const TuneResult result =
      quiet_tune(workload_of({square(64), sized("softmax_beside", 8, 100)}), options, evaluator, store);
  CHECK(result.ended_how == "done");
  CHECK(db::fastest_first(store, {.task = square(64)}).front().config == kOptimum);
  CHECK(db::fastest_first(store, {.task = sized("softmax_beside", 8, 100)}).front().config.at("block") == 256);
}

TEST_CASE("a kernel that is not loaded, or has other sizes, is refused before anything is written") {
  static const tests::KernelFolder folder("softmax_sized");
  load_family_dir(folder.path());
  OwnEvaluator evaluator;
  db::Store store = db::Store::in_memory();
  const TuneOptions options = options_for(evaluator);
  CHECK_THROWS_WITH(quiet_tune(workload_of({sized("softmax_gone", 8, 8)}), options, evaluator, store),
      Catch::Contains("the kernel 'softmax_gone' is not loaded"));
  CHECK_THROWS_WITH(quiet_tune(workload_of({SizedKernel{"softmax_sized", {{"rows", 8}}}}), options, evaluator, store),
      Catch::Contains("sizes are rows: expected rows, cols"));
  CHECK(store.runs().empty());
}

TEST_CASE("the nearest sizes are those of the smallest ratio") {
  const auto of = [](std::int64_t rows, std::int64_t cols) {
    return SizedKernel{"k", {{"rows", rows}, {"cols", cols}}};
  };
  CHECK(sizes_apart(of(64, 1000), of(64, 1000)) == 0);
  CHECK(sizes_apart(of(64, 1000), of(64, 2000)) == Approx(std::log(2.0)));
  CHECK(sizes_apart(of(64, 1000), of(128, 500)) > sizes_apart(of(64, 1000), of(128, 1000)));
}
