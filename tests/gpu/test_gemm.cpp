// Library::gemm() on a device: right results from several threads and streams, and in CUDA graphs.
#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "runtime/driver/driver.hpp"
#include "runtime/interface/gemm.hpp"
#include "tests/catch.hpp"
#include "tests/gpu/device_problem.hpp"
#include "tests/gpu/small_store.hpp"
#include "tests/gpu/two_pass.hpp"
#include "tests/runtime/failure_of.hpp"

namespace tilesmith::test_gemm {
using namespace tilesmith::test;

namespace {

constexpr const char* kTwoPass = "tf32f32 NN 70 50 30";         // by a plan with a workspace
constexpr const char* kLargeTwoPass = "tf32f32 NN 170 50 130";  // likewise, a larger one
constexpr const char* kOther = "s8s32 TT 45 35 25";             // by whatever the model chooses

struct Fixture {
  Fixture() : context(0) {
    db::Store store = db::Store::open(folder / "small.db");
    for (const char* where : {kTwoPass, kLargeTwoPass})
      tune_by_hand(store, where, Config("api_two_pass", {}), context.info());
  }
  Library open() const {
    LibraryOptions quiet;
    quiet.log_misses = false;
    return Library::open(folder / "small.db", quiet);
  }

  TwoPassEnabled two_pass;
  runtime::Context context;
  runtime::Stream stream;
  TempFolder folder;
};

void gemm(const Library& library, const runtime::Stream& stream, const char* where, DeviceProblem& data, double alpha,
    double beta = 0) {
  library.gemm(stream.get(), problem_of(where), alpha, data.a(), data.b(), beta, data.c());
}

}  // namespace

TEST_CASE("gemm() is right with and without a workspace, for any beta and any pointers", "[gpu][api]") {
  Fixture f;
  const Library library = f.open();
  for (const char* where : {kTwoPass, kLargeTwoPass, kTwoPass, kOther, "f16f32 NN 64 0 32", "f64f64 TN 65 33 17",
           "bf16f32 NT 33 47 65 lda=71 ldb=77 ldc=53"}) {
    INFO(where);
    DeviceProblem data(problem_of(where));
    f.context.synchronize();
    gemm(library, f.stream, where, data, 1, 2);
    f.stream.synchronize();
    CHECK(data.max_error(1, 2) == 0);
    data.poison_c();
    gemm(library, f.stream, where, data, 3);
    f.stream.synchronize();
    CHECK(data.max_error(3, 0) == 0);
  }
}

TEST_CASE("gemm() takes pointers into a matrix, whatever their alignment", "[gpu][api]") {
  Fixture f;
  const Library library = f.open();
  const Problem whole = problem_of("f16f32 NN 41 33 23");  // rows of A are 46 bytes apart
  DeviceProblem data(whole);
  data.poison_c();
  f.context.synchronize();
  Problem part = whole;
  for (const auto& [row, rows] : {std::pair(0, 1), {1, 8}, {9, 32}}) {
    part.m = rows;
    library.gemm(f.stream.get(), part, 2, static_cast<const std::byte*>(data.a()) + row * whole.lda * 2, data.b(), 0,
        static_cast<std::byte*>(data.c()) + row * whole.ldc * 4);
  }
  f.stream.synchronize();
  CHECK(data.max_error(2, 0) == 0);
}

TEST_CASE("gemm() is right in several threads, each with a stream of its own or all with one", "[gpu][api]") {
  Fixture f;
  const Library library = f.open();
  const bool one_stream = GENERATE(false, true);
  constexpr int kThreads = 4, kRounds = 25;
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      f.context.make_current();
      const runtime::Stream own;
      const runtime::Stream& stream = one_stream ? f.stream : own;
      const char* where = t % 2 == 0 ? kTwoPass : kLargeTwoPass;
      DeviceProblem data(problem_of(where)), other(problem_of(kOther));
      for (int round = 0; round < kRounds; ++round) {
        data.poison_c();
        other.poison_c();
        f.context.synchronize();
        for (int time = 0; time < 20; ++time) {
          gemm(library, stream, where, data, 1 + t);
          gemm(library, stream, kOther, other, 2);
        }
        stream.synchronize();
        if (!(data.max_error(1 + t, 0) == 0 && other.max_error(2, 0) == 0)) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == 0);
}

TEST_CASE("gemm() serves the threads' own default streams and a thread without a context", "[gpu][api]") {
  Fixture f;
  const Library library = f.open();
  std::vector<double> errors(2, -1);
  std::vector<std::unique_ptr<DeviceProblem>> data;
  for (int t = 0; t < 2; ++t) {
    data.push_back(std::make_unique<DeviceProblem>(problem_of(kTwoPass)));
    data.back()->poison_c();
  }
  f.context.synchronize();
  std::vector<std::thread> threads;
  for (int t = 0; t < 2; ++t) {
    threads.emplace_back([&, t] {
      DeviceProblem& mine = *data[std::size_t(t)];
      library.gemm(CU_STREAM_PER_THREAD, problem_of(kTwoPass), 2, mine.a(), mine.b(), 0, mine.c());
      runtime::check(runtime::driver().stream_synchronize(CU_STREAM_PER_THREAD), "cuStreamSynchronize");
      errors[std::size_t(t)] = mine.max_error(2, 0);
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(errors == std::vector<double>{0, 0});
}

TEST_CASE("a capture of gemm() is refused before it is prepared, goes on, and is right after", "[gpu][api]") {
  Fixture f;
  const Library library = f.open();
  DeviceProblem first(problem_of(kTwoPass)), second(problem_of(kOther));
  f.context.synchronize();
  {
    const runtime::Graph graph =
        runtime::Graph::capture(f.stream, [&] {  // its end would fail if the refusals had ended it
          CHECK(failure_of([&] { gemm(library, f.stream, kTwoPass, first, 2); }) == ErrorCode::not_planned);
          CHECK(failure_of([&] { library.prepare(f.stream.get(), problem_of(kOther)); }) == ErrorCode::not_planned);
        });
  }
  const runtime::Stream elsewhere;
  library.prepare(elsewhere.get(), problem_of(kTwoPass));
  gemm(library, elsewhere, kOther, second, 1);
  elsewhere.synchronize();
  {
    const runtime::Graph graph =
        runtime::Graph::capture(f.stream, [&] {  // planned, but this stream has no workspace yet
          CHECK(failure_of([&] { gemm(library, f.stream, kTwoPass, first, 2); }) == ErrorCode::not_planned);
        });
  }
  library.prepare(f.stream.get(), problem_of(kTwoPass));
  const runtime::Graph graph = runtime::Graph::capture(f.stream, [&] {
    gemm(library, f.stream, kTwoPass, first, 2);
    gemm(library, f.stream, kOther, second, -3);
  });
  DeviceProblem large(problem_of(kLargeTwoPass));
  for (int time = 0; time < 3; ++time) {
    first.poison_c();
    second.poison_c();
    f.context.synchronize();
    graph.launch(f.stream);
    gemm(library, f.stream, kLargeTwoPass, large, 1);  // the stream's workspace grows; the graph keeps the former one
    f.stream.synchronize();
    CHECK(first.max_error(2, 0) == 0);
    CHECK(second.max_error(-3, 0) == 0);
    CHECK(large.max_error(1, 0) == 0);
  }
}

}  // namespace tilesmith::test_gemm
