// A family of one's own on the device: the example that ships.
#include <atomic>
#include <cstddef>
#include <vector>

#include "kernels/families/space.hpp"
#include "kernels/families/user/load.hpp"
#include "runtime/interface/gemm.hpp"
#include "tests/catch.hpp"
#include "tests/family_folder.hpp"
#include "tests/gpu/device_problem.hpp"
#include "tests/gpu/small_store.hpp"
#include "tuner/loop/tune.hpp"
#include "tuner/workers/device_evaluator.hpp"
#include "tuner/workers/verify_all.hpp"

namespace tilesmith::test_own_family {
using namespace tilesmith::test;

namespace {

const std::atomic<bool> kNeverStop{false};

}  // namespace

TEST_CASE("every config of the example family passes the suite in all transposes", "[own_family]") {
  load_family_dir(tests::example_family());
  const Family& family = *find_family("my_tiles");
  const runtime::Context context(0);
  std::vector<tuner::CompileJob> jobs;
  for (const Transposes trans : kAllTransposes) {
    const KernelTarget target{{*find_type_pair("f16f32"), trans}, context.info().limits};
    for (const Config& config : enumerate_space(family, target).configs) jobs.push_back({config, target});
  }
  REQUIRE(jobs.size() >= 48);
  std::size_t next = 0, verdicts = 0;
  tuner::verify_all(
      context, [&] { return next < jobs.size() ? std::optional(jobs[next++]) : std::nullopt; }, 0,
      [&](const tuner::CompileJob& job, const db::Outcome& outcome) {
        INFO(name(job.target.trans) << " " << job.config.text() << ": " << outcome.message);
        CHECK(db::name(outcome.status) == db::name(db::Status::ok));
        ++verdicts;
      },
      kNeverStop);
  CHECK(verdicts == jobs.size());
}

TEST_CASE("the example family is tuned on the device, and the library runs what was best", "[own_family]") {
  load_family_dir(tests::example_family());
  const TempFolder folder;
  const Problem problem = problem_of("f16f32 NT 300 200 100 beta=any");
  {
    db::Store store = db::Store::open(folder / "own.db");
    const auto evaluator = tuner::make_device_evaluator(store, {});
    tuner::TuneOptions options;
    options.families = {"my_tiles"};
    options.max_candidates = 6;
    options.finalists = 2;
    const tuner::TuneResult result = tuner::tune({"own", {{problem, 1}}}, options, *evaluator, store, {}, kNeverStop);
    CHECK(result.evaluated == 6);
    CHECK(result.failed == 0);
  }
  const runtime::Context context(0);
  const runtime::Stream stream;
  LibraryOptions options;
  options.family_dirs = {tests::example_family()};
  options.log_misses = false;
  const Library library = Library::open(folder / "own.db", options);
  const GemmPlan plan = library.plan(problem);
  INFO(plan.explain().config << ": " << plan.explain().reason);
  CHECK(plan.explain().level == "exact");
  CHECK(plan.explain().config.rfind("my_tiles{", 0) == 0);

  DeviceProblem data(problem);
  context.synchronize();
  plan.run(stream.get(), 2, data.a(), data.b(), 3, data.c());
  stream.synchronize();
  CHECK(data.max_error(2, 3) == 0);
}

}  // namespace tilesmith::test_own_family
