// When libraries and plans come and go, and what they leave behind.
#include <optional>
#include <utility>

#include "tests/catch.hpp"
#include "tests/runtime/failure_of.hpp"
#include "tests/runtime/library_fixture.hpp"

using namespace tilesmith;

namespace {

namespace fake = runtime::fake;
using runtime::fake::address;
using runtime::fake::current_context;
using runtime::fake::stored_only;
using runtime::fake::writable;
using Fixture = runtime::fake::LibraryFixture;

}  // namespace

TEST_CASE("the thread's current context is left as it was", "[api]") {
  const Fixture fixture;
  const std::filesystem::path path = fixture.small_database();
  const auto applications = reinterpret_cast<CUcontext>(std::uintptr_t{0x9000});
  current_context = applications;
  {
    const Library library = Library::open(path, stored_only());
    CHECK(current_context == applications);
    const GemmPlan plan = library.plan(fixture.problem("f16f32 NN 512 512 512"));
    CHECK(current_context == applications);
  }
  CHECK(current_context == applications);
  current_context = nullptr;
  const Library library = Library::open(path, stored_only());
  CHECK(current_context != nullptr);  // there was none: the primary one
}

TEST_CASE("a thread without a context has the primary one after reserve_workspace(), whatever a plan needs", "[api]") {
  const Fixture fixture;
  const Library library = Library::open(fixture.small_database(), stored_only());
  GemmPlan plan = library.plan(fixture.problem("f16f32 NN 512 512 512"));
  REQUIRE(plan.workspace_bytes() == 0);
  const CUcontext primary = current_context;
  REQUIRE(primary != nullptr);
  const auto applications = reinterpret_cast<CUcontext>(std::uintptr_t{0x9000});
  for (const auto& [before, after] : {std::pair{CUcontext(nullptr), primary}, std::pair{applications, applications}}) {
    current_context = before;  // as in another thread
    plan.reserve_workspace();
    CHECK(current_context == after);
  }
  CHECK(fake::count("mem_alloc") == 0);
}

TEST_CASE("a thread without a context has none after it released the library's", "[api]") {
  const Fixture fixture;
  std::optional<Library> library(Library::open(fixture.small_database(), stored_only()));
  std::optional<GemmPlan> plan;
  SECTION("by closing it") {}
  SECTION("by its last plan") { plan = library->plan(fixture.problem("f16f32 NN 512 512 512")); }
  current_context = nullptr;  // as in another thread
  library.reset();
  CHECK(current_context == nullptr);
  plan.reset();
  CHECK(current_context == nullptr);
  CHECK(fake::count("primary_ctx_release") == fake::count("primary_ctx_retain"));
}

TEST_CASE("the thread that opened a library keeps its context current only where others hold it too", "[api]") {
  const Fixture fixture;
  const bool held = GENERATE(false, true);
  if (held) ++fake::state().primary_holders;  // the application, by the runtime API
  std::optional<Library> library(Library::open(fixture.small_database(), stored_only()));
  const CUcontext primary = current_context;
  REQUIRE(primary != nullptr);
  std::optional<GemmPlan> plan(library->plan(fixture.problem("f16f32 NN 512 512 512")));
  library.reset();
  CHECK(current_context == primary);
  plan.reset();
  CHECK(current_context == (held ? primary : nullptr));
}

TEST_CASE("a plan outlives its library, and everything is released in the end", "[api]") {
  const Fixture fixture;
  {
    std::optional<Library> library(Library::open(fixture.small_database(), stored_only()));
    const GemmPlan plan = library->plan(fixture.problem("f16f32 NN 512 512 512"));
    library.reset();
    CHECK(fake::count("module_unload") == 0);
    plan.run(nullptr, 1, address(0x10000000), address(0x20000000), 0, writable(0x30000000));
    CHECK(fake::state().launches.size() == 1);
  }
  CHECK(fake::count("module_unload") == 1);
  CHECK(fake::count("primary_ctx_release") == fake::count("primary_ctx_retain"));
}

TEST_CASE("a plan can be moved and its library too", "[api]") {
  const Fixture fixture;
  Library first = Library::open(fixture.small_database(), stored_only());
  const Library second = std::move(first);
  CHECK(failure_of([&] { first.plan(fixture.problem("f16f32 NN 512 512 512")); }) == ErrorCode::bad_argument);
  GemmPlan plan = second.plan(fixture.problem("f16f32 NN 512 512 512"));
  const GemmPlan moved = std::move(plan);
  CHECK(moved.workspace_bytes() == 0);
  CHECK(moved.problem().m == 512);
  CHECK(failure_of([&] { plan.run(nullptr, 1, address(0x10000000), address(0x20000000), 0, writable(0x30000000)); }) ==
        ErrorCode::bad_argument);
  CHECK(failure_of([&] { plan.reserve_workspace(); }) == ErrorCode::bad_argument);
  CHECK(plan.workspace_bytes() == 0);
  CHECK(plan.problem().m == 0);
  CHECK(plan.explain().level.empty());
  CHECK(first.device().empty());
}
