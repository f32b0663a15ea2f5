// The library beside another thread's capture, in the mode that is usual and forbids every thread what it does.
#include <exception>
#include <future>
#include <string>

#include "runtime/driver/driver.hpp"
#include "runtime/interface/gemm.hpp"
#include "tests/catch.hpp"
#include "tests/gpu/device_problem.hpp"
#include "tests/gpu/small_store.hpp"

namespace tilesmith::test_captures_beside {
using namespace tilesmith::test;

TEST_CASE("a library and plans are made and released while another thread captures", "[gpu][api]") {
  const runtime::Context context(0);
  const runtime::Stream stream;
  const TempFolder folder;
  LibraryOptions quiet;
  quiet.log_misses = false;
  const char* where = "f16f32 NN 1 264 520";
  {
    const int overlap = context.info().limits.sm >= 90 ? 1 : 0;  // as the family's rules want it
    const Config split(
        "gemv", {{"matrix", 1}, {"shifted", 0}, {"threads", 128}, {"lanes", 8}, {"rows", 1}, {"unroll", 4},
                    {"split_k", 2}, {"cluster", 0}, {"prefetch_bytes", 0}, {"overlap", overlap}, {"early_launch", 0}});
    db::Store store = db::Store::open(folder / "small.db");
    tune_by_hand(store, where, split, context.info());
  }
  GemmPlan captured = Library::without_database(quiet).plan(problem_of("s8s32 TT 45 35 25"));
  captured.reserve_workspace();
  DeviceProblem data(captured.problem());
  data.poison_c();
  context.synchronize();

  const runtime::Driver& driver = runtime::driver();
  std::promise<void> begun, released;
  std::future<CUgraph> other = std::async(std::launch::async, [&] {
    context.make_current();
    const CUresult began = driver.stream_begin_capture(stream.get(), CU_STREAM_CAPTURE_MODE_GLOBAL);
    begun.set_value();
    runtime::check(began, "cuStreamBeginCapture");
    released.get_future().wait();
    captured.run(stream.get(), 2, data.a(), data.b(), 0, data.c());
    CUgraph graph = nullptr;
    runtime::check(driver.stream_end_capture(stream.get(), &graph), "cuStreamEndCapture");
    return graph;
  });
  begun.get_future().wait();
  std::string failed;
  std::size_t workspace_bytes = 0;
  try {
    const Library library = Library::open(folder / "small.db", quiet);
    GemmPlan stored = library.plan(problem_of(where));
    workspace_bytes = stored.workspace_bytes();
    stored.reserve_workspace();
    library.plan(problem_of("f64f64 TN 65 33 17"));  // its kernel is compiled
  } catch (const std::exception& error) {
    failed = error.what();
  }
  released.set_value();
  CHECK(failed.empty());
  CHECK(workspace_bytes > 0);
  CUgraph graph = nullptr;
  REQUIRE_NOTHROW(graph = other.get());
  CUgraphExec runnable = nullptr;
  REQUIRE(driver.graph_instantiate(&runnable, graph, 0) == CUDA_SUCCESS);
  CHECK(driver.graph_launch(runnable, stream.get()) == CUDA_SUCCESS);
  stream.synchronize();
  CHECK(data.max_error(2, 0) == 0);
  driver.graph_exec_destroy(runnable);
  driver.graph_destroy(graph);
}

}  // namespace tilesmith::test_captures_beside
