// The C++ interface on a device: each level gives right results, directly and in a CUDA graph, and run() keeps its
// rules.
#include <fmt/format.h>

#include "kernels/problem/sub_byte.hpp"
#include "runtime/interface/gemm.hpp"
#include "tests/catch.hpp"
#include "tests/gpu/device_problem.hpp"
#include "tests/gpu/small_store.hpp"
#include "tests/gpu/two_pass.hpp"
#include "tests/runtime/environment_variable.hpp"
#include "tests/runtime/failure_of.hpp"

namespace tilesmith::test_runtime_api {
using namespace tilesmith::test;

namespace {

class Fixture {
 public:
  Fixture() : context(0) {}

  db::Store store() const { return db::Store::open(path()); }
  std::filesystem::path path() const { return folder / "small.db"; }

  /// Runs a plan with this problem's operands and returns the largest error.
  double error_of(const GemmPlan& plan, double alpha, double beta) {
    DeviceProblem data(plan.problem());
    if (beta == 0) data.poison_c();
    runtime::DeviceBuffer workspace;
    if (plan.workspace_bytes() > 0) workspace = runtime::DeviceBuffer(plan.workspace_bytes());
    context.synchronize();
    plan.run(stream.get(), alpha, data.a(), data.b(), beta, data.c(), workspace.data());
    stream.synchronize();
    return data.max_error(alpha, beta);
  }

  TwoPassEnabled two_pass;
  runtime::Context context;
  runtime::Stream stream;
  TempFolder folder;
};

LibraryOptions stored_only() {
  LibraryOptions options;
  options.allow_compile = false;
  options.log_misses = false;
  return options;
}

LibraryOptions quiet() {
  LibraryOptions options;
  options.log_misses = false;
  return options;
}

}  // namespace

TEST_CASE("D apart from C is right and leaves C as it was, directly and in a graph", "[gpu][api]") {
  Fixture f;
  const Library library = Library::without_database(quiet());
  for (const char* text : {"f16f32 NN 200 150 96 beta=any", "bf16f32bf16 TT 64 520 72 ldc=528 beta=any",
           "tf32f32 NT 33 40 64 align=4 beta=any", "f64f64 TN 1 96 64 beta=any", "s8s32 NT 128 128 64 beta=any"}) {
    INFO(text);
    const GemmPlan plan = library.plan(problem_of(text));
    DeviceProblem data(plan.problem()), apart(plan.problem());
    runtime::DeviceBuffer workspace;
    if (plan.workspace_bytes() > 0) workspace = runtime::DeviceBuffer(plan.workspace_bytes());
    const Operands operands{1, data.a(), data.b(), 2, apart.c(), data.c()};
    data.poison_c();
    f.context.synchronize();
    plan.run(f.stream.get(), operands, workspace.data());
    f.stream.synchronize();
    CHECK(data.max_error(1, 2) == 0);
    CHECK(apart.max_error(0, 1) == 0);
    data.poison_c();
    const runtime::Graph graph =
        runtime::Graph::capture(f.stream, [&] { plan.run(f.stream.get(), operands, workspace.data()); });
    for (int i = 0; i < 2; ++i) graph.launch(f.stream);
    f.stream.synchronize();
    CHECK(data.max_error(1, 2) == 0);
    library.gemm(f.stream.get(), plan.problem(), operands);
    f.stream.synchronize();
    CHECK(data.max_error(1, 2) == 0);
  }
}

TEST_CASE("a tuned problem, a near one and an untuned type all give right results", "[gpu][api]") {
  Fixture f;
  const Variable cache("TILESMITH_CACHE", "off");
  {
    db::Store store = f.store();
    tune_by_hand(store, "f16f32 NN 192 160 96", small_simt(), f.context.info());
  }
  const Library library = Library::open(f.path(), quiet());
  const GemmPlan exact = library.plan(problem_of("f16f32 NN 192 160 96"));
  CHECK(exact.explain().level == "exact");
  CHECK(exact.explain().config == small_simt().text());
  CHECK(exact.explain().trust == "valid");
  CHECK(exact.explain().kernel.find("stored cubin") == 0);
  CHECK(f.error_of(exact, 2, 0) == 0);

  const GemmPlan near = library.plan(problem_of("f16f32 NN 191 157 95 beta=any"));
  CHECK(near.explain().level == "model");
  CHECK(near.explain().predicted_us > 0);
  CHECK(f.error_of(near, -1, 3) == 0);

  const GemmPlan untuned = library.plan(problem_of("f64f64 TN 65 33 17"));
  CHECK(untuned.explain().level == "model");
  CHECK(untuned.explain().kernel.find("compiled") == 0);
  CHECK(f.error_of(untuned, 3, 0) == 0);
}

TEST_CASE("what was prepared together runs right, and a second library loads it from the cache", "[gpu][api]") {
  Fixture f;
  const Variable cache("TILESMITH_CACHE", (f.folder / "cache").string());
  std::vector<Problem> problems;
  for (const char* text : {"f16f32 NN 256 192 128", "bf16f32 NT 256 192 128", "tf32f32 NN 256 192 128"})
    problems.push_back(problem_of(text));
  std::size_t told = 0;
  Library::without_database(quiet()).prepare_all(
      problems, [&](std::size_t done, std::size_t, const std::string&) { told = done; });
  CHECK(told == problems.size());
  const Library library = Library::without_database(quiet());
  for (const Problem& problem : problems) {
    const GemmPlan plan = library.plan(problem);
    CHECK(f.error_of(plan, 2, 0) == 0);
    CHECK(plan.explain().kernel.find("cached cubin") == 0);
  }
}

TEST_CASE("without a database every type pair and transposes give right results", "[gpu][api]") {
  Fixture f;
  const Library library = Library::without_database(quiet());
  for (const TypePair& type : type_pairs()) {
    if (is_sub_byte(type.a)) continue;  // test_sub_byte.cpp has them, whose elements have no addresses
    for (const Transposes trans : kAllTransposes) {
      const GemmPlan plan = library.plan(problem_of(fmt::format("{} {} 67 43 29 beta=any", type.name, name(trans))));
      INFO(text(plan.problem()));
      CHECK(f.error_of(plan, 1, 0) == 0);
      CHECK(f.error_of(plan, 2, -1) == 0);
    }
  }
}

TEST_CASE("a trial takes the fastest of a few candidates, once, and is right", "[gpu][api]") {
  Fixture f;
  LibraryOptions options = quiet();
  options.trial_budget = 4;
  const Library library = Library::without_database(options);
  for (const char* where : {"f16f32 NN 640 384 512", "s8s32 NT 70 130 96", "f64f64 TN 33 65 129 beta=any"}) {
    INFO(where);
    const GemmPlan plan = library.plan(problem_of(where));
    CHECK(plan.explain().level == "trial");
    CHECK(plan.explain().median_us > 0);
    CHECK(plan.explain().reason.find("the fastest of ") == 0);
    CHECK(f.error_of(plan, 1, 0) == 0);
    CHECK(library.plan(problem_of(where)).explain().reason == plan.explain().reason);
  }
}

TEST_CASE("padded rows and unaligned pointers are served", "[gpu][api]") {
  Fixture f;
  const Library library = Library::without_database(quiet());
  const GemmPlan plan = library.plan(problem_of("bf16f32 NT 33 47 65 lda=71 ldb=77 ldc=53 align=4 beta=any"));
  CHECK(f.error_of(plan, 1, 2) == 0);
}

TEST_CASE("run is captured in a CUDA graph and replayed", "[gpu][api]") {
  Fixture f;
  {
    db::Store store = f.store();
    tune_by_hand(store, "tf32f32 NN 70 50 30", Config("api_two_pass", {}), f.context.info());
  }
  const Library library = Library::open(f.path(), quiet());
  GemmPlan two_pass = library.plan(problem_of("tf32f32 NN 70 50 30"));
  two_pass.reserve_workspace();
  GemmPlan other = library.plan(problem_of("s8s32 TT 45 35 25"));
  other.reserve_workspace();
  DeviceProblem first(two_pass.problem()), second(other.problem());
  f.context.synchronize();
  const runtime::Graph graph = runtime::Graph::capture(f.stream, [&] {
    two_pass.run(f.stream.get(), 2, first.a(), first.b(), 0, first.c());
    other.run(f.stream.get(), -3, second.a(), second.b(), 0, second.c());
  });
  for (int time = 0; time < 3; ++time) {
    first.poison_c();
    second.poison_c();
    f.context.synchronize();
    graph.launch(f.stream);
    f.stream.synchronize();
    CHECK(first.max_error(2, 0) == 0);
    CHECK(second.max_error(-3, 0) == 0);
  }
}

TEST_CASE("a workspace is given by the caller or owned by the plan, and never forgotten", "[gpu][api]") {
  Fixture f;
  {
    db::Store store = f.store();
    tune_by_hand(store, "tf32f32 NN 70 50 30", Config("api_two_pass", {}), f.context.info());
  }
  const Library library = Library::open(f.path(), stored_only());
  GemmPlan plan = library.plan(problem_of("tf32f32 NN 70 50 30"));
  CHECK(plan.explain().config == "api_two_pass{}");
  CHECK(plan.workspace_bytes() == 256 + 70 * 30 * 4);
  DeviceProblem data(plan.problem());
  const auto run = [&](void* workspace) {
    data.poison_c();
    f.context.synchronize();
    plan.run(f.stream.get(), 1, data.a(), data.b(), 0, data.c(), workspace);
    f.stream.synchronize();
    return data.max_error(1, 0);
  };
  CHECK(failure_of([&] { run(nullptr); }) == ErrorCode::missing_workspace);
  runtime::DeviceBuffer workspace(plan.workspace_bytes() + 256);
  CHECK(failure_of([&] { run(workspace.data() + 16); }) == ErrorCode::missing_workspace);
  CHECK(run(workspace.data()) == 0);
  plan.reserve_workspace();
  plan.reserve_workspace();  // once is enough
  CHECK(run(nullptr) == 0);
  GemmPlan moved = std::move(plan);
  data.poison_c();
  f.context.synchronize();
  moved.run(f.stream.get(), 1, data.a(), data.b(), 0, data.c());
  f.stream.synchronize();
  CHECK(data.max_error(1, 0) == 0);
}

TEST_CASE("a pointer that breaks the problem's alignment is refused without a launch", "[gpu][api]") {
  Fixture f;
  const Library library = Library::without_database(quiet());
  const GemmPlan plan = library.plan(problem_of("f16f32 NN 64 64 64"));
  DeviceProblem data(plan.problem());
  const auto* a = static_cast<const std::byte*>(data.a());
  data.poison_c();
  CHECK(failure_of([&] { plan.run(f.stream.get(), 1, a + 2, data.b(), 0, data.c()); }) == ErrorCode::misaligned);
  CHECK(failure_of([&] { plan.run(f.stream.get(), 1, nullptr, data.b(), 0, data.c()); }) == ErrorCode::bad_argument);
  CHECK(failure_of([&] { plan.run(f.stream.get(), 1, a, data.b(), 0.5, data.c()); }) == ErrorCode::bad_argument);
  f.stream.synchronize();
  CHECK(std::isnan(data.max_error(1, 0)));  // still poisoned
}

TEST_CASE("with alpha of 0 or K of 0 only C is scaled, and A and B are not read", "[gpu][api]") {
  Fixture f;
  const Library library = Library::without_database(quiet());
  for (const char* where : {"f16f32 NN 40 30 20 beta=any", "f64f64 TT 40 30 0 beta=any", "s8s32 NT 40 30 0 beta=any"}) {
    INFO(where);
    const GemmPlan plan = library.plan(problem_of(where));
    const double alpha = plan.problem().k == 0 ? 7 : 0;
    DeviceProblem data(plan.problem());
    f.context.synchronize();
    plan.run(f.stream.get(), alpha, nullptr, nullptr, 2, data.c());
    f.stream.synchronize();
    CHECK(data.max_error(0, 2) == 0);
    data.poison_c();
    f.context.synchronize();
    plan.run(f.stream.get(), alpha, nullptr, nullptr, 0, data.c());  // NaN in C does not show
    f.stream.synchronize();
    CHECK(data.max_error(0, 0) == 0);
  }
}

TEST_CASE("with M or N of 0 nothing is done", "[gpu][api]") {
  Fixture f;
  const Library library = Library::without_database(quiet());
  for (const char* where : {"f16f32 NN 0 30 20", "f16f32 NN 30 0 20"}) {
    library.plan(problem_of(where)).run(f.stream.get(), 1, nullptr, nullptr, 0, nullptr);
    f.stream.synchronize();
  }
}

TEST_CASE("a bundle runs without NVRTC on every level", "[gpu][api]") {
  Fixture f;
  const runtime::DeviceInfo& info = f.context.info();
  const Problem tuned = problem_of("f16f32 NN 192 160 96"), untuned = problem_of("f64f64 TN 65 33 17");
  db::Bundle bundle;
  bundle.device = info.identity;
  bundle.arch = info.limits.arch;
  bundle.made_at = db::now_utc();
  bundle.bests = {record_of(tuned, small_simt(), info)};
  bundle.builds = {
      build_of(tuned, small_simt(), info), build_of(untuned, generic_config(target_of(untuned, info)), info)};
  db::save_bundle(bundle, f.folder / "small.bundle");
  const Library library = Library::open(f.folder / "small.bundle", stored_only());
  for (const auto& [where, level] : {std::pair("f16f32 NN 192 160 96", "exact"), {"f16f32 NN 100 170 90", "model"},
           {"f64f64 TN 65 33 17", "generic"}}) {
    const GemmPlan plan = library.plan(problem_of(where));
    INFO(where);
    CHECK(plan.explain().level == level);
    CHECK(f.error_of(plan, 1, 0) == 0);
  }
}

}  // namespace tilesmith::test_runtime_api
