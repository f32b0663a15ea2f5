// The workspaces of Library::gemm(), without a device.
#include <thread>
#include <vector>

#include "tests/catch.hpp"
#include "tests/runtime/failure_of.hpp"
#include "tests/runtime/library_fixture.hpp"

using namespace tilesmith;

namespace {

namespace fake = runtime::fake;
using runtime::fake::address;
using runtime::fake::stored_only;
using runtime::fake::writable;

constexpr const char* kSmall = "f16f32 NN 1 264 520";
constexpr const char* kLarge = "f16f32 NN 1 2640 520";

/// A database of plans that split K, and so need a workspace.
struct WorkspaceFixture : runtime::fake::LibraryFixture {
  WorkspaceFixture() : library(Library::open(database(), stored_only())) {}

  std::filesystem::path database() const {
    const Config split = *Config::parse(
        "gemv{matrix=1,shifted=0,threads=128,lanes=8,rows=1,unroll=4,split_k=2,cluster=0,prefetch_bytes=0,overlap=1,early_launch=0}");
    db::Store store = db::Store::open(path("split.db"));
    for (const char* where : {kSmall, kLarge}) store.record(record(where, split, 9.5));
    store.record_build(build(kSmall, split));
    return path("split.db");
  }

  /// Where the launches of one call have their workspace.
  void* workspace_of(const char* where, CUstream_st* stream) const {
    fake::state().launches.clear();
    library.gemm(stream, problem(where), 1, address(0x10000000), address(0x20000000), 0, writable(0x30000000));
    for (const fake::LaunchRecord& launch : fake::state().launches) {
      CHECK(launch.args.workspace == fake::state().launches.front().args.workspace);
    }
    return fake::state().launches.front().args.workspace;
  }

  Library library;
};

CUstream_st* stream_numbered(std::uintptr_t handle) { return reinterpret_cast<CUstream_st*>(handle); }

}  // namespace

TEST_CASE("each stream has a workspace of its own, allocated once", "[api][gemm]") {
  const WorkspaceFixture fixture;
  void* const first = fixture.workspace_of(kSmall, nullptr);
  REQUIRE(first != nullptr);
  void* const second = fixture.workspace_of(kSmall, stream_numbered(0x77));
  CHECK(first != second);
  CHECK(fixture.workspace_of(kSmall, nullptr) == first);
  CHECK(fixture.workspace_of(kSmall, CU_STREAM_LEGACY) == first);  // another name of it
  CHECK(fixture.workspace_of(kSmall, stream_numbered(0x77)) == second);
  CHECK(fake::count("mem_alloc") == 2);
}

TEST_CASE("threads' own default streams, which share a handle, have workspaces of their own", "[api][gemm]") {
  const WorkspaceFixture fixture;
  void* const mine = fixture.workspace_of(kSmall, CU_STREAM_PER_THREAD);
  void* others = nullptr;
  std::thread([&] { others = fixture.workspace_of(kSmall, CU_STREAM_PER_THREAD); }).join();
  CHECK(mine != others);
  CHECK(fixture.workspace_of(kSmall, CU_STREAM_PER_THREAD) == mine);
}

TEST_CASE("a workspace grows, and what was captured with the former one stays right", "[api][gemm]") {
  const WorkspaceFixture fixture;
  void* const former = fixture.workspace_of(kSmall, nullptr);
  const std::size_t former_bytes = fake::state().allocated_bytes;
  void* const larger = fixture.workspace_of(kLarge, nullptr);
  CHECK(larger != former);
  CHECK(fake::state().allocated_bytes >= 2 * former_bytes);
  CHECK(fixture.workspace_of(kSmall, nullptr) == larger);
  CHECK(fake::count("mem_free") == 0);
}

TEST_CASE("a captured stream uses the workspace it has and gets none", "[api][gemm]") {
  const WorkspaceFixture fixture;
  void* const of_default = fixture.workspace_of(kSmall, nullptr);
  fake::state().capture.status = CU_STREAM_CAPTURE_STATUS_ACTIVE;
  CHECK(fixture.workspace_of(kSmall, nullptr) == of_default);
  CHECK(failure_of([&] { fixture.workspace_of(kSmall, stream_numbered(0x77)); }) == ErrorCode::not_planned);
  CHECK(fake::state().launches.empty());
  CHECK(fake::count("mem_alloc") == 1);
  fake::state().capture.status = CU_STREAM_CAPTURE_STATUS_NONE;
  fixture.library.prepare(stream_numbered(0x77), fixture.problem(kSmall));
  CHECK(fake::count("mem_alloc") == 2);
  fake::state().capture.status = CU_STREAM_CAPTURE_STATUS_ACTIVE;
  CHECK(fixture.workspace_of(kSmall, stream_numbered(0x77)) != of_default);
}

TEST_CASE("workspaces are freed with the library or its cache, and end no capture", "[api][gemm]") {
  {
    WorkspaceFixture fixture;
    fixture.workspace_of(kSmall, nullptr);
    fixture.workspace_of(kLarge, nullptr);
    fake::state().others_capture = true;
    fixture.workspace_of(kSmall, stream_numbered(0x77));
    SECTION("by the library") {}
    SECTION("by clear_cache()") {
      fixture.library.clear_cache();
      CHECK(fake::count("mem_free") == 3);
      CHECK(fixture.workspace_of(kSmall, nullptr) != nullptr);
      CHECK(fake::count("mem_alloc") == 4);
    }
  }
  CHECK(fake::state().others_capture);
  CHECK(fake::count("mem_free") == fake::count("mem_alloc"));
  CHECK(fake::count("primary_ctx_release") == fake::count("primary_ctx_retain"));
}

TEST_CASE("memory that is not there is said so, and nothing is launched", "[api][gemm]") {
  const WorkspaceFixture fixture;
  fake::state().failures["mem_alloc"] = CUDA_ERROR_OUT_OF_MEMORY;
  CHECK(failure_of([&] { fixture.workspace_of(kSmall, nullptr); }) == ErrorCode::out_of_memory);
  CHECK(fake::state().launches.empty());
  fake::state().failures.clear();
  CHECK(fixture.workspace_of(kSmall, nullptr) != nullptr);
}
