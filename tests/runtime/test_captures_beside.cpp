// Captures of streams that run while the library makes, and releases, what it needs.
#include <optional>

#include "tests/catch.hpp"
#include "tests/runtime/failure_of.hpp"
#include "tests/runtime/library_fixture.hpp"

using namespace tilesmith;

namespace {

namespace fake = runtime::fake;
using runtime::fake::stored_only;
using Fixture = runtime::fake::LibraryFixture;

constexpr const char* kProblem = "f16f32 NN 512 512 512";

}  // namespace

TEST_CASE("what the library allocates, loads and frees ends no other thread's capture", "[api]") {
  const Fixture fixture;
  const char* where = "f16f32 NN 1 264 520";
  {
    const Config split = *Config::parse(
        "gemv{matrix=1,shifted=0,threads=128,lanes=8,rows=1,unroll=4,split_k=2,cluster=0,prefetch_bytes=0,overlap=1,early_launch=1}");
    db::Store store = db::Store::open(fixture.path("split.db"));
    store.record(fixture.record(where, split, 9.5));
    store.record_build(fixture.build(where, split));
  }
  fake::state().others_capture = true;
  const auto is_as_before = [] {
    return fake::state().others_capture && fake::state().capture_mode == CU_STREAM_CAPTURE_MODE_GLOBAL;
  };
  {
    std::optional<Library> library(Library::open(fixture.path("split.db"), stored_only()));
    CHECK(is_as_before());
    std::optional<GemmPlan> plan(library->plan(fixture.problem(where)));
    CHECK(is_as_before());
    plan->reserve_workspace();
    CHECK(is_as_before());
    SECTION("released by the plan") { library.reset(); }
    SECTION("released by the library") { plan.reset(); }
    CHECK(is_as_before());
  }
  CHECK(is_as_before());
  for (const char* call : {"module_load", "module_unload", "mem_alloc", "mem_free"}) CHECK(fake::count(call) == 1);
}

TEST_CASE("in a capture of the thread's own a plan is refused as ever, unless the application allows it", "[api]") {
  const Fixture fixture;
  const Library library = Library::open(fixture.small_database(), stored_only());
  fake::state().thread_captures = true;
  SECTION("the usual mode") {
    CHECK(failure_of([&] { library.plan(fixture.problem(kProblem)); }) == ErrorCode::device_failed);
    CHECK(fake::state().capture_mode == CU_STREAM_CAPTURE_MODE_GLOBAL);
  }
  SECTION("the relaxed mode, which stays") {
    fake::state().capture_mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    CHECK_NOTHROW(library.plan(fixture.problem(kProblem)));
    CHECK(fake::state().capture_mode == CU_STREAM_CAPTURE_MODE_RELAXED);
    CHECK(fake::state().thread_captures);
    fake::state().thread_captures = false;
  }
}
