// Where the first launch of a plan comes early: in streams behind anything, in captured ones, if asked for, behind a
// plan that lets it.
#include <cuda.h>

#include <thread>

#include "tests/catch.hpp"
#include "tests/runtime/planned_family.hpp"

namespace tilesmith::runtime {
namespace {

/// A plan of two launches; what they overlap is set before each run.
class Early : public Fixture {
 public:
  Early() {
    sequence().launches.push_back(launch());
    launch(0).overlaps_previous = launch(1).overlaps_previous = true;
    args.early_in_graphs = true;
  }

  /// Whether the first launch came early. The second overlaps it whatever comes before.
  bool runs_early() {
    REQUIRE(plan().run(args) == 0);
    const auto& launches = fake::state().launches;
    REQUIRE(launches.size() >= 2);
    CHECK(launches.back().overlaps);
    return launches[launches.size() - 2].overlaps;
  }

  static fake::Capture& capture() { return fake::state().capture; }
  static void begin_capture(cuuint64_t id) { capture() = {CU_STREAM_CAPTURE_STATUS_ACTIVE, id, {}, 0}; }
};

}  // namespace

TEST_CASE("in a stream a plan's first launch comes early whatever it comes behind, at one call more") {
  Early f;
  const Plan plan = f.plan();
  fake::state().calls.clear();
  CHECK(plan.run(f.args) == 0);
  CHECK(fake::state().calls ==
        std::vector<std::string>{"stream_get_capture_info", "launch_kernel_ex", "launch_kernel_ex"});
  CHECK(f.runs_early());
}

TEST_CASE(
    "in a graph a plan's first launch does not come early unless it is asked for, and nothing is asked of the order") {
  Early f;
  f.args.early_in_graphs = false;
  f.begin_capture(7);
  CHECK_FALSE(f.runs_early());
  fake::state().calls.clear();
  const Plan plan = f.plan();
  fake::state().calls.clear();
  CHECK(plan.run(f.args) == 0);
  CHECK_FALSE(fake::state().launches.at(2).overlaps);
  CHECK(
      fake::state().calls == std::vector<std::string>{"stream_get_capture_info", "launch_kernel", "launch_kernel_ex"});
}

TEST_CASE(
    "in a graph a plan's first launch comes early right behind a plan that lets it, and not behind anything else") {
  Early f;
  f.begin_capture(7);
  CHECK_FALSE(f.runs_early());  // behind nothing
  CHECK(f.runs_early());
  CHECK(f.runs_early());
  f.capture().add_node();
  CHECK_FALSE(f.runs_early());  // another kernel, a copy, ...
  CHECK(f.runs_early());

  const CUgraphNode last = f.capture().behind.front();
  f.capture().behind.push_back(reinterpret_cast<CUgraphNode>(0x99));
  CHECK_FALSE(f.runs_early());  // streams that join
  f.capture().behind = {last};
  CHECK_FALSE(f.runs_early());  // a former one, as of a stream that forked there

  f.launch(0).overlaps_previous = false;
  CHECK_FALSE(f.runs_early());
  f.launch(0).overlaps_previous = true;
  CHECK_FALSE(f.runs_early());  // behind a plan that does not let it
}

TEST_CASE("the nodes of another capture are not taken for this one's") {
  Early f;
  f.begin_capture(7);
  CHECK_FALSE(f.runs_early());
  const CUgraphNode last = f.capture().behind.front();
  f.begin_capture(8);
  f.capture().behind = {last};
  CHECK_FALSE(f.runs_early());
}

TEST_CASE("what the driver does not tell of a stream is taken for what does not pay") {
  Early f;
  fake::state().failures["stream_get_capture_info"] = CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
  CHECK_FALSE(f.runs_early());
  CHECK_FALSE(f.runs_early());
  fake::state().failures.clear();
  f.begin_capture(7);
  CHECK_FALSE(f.runs_early());
  f.capture().status = CU_STREAM_CAPTURE_STATUS_INVALIDATED;
  CHECK_FALSE(f.runs_early());
  f.capture().status = CU_STREAM_CAPTURE_STATUS_ACTIVE;
  CHECK(f.runs_early());
}

TEST_CASE("a stream that a capture has joined, and another thread, do not come early behind what this one captured") {
  Early f;
  f.begin_capture(7);
  CHECK_FALSE(f.runs_early());
  const CUgraphNode last = f.capture().behind.front();
  f.args.stream = reinterpret_cast<CUstream>(0x77);
  CHECK_FALSE(f.runs_early());
  CHECK(f.runs_early());
  f.args.stream = nullptr;
  f.capture().behind = {last};
  CHECK_FALSE(f.runs_early());

  const Plan plan = f.plan();
  int result = -1;
  std::thread([&] { result = plan.run(f.args); }).join();
  CHECK(result == 0);
  const auto& launches = fake::state().launches;
  CHECK_FALSE(launches[launches.size() - 2].overlaps);
}

}  // namespace tilesmith::runtime
