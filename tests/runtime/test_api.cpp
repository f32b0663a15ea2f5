// The C++ interface, without a device.
#include <cmath>
#include <fstream>

#include "db/files/bundle.hpp"
#include "runtime/driver/device.hpp"
#include "tests/catch.hpp"
#include "tests/runtime/library_fixture.hpp"

using namespace tilesmith;

namespace {

namespace fake = runtime::fake;
using runtime::fake::address;
using runtime::fake::stored_only;
using runtime::fake::writable;
using Fixture = runtime::fake::LibraryFixture;

template <typename Call>
std::pair<ErrorCode, std::string> failure_and_text_of(Call&& call) {
  try {
    call();
  } catch (const Error& error) {
    return {error.code(), error.what()};
  }
  return {ErrorCode(0), "nothing was thrown"};
}

}  // namespace

TEST_CASE("a tuned problem runs its stored kernel, without NVRTC", "[api]") {
  const Fixture fixture;
  const Library library = Library::open(fixture.small_database(), stored_only());
  CHECK(library.device() == db::text(fixture.info.identity));
  const GemmPlan plan = library.plan(fixture.problem("f16f32 NN 512 512 512"));
  CHECK(plan.explain().level == "exact");
  CHECK(plan.explain().config == Fixture::simt(32).text());
  CHECK(plan.explain().measured == "f16f32 NN 512 512 512");
  CHECK(plan.explain().median_us == 9.5);
  CHECK(plan.explain().trust == "valid");
  CHECK(plan.explain().kernel == "stored cubin (NVRTC 12.6)");
  CHECK(Fixture::logged().str().empty());
}

TEST_CASE("a problem that was not measured says so, and is logged once", "[api]") {
  const Fixture fixture;
  const Library library = Library::open(fixture.small_database(), stored_only());
  for (int time = 0; time < 2; ++time) {
    const GemmPlan plan = library.plan(fixture.problem("f16f32 NN 500 520 512 beta=any"));
    CHECK(plan.explain().level == "model");
    CHECK(plan.explain().measured == "f16f32 NN 512 512 512");
  }
  const std::string lines = Fixture::logged().str();
  CHECK(lines.find("f16f32 NN 500 520 512 beta=any: model level") != std::string::npos);
  CHECK(std::count(lines.begin(), lines.end(), '\n') == 1);
  CHECK(fake::count("module_load") == 1);  // both plans share the loaded kernel
}

TEST_CASE("run launches, and does nothing else", "[api]") {
  const Fixture fixture;
  const Library library = Library::open(fixture.small_database(), stored_only());
  const GemmPlan plan = library.plan(fixture.problem("f16f32 NN 512 512 512 beta=any"));
  fake::state().calls.clear();
  plan.run(
      reinterpret_cast<CUstream_st*>(0x77), 2, address(0x10000000), address(0x20000000), 0.5, writable(0x30000000));
  CHECK(fake::state().calls == std::vector<std::string>{"launch_kernel"});
  REQUIRE(fake::state().launches.size() == 1);
  const auto& launch = fake::state().launches[0];
  CHECK(launch.stream == reinterpret_cast<CUstream_st*>(0x77));
  CHECK(launch.args.a == address(0x10000000));
  CHECK(launch.args.d == writable(0x30000000));
  CHECK(launch.args.alpha.f32 == 2.0f);
  CHECK(launch.args.beta.f32 == 0.5f);
  CHECK(launch.args.k == 512);
}

TEST_CASE("run refuses what does not fit, before anything is launched", "[api]") {
  const Fixture fixture;
  const Library library = Library::open(fixture.small_database(), stored_only());
  const GemmPlan plan = library.plan(fixture.problem("f16f32 NN 512 512 512"));
  const auto run = [&](double beta, std::uintptr_t a, std::uintptr_t c) {
    return failure_and_text_of([&] { plan.run(nullptr, 1, address(a), address(0x20000000), beta, writable(c)); });
  };
  CHECK(run(1, 0x10000000, 0x30000000).first == ErrorCode::bad_argument);
  CHECK(run(std::nan(""), 0x10000000, 0x30000000).first == ErrorCode::bad_argument);
  CHECK(run(0, 0, 0x30000000).first == ErrorCode::bad_argument);
  CHECK(run(0, 0x10000000, 0).first == ErrorCode::bad_argument);
  CHECK(run(0, 0x10000008, 0x30000000).first == ErrorCode::misaligned);
  CHECK(run(0, 0x10000000, 0x30000002).second.find("16 bytes") != std::string::npos);
  CHECK(fake::state().launches.empty());
  fake::state().failures["launch_kernel"] = CUDA_ERROR_INVALID_VALUE;
  CHECK(run(0, 0x10000000, 0x30000000).first == ErrorCode::device_failed);
}

TEST_CASE("nothing is launched for M or N of 0, and only scaling for K of 0", "[api]") {
  const Fixture fixture;
  {
    db::Store store = db::Store::open(fixture.path("generic.db"));
    const KernelTarget target = fixture.target(fixture.problem("f64f64 NN 1 1 1"));
    store.record_build(fixture.build("f64f64 NN 1 1 1", generic_config(target)));
  }
  const Library library = Library::open(fixture.path("generic.db"), stored_only());
  for (const char* empty : {"f64f64 NN 0 5 5", "f64f64 NN 5 0 5"}) {
    const GemmPlan plan = library.plan(fixture.problem(empty));
    CHECK(plan.explain().level == "generic");
    plan.run(nullptr, 1, nullptr, nullptr, 0, nullptr);
    CHECK(fake::state().launches.empty());
  }
  const Library empty = Library::without_database(stored_only());
  for (const char* nothing : {"f16f32 NN 0 5 5", "f16f32 NN 5 0 5"}) {
    GemmPlan plan = empty.plan(fixture.problem(nothing));  // there is no kernel, and no need of one
    CHECK(plan.explain().level == "generic");
    CHECK(plan.explain().kernel.empty());
    plan.reserve_workspace();
    plan.run(nullptr, 1, nullptr, nullptr, 0, nullptr);
  }
  CHECK(fake::state().launches.empty());
  const GemmPlan plan = library.plan(fixture.problem("f64f64 NN 5 5 0 beta=any"));
  plan.run(nullptr, 1, nullptr, nullptr, 2, writable(0x10000000));
  REQUIRE(fake::state().launches.size() == 1);
  CHECK(fake::state().launches[0].args.k == 0);
  CHECK(Fixture::logged().str().empty());
}

TEST_CASE("integer scales must be integers", "[api]") {
  const Fixture fixture;
  {
    db::Store store = db::Store::open(fixture.path("generic.db"));
    const KernelTarget target = fixture.target(fixture.problem("s8s32 NN 1 1 1"));
    store.record_build(fixture.build("s8s32 NN 1 1 1", generic_config(target)));
  }
  const Library library = Library::open(fixture.path("generic.db"), stored_only());
  const GemmPlan plan = library.plan(fixture.problem("s8s32 NN 16 16 16 beta=any"));
  const auto run = [&](double alpha) {
    return failure_and_text_of([&] {
      plan.run(nullptr, alpha, address(0x10000000), address(0x20000000), 1, writable(0x30000000));
    }).first;
  };
  CHECK(run(1.5) == ErrorCode::bad_argument);
  CHECK(run(3e9) == ErrorCode::bad_argument);
  CHECK(run(-3) == ErrorCode(0));
  CHECK(fake::state().launches.at(0).args.alpha.s32 == -3);
}

TEST_CASE("a config whose kernel is neither stored nor compilable gives way to the next", "[api]") {
  const Fixture fixture;
  {
    db::Store store = db::Store::open(fixture.path("two.db"));
    store.record(fixture.record("f16f32 NN 512 512 512", Fixture::simt(64), 5));  // no build
    store.record(fixture.record("f16f32 NN 512 512 512", Fixture::simt(32), 9));
    store.record_build(fixture.build("f16f32 NN 512 512 512", Fixture::simt(32)));
  }
  const Library library = Library::open(fixture.path("two.db"), stored_only());
  const GemmPlan plan = library.plan(fixture.problem("f16f32 NN 512 512 512"));
  CHECK(plan.explain().config == Fixture::simt(32).text());
  CHECK(plan.explain().level == "exact");
  CHECK(plan.explain().reason.find(Fixture::simt(64).text() + " was passed over") != std::string::npos);

  const auto [code, what] = failure_and_text_of([&] { library.plan(fixture.problem("f16f32 TN 512 512 512")); });
  CHECK(code == ErrorCode::no_kernel);
  CHECK(what.find("no cubin is stored") != std::string::npos);
  CHECK(what.find('\n') == std::string::npos);
}

TEST_CASE("a kernel that the device refuses gives way to the next", "[api]") {
  const Fixture fixture;
  const std::filesystem::path path = fixture.small_database();
  {
    db::Store store = db::Store::open(path);
    store.record_build(fixture.build(
        "f16f32 NN 512 512 512", generic_config(fixture.target(fixture.problem("f16f32 NN 512 512 512")))));
  }
  const Library library = Library::open(path, stored_only());
  fake::state().func_attributes[CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK] = 32;  // simt(32) wants 64
  CHECK(failure_and_text_of([&] { library.plan(fixture.problem("f16f32 NN 512 512 512")); }).first ==
        ErrorCode::device_failed);
  fake::state().func_attributes[CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK] = 1024;
  CHECK(library.plan(fixture.problem("f16f32 NN 512 512 512")).explain().level == "exact");
}

TEST_CASE("records of another driver is used and said to be re-verified", "[api]") {
  const Fixture fixture;
  {
    db::Store store = db::Store::open(fixture.path("old.db"));
    db::Record entry = fixture.record("f16f32 NN 512 512 512", Fixture::simt(32), 9);
    entry.environment.driver_version += ".1";
    store.record(entry);
    store.record_build(fixture.build("f16f32 NN 512 512 512", Fixture::simt(32)));
  }
  const Library library = Library::open(fixture.path("old.db"), stored_only());
  const GemmPlan plan = library.plan(fixture.problem("f16f32 NN 512 512 512"));
  CHECK(plan.explain().level == "exact");
  CHECK(plan.explain().trust == "reverify");
}

TEST_CASE("a plan's reason and its trust go by the kernel that was loaded", "[api]") {
  const Fixture fixture;
  {
    db::Store store = db::Store::open(fixture.path("two.db"));
    store.record(fixture.record("f16f32 NN 512 512 512", Fixture::simt(32), 9));
    db::Record later = fixture.record("f16f32 NN 2048 2048 2048", Fixture::simt(64), 90);
    later.environment.nvrtc_version = "12.8";
    later.created_at = "2026-02-01T00:00:00.000Z";
    store.record(later);
    for (const int block : {32, 64})
      store.record_build(fixture.build("f16f32 NN 512 512 512", Fixture::simt(block)));  // by 12.6
  }
  const Library library = Library::open(fixture.path("two.db"), stored_only());
  const GemmPlan as_verified = library.plan(fixture.problem("f16f32 NN 512 512 512"));
  CHECK(as_verified.explain().trust == "valid");
  CHECK(as_verified.explain().reason.find("verify") == std::string::npos);
  const GemmPlan by_another = library.plan(fixture.problem("f16f32 NN 2048 2048 2048"));
  CHECK(by_another.explain().trust == "reverify");
  CHECK(by_another.explain().reason.find("has to verify it again") != std::string::npos);
}

TEST_CASE("a bundle serves its problems and the generic level without NVRTC", "[api]") {
  const Fixture fixture;
  db::Bundle bundle;
  bundle.device = fixture.info.identity;
  bundle.arch = fixture.info.limits.arch;
  bundle.made_at = "2026-01-01T00:00:00.000Z";
  bundle.bests = {fixture.record("f16f32 NN 512 512 512", Fixture::simt(32), 9)};
  bundle.builds = {fixture.build("f16f32 NN 512 512 512", Fixture::simt(32)),
      fixture.build("f64f64 TT 1 1 1", generic_config(fixture.target(fixture.problem("f64f64 TT 1 1 1"))))};
  db::save_bundle(bundle, fixture.path("small.bundle"));
  const Library library = Library::open(fixture.path("small.bundle"), stored_only());
  CHECK(library.plan(fixture.problem("f16f32 NN 512 512 512")).explain().level == "exact");
  CHECK(library.plan(fixture.problem("f16f32 NN 512 768 512")).explain().level == "model");
  CHECK(library.plan(fixture.problem("f64f64 TT 7 7 7")).explain().level == "generic");
}

TEST_CASE("of a bundle's kernels of other compilers one that spills is taken only where there is no other", "[api]") {
  const Fixture fixture;
  const Problem problem = fixture.problem("f64f64 TT 7 7 7");
  db::KernelBuild spilled = fixture.build("f64f64 TT 7 7 7", generic_config(fixture.target(problem)));
  spilled.key.nvrtc_version = "12.4";
  db::KernelBuild whole = spilled;
  whole.key.nvrtc_version = "12.2";
  spilled.status = db::Status::spilled;
  const auto kernel_of = [&](std::vector<db::KernelBuild> builds) {
    db::Bundle bundle;
    bundle.device = fixture.info.identity;
    bundle.arch = fixture.info.limits.arch;
    bundle.builds = std::move(builds);
    db::save_bundle(bundle, fixture.path("two.bundle"));
    return Library::open(fixture.path("two.bundle"), stored_only()).plan(problem).explain().kernel;
  };
  CHECK(kernel_of({spilled}) == "stored cubin (NVRTC 12.4)");
  CHECK(kernel_of({spilled, whole}) == "stored cubin (NVRTC 12.2)");
  CHECK(kernel_of({whole, spilled}) == "stored cubin (NVRTC 12.2)");
}

TEST_CASE("a problem that is not well formed is refused by name", "[api]") {
  const Fixture fixture;
  const Library library = Library::open(fixture.small_database(), stored_only());
  Problem wrong = fixture.problem("f16f32 NN 512 512 512");
  wrong.lda = 100;
  const auto [code, what] = failure_and_text_of([&] { library.plan(wrong); });
  CHECK(code == ErrorCode::bad_argument);
  CHECK(what.find("lda is 100") != std::string::npos);
}

TEST_CASE("a missing, foreign or empty file is refused before any device is asked for", "[api]") {
  const Fixture fixture;
  std::ofstream(fixture.path("text.db"))
      << "this is not a database, and long enough to be told apart from an empty one\n";
  std::ofstream(fixture.path("empty.db"));
  fake::state().devices = 0;
  for (const char* file : {"missing.db", "text.db", "empty.db", "."}) {
    const auto [code, what] = failure_and_text_of([&] { Library::open(fixture.path(file)); });
    INFO(file << ": " << what);
    CHECK(code == ErrorCode::bad_database);
    CHECK(what.find(fixture.path(file).string()) != std::string::npos);
    CHECK(what.find('\n') == std::string::npos);
  }
  CHECK(failure_and_text_of([&] { Library::without_database(); }).first == ErrorCode::no_device);
}

TEST_CASE("an unknown or unsupported device is refused", "[api]") {
  const Fixture fixture;
  LibraryOptions options;
  options.device = 3;
  CHECK(failure_and_text_of([&] { Library::without_database(options); }).first == ErrorCode::no_device);
  fake::state().attributes[CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR] = 7;
  CHECK(failure_and_text_of([&] { Library::without_database(); }).first == ErrorCode::no_device);
}

TEST_CASE("records of another architecture's code is used on no level, and says nothing of NVRTC or policy", "[api]") {
  const Fixture fixture;
  const std::filesystem::path path = fixture.small_database();
  const auto add = [&](const char* where, const db::DeviceIdentity& device, const std::string& arch) {
    db::Store store = db::Store::open(path);
    db::Record entry = fixture.record(where, Fixture::simt(64), 0.5);  // far faster than what is
    entry.device = device;
    const KernelTarget target{entry.task.problem(), *virtual_limits(arch)};
    entry.environment.compiler_options = runtime::compiler_options_text(target);
    entry.environment.nvrtc_version = "99.0";
    entry.environment.measuring_policy = "another-policy";
    entry.created_at = "2026-06-01T00:00:00.000Z";
    store.record(entry);
    db::KernelBuild build = fixture.build(where, Fixture::simt(64));
    build.key.arch = target.limits.arch;
    build.key.compiler_options = entry.environment.compiler_options;
    store.record_build(build);
  };
  const std::string arch = GENERATE(as<std::string>(), "sm_87", "sm_90", "sm_90a");
  const db::DeviceIdentity as_another = db::identity_as(fixture.info.identity, *limits_for_arch(arch));
  add("f16f32 NN 512 512 512", as_another, arch);
  add("f16f32 NN 600 600 600", as_another, arch);
  // Even under this very device's name the options tell it apart.
  add("f16f32 NN 640 640 640", fixture.info.identity, arch);

  const Library library = Library::open(path, stored_only());
  const GemmPlan exact = library.plan(fixture.problem("f16f32 NN 512 512 512"));
  CHECK(exact.explain().level == "exact");
  CHECK(exact.explain().median_us == 9.5);
  CHECK(exact.explain().trust == "valid");
  for (const char* near : {"f16f32 NN 600 600 600", "f16f32 NN 640 640 640"}) {
    const GemmPlan neighbour = library.plan(fixture.problem(near));
    CHECK(neighbour.explain().level == "model");
    CHECK(neighbour.explain().measured == "f16f32 NN 512 512 512");
  }
}
