// Library::gemm(), without a device.
#include <algorithm>
#include <atomic>
#include <string>
#include <thread>
#include <utility>
#include <vector>

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

constexpr const char* kTuned = "f16f32 NN 512 512 512";

CUstream_st* stream_at(std::uintptr_t handle) { return reinterpret_cast<CUstream_st*>(handle); }

/// With pointers of full alignment.
void gemm(const Library& library, const Problem& problem, double beta = 0, CUstream_st* stream = nullptr) {
  library.gemm(stream, problem, 2, address(0x10000000), address(0x20000000), beta, writable(0x30000000));
}

std::size_t lines_logged() {
  const std::string lines = Fixture::logged().str();
  return std::size_t(std::count(lines.begin(), lines.end(), '\n'));
}

}  // namespace

TEST_CASE("gemm() plans a problem at its first call and only launches from then on", "[api][gemm]") {
  const Fixture fixture;
  const Library library = Library::open(fixture.small_database(), stored_only());
  const Problem problem = fixture.problem(kTuned);
  gemm(library, problem);
  CHECK(fake::count("module_load") == 1);
  fake::state().calls.clear();
  library.gemm(stream_at(0x77), problem, 2, address(0x10000000), address(0x20000000), 0, writable(0x30000000));
  CHECK(fake::state().calls == std::vector<std::string>{"launch_kernel"});
  const auto& launch = fake::state().launches.at(1);
  CHECK(launch.stream == stream_at(0x77));
  CHECK(launch.args.a == address(0x10000000));
  CHECK(launch.args.b == address(0x20000000));
  CHECK(launch.args.d == writable(0x30000000));
  CHECK(launch.args.alpha.f32 == 2.0f);
  CHECK(Fixture::logged().str().empty());  // the exact level
}

TEST_CASE("gemm() takes the alignment from its pointers and the beta class from beta", "[api][gemm]") {
  const Fixture fixture;
  const Library library = Library::open(fixture.small_database(), stored_only());
  Problem problem = fixture.problem(kTuned);
  problem.align_bytes = 2;  // neither counts
  problem.beta = BetaClass::any;
  gemm(library, problem);
  CHECK(lines_logged() == 0);
  for (int time = 0; time < 2; ++time) {
    library.gemm(nullptr, problem, 1, address(0x10000000), address(0x20000008), 0, writable(0x30000000));
    CHECK(Fixture::logged().str().find("512 512 512 align=8: ") != std::string::npos);
    CHECK(lines_logged() == 1);
    library.gemm(nullptr, problem, 0, address(1), address(1), 0, writable(0x30000000));  // A and B are not read
  }
  CHECK(lines_logged() == 1);
  library.gemm(nullptr, problem, 1, address(0x10000002), address(0x20000008), 0.5, writable(0x30000004));
  CHECK(Fixture::logged().str().find("512 512 512 align=2 beta=any: ") != std::string::npos);
  CHECK(fake::state().launches.back().args.beta.f32 == 0.5f);
}

TEST_CASE("gemm() refuses what plan() and run() refuse, and launches nothing", "[api][gemm]") {
  const Fixture fixture;
  const Library library = Library::open(fixture.small_database(), stored_only());
  const Problem problem = fixture.problem(kTuned);
  const auto run = [&](const Problem& on, std::uintptr_t a, std::uintptr_t c, double beta = 0) {
    return failure_of([&] { library.gemm(nullptr, on, 1, address(a), address(0x20000000), beta, writable(c)); });
  };
  CHECK(run(problem, 0x10000001, 0x30000000) == ErrorCode::misaligned);
  CHECK(run(problem, 0x10000000, 0x30000002) == ErrorCode::misaligned);
  CHECK(run(problem, 0, 0x30000000) == ErrorCode::bad_argument);
  CHECK(run(problem, 0x10000000, 0) == ErrorCode::bad_argument);
  Problem wrong = problem;
  wrong.lda = 100;
  CHECK(run(wrong, 0x10000000, 0x30000000) == ErrorCode::bad_argument);
  wrong = problem;
  wrong.type.name = "one that there is not, with a long name";
  CHECK(run(wrong, 0x10000000, 0x30000000) == ErrorCode::no_kernel);
  CHECK(run(fixture.problem("f16f32 TN 512 512 512"), 0x10000000, 0x30000000) == ErrorCode::no_kernel);
  CHECK(fake::state().launches.empty());
  fake::state().failures["launch_kernel"] = CUDA_ERROR_INVALID_VALUE;
  CHECK(run(problem, 0x10000000, 0x30000000) == ErrorCode::device_failed);
  fake::state().failures.clear();
  fake::state().launches.clear();
  fake::state().capture.status = CU_STREAM_CAPTURE_STATUS_ACTIVE;
  CHECK(run(fixture.problem("f16f32 NN 0 5 5"), 0, 0) == ErrorCode(0));  // nothing to do, so nothing to plan
  CHECK(run(fixture.problem("f16f32 TN 5 0 5"), 0, 0) == ErrorCode(0));
  CHECK(fake::state().launches.empty());
}

TEST_CASE("gemm() makes the library's context current where it is not, and leaves another one current", "[api][gemm]") {
  const Fixture fixture;
  const Library library = Library::open(fixture.small_database(), stored_only());
  const Problem problem = fixture.problem(kTuned);
  const CUcontext primary = current_context;
  for (int time = 0; time < 2; ++time) {
    current_context = nullptr;  // as in another thread
    gemm(library, problem);
    CHECK(current_context == primary);
    current_context = reinterpret_cast<CUcontext>(std::uintptr_t{0x9000});
    gemm(library, problem);
    CHECK(current_context == reinterpret_cast<CUcontext>(std::uintptr_t{0x9000}));
  }
}

TEST_CASE("while a stream is captured gemm() neither plans nor allocates", "[api][gemm]") {
  const Fixture fixture;
  const Library library = Library::open(fixture.small_database(), stored_only());
  const Problem problem = fixture.problem(kTuned);
  fake::state().capture.status = CU_STREAM_CAPTURE_STATUS_ACTIVE;
  fake::state().calls.clear();
  CHECK(failure_of([&] { gemm(library, problem); }) == ErrorCode::not_planned);
  CHECK(failure_of([&] { library.prepare(nullptr, problem); }) == ErrorCode::not_planned);
  CHECK(fake::state().calls == std::vector<std::string>(2, "stream_get_capture_info"));
  fake::state().capture.status = CU_STREAM_CAPTURE_STATUS_NONE;
  SECTION("prepared") {
    library.prepare(nullptr, problem);
    CHECK(fake::state().launches.empty());
  }
  SECTION("called before") { gemm(library, problem); }
  fake::state().capture.status = CU_STREAM_CAPTURE_STATUS_ACTIVE;
  fake::state().calls.clear();
  gemm(library, problem);
  CHECK(fake::state().calls == std::vector<std::string>{"launch_kernel"});
}

TEST_CASE("the default stream does not plan where a capture that it would wait for is in the way", "[api][gemm]") {
  const Fixture fixture;
  const Library library = Library::open(fixture.small_database(), stored_only());
  fake::state().failures["stream_get_capture_info"] = CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
  CHECK(failure_of([&] { gemm(library, fixture.problem(kTuned)); }) == ErrorCode::device_failed);
  CHECK(fake::count("module_load") == 0);
}

TEST_CASE("what gemm() keeps goes with clear_cache(), and is planned again", "[api][gemm]") {
  const Fixture fixture;
  Library library = Library::open(fixture.small_database(), stored_only());
  const Problem problem = fixture.problem(kTuned);
  gemm(library, problem);
  library.clear_cache();
  fake::state().capture.status = CU_STREAM_CAPTURE_STATUS_ACTIVE;
  CHECK(failure_of([&] { gemm(library, problem); }) == ErrorCode::not_planned);
  fake::state().capture.status = CU_STREAM_CAPTURE_STATUS_NONE;
  gemm(library, problem);
  CHECK(fake::count("module_load") == 1);  // the kernel stayed
  const Library moved = std::move(library);
  CHECK(failure_of([&] { gemm(library, problem); }) == ErrorCode::bad_argument);
  CHECK(failure_of([&] { library.prepare(nullptr, problem); }) == ErrorCode::bad_argument);
  library.clear_cache();
  gemm(moved, problem);
}

TEST_CASE("threads that meet a problem at the same time plan it once", "[api][gemm]") {
  const Fixture fixture;
  static std::atomic<int> launched;
  launched = 0;
  runtime::Driver table = runtime::driver();
  table.launch_kernel = [](CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, CUstream,
                            void**, void**) {
    ++launched;
    return CUDA_SUCCESS;
  };
  table.stream_get_capture_info = [](CUstream, CUstreamCaptureStatus* status, cuuint64_t*, CUgraph*,
                                      const CUgraphNode**, std::size_t*) {
    *status = CU_STREAM_CAPTURE_STATUS_NONE;
    return CUDA_SUCCESS;
  };
  const runtime::ScopedDriver driver(table);
  const Library library = Library::open(fixture.small_database(), stored_only());
  std::vector<Problem> problems;
  for (int m = 500; m < 520; ++m) problems.push_back(packed_problem({*find_type_pair("f16f32"), {}}, m, 512, 512));
  fake::state().calls.clear();
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int time = 0; time < 3; ++time) {
        for (const Problem& problem : problems) gemm(library, problem);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(launched == 4 * 3 * 20);
  CHECK(fake::count("module_get_function") == 20);
}
