// Groups of rows through the library on a device, against sums of f64 on the host.
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "kernels/problem/group_ends.hpp"
#include "kernels/problem/operand.hpp"
#include "runtime/driver/driver.hpp"
#include "runtime/interface/gemm.hpp"
#include "runtime/interface/tilesmith.h"
#include "tests/catch.hpp"
#include "tests/gpu/device_problem.hpp"
#include "tests/gpu/small_store.hpp"

namespace tilesmith::test_grouped {
using namespace tilesmith::test;

namespace {

/// Operands of a grouped problem, of small integers; D holds 0xff where nothing was written.
class DeviceGroups {
 public:
  explicit DeviceGroups(const Problem& of)
      : problem(of),
        a_(values(operand(of, OperandRole::a), 1)),
        b_(values(operand(of, OperandRole::b), 2)),
        a(upload(a_, of.type.a)),
        b(upload(b_, of.type.b)),
        d(std::size_t(of.c_bytes())),
        offsets(std::size_t(of.batch) * 4) {}

  void give(const std::vector<std::int32_t>& ends) {
    ends_ = ends;
    offsets.upload(std::as_bytes(std::span<const std::int32_t>(ends_)));
    d.fill(0xff);
  }

  /// Of A times each group's B; rows of no group count as wrong where they changed.
  double max_error() const {
    std::vector<std::byte> raw(d.size());
    d.download(raw);
    const std::size_t bytes = size_bytes(problem.type.output);
    std::vector<bool> is_written(raw.size() / bytes, false);
    double worst = 0;
    const std::vector<GroupRows> groups = rows_of_groups(ends_, problem.m);
    for (std::size_t g = 0; g < groups.size(); ++g) {
      for (std::int64_t i = groups[g].begin; i < groups[g].end; ++i) {
        for (std::int64_t j = 0; j < problem.n; ++j) {
          double sum = 0;
          for (std::int64_t k = 0; k < problem.k; ++k) {
            const std::int64_t in_b =
                std::int64_t(g) * problem.stride_b + (problem.trans.b ? j * problem.ldb + k : k * problem.ldb + j);
            sum += double(a_[std::size_t(i * problem.lda + k)] * b_[std::size_t(in_b)]);
          }
          const auto at = std::size_t(i * problem.ldc + j);
          is_written[at] = true;
          const double error = std::abs(load_output(problem.type.output, raw.data() + at * bytes) - sum);
          if (!(error <= worst)) worst = std::isnan(error) ? INFINITY : error;
        }
      }
    }
    for (std::size_t byte = 0; byte < raw.size(); ++byte) {
      if (!is_written[byte / bytes] && raw[byte] != std::byte{0xff}) return INFINITY;
    }
    return worst;
  }

  Operands operands() const {
    Operands run;
    run.a = a.data();
    run.b = b.data();
    run.d = d.data();
    run.offsets = offsets.data();
    return run;
  }

  Problem problem;

 private:
  static std::vector<int> values(const OperandMatrix& of, std::uint32_t seed) {
    std::vector<int> made(std::size_t(of.bytes()) / size_bytes(of.element));
    std::uint32_t state = seed * 2654435761u;
    for (int& value : made) {
      state = state * 1664525u + 1013904223u;
      value = int((state >> 16) % 3);
    }
    return made;
  }
  static runtime::DeviceBuffer upload(const std::vector<int>& values, Scalar element) {
    std::vector<std::byte> raw(values.size() * size_bytes(element));
    for (std::size_t i = 0; i < values.size(); ++i)
      store_integer(element, raw.data() + i * size_bytes(element), values[i]);
    runtime::DeviceBuffer buffer(raw.size());
    buffer.upload(raw);
    return buffer;
  }

  std::vector<int> a_, b_;
  std::vector<std::int32_t> ends_;

 public:
  runtime::DeviceBuffer a, b, d, offsets;
};

Library quiet_library() {
  LibraryOptions quiet;
  quiet.log_misses = false;
  return Library::without_database(quiet);
}

}  // namespace

TEST_CASE("gemm() multiplies each group's rows by its B, whatever their ends, and writes no other row",
    "[gpu][api][groups]") {
  const runtime::Context context(0);
  const runtime::Stream stream;
  const Library library = quiet_library();
  for (const char* where : {"bf16f32bf16 NN 300 136 64 batch=4 batch_mode=grouped",
           "f16f32 NT 200 72 40 batch=4 stride_b=0 batch_mode=grouped", "f64f64 NN 50 33 17 batch=4 batch_mode=grouped",
           "s8s32 NN 130 64 32 batch=4 batch_mode=grouped"}) {
    DeviceGroups groups(problem_of(where));
    const auto m = std::int32_t(groups.problem.m);
    for (const std::vector<std::int32_t>& ends : {std::vector<std::int32_t>{m / 4, m / 2, m - 1, m}, {0, 7, 7, m / 3},
             {0, 0, m, m}, {0, 0, 0, 0}, {1, 2, 3, 4}}) {
      INFO(where << ", ends " << ends[0] << " " << ends[1] << " " << ends[2] << " " << ends[3]);
      groups.give(ends);
      library.gemm(stream.get(), groups.problem, groups.operands());
      stream.synchronize();
      CHECK(groups.max_error() == 0);
    }
  }
}

TEST_CASE(
    "a graph that was captured once multiplies by the ends that it finds when it is replayed", "[gpu][api][groups]") {
  const runtime::Context context(0);
  const runtime::Stream stream;
  const Library library = quiet_library();
  DeviceGroups groups(problem_of("bf16f32bf16 NN 256 128 64 batch=3 batch_mode=grouped"));
  groups.give({10, 20, 30});
  library.prepare(stream.get(), groups.problem);
  const runtime::Driver& driver = runtime::driver();
  CUgraph graph = nullptr;
  CUgraphExec exec = nullptr;
  runtime::check(driver.stream_begin_capture(stream.get(), CU_STREAM_CAPTURE_MODE_GLOBAL), "cuStreamBeginCapture");
  library.gemm(stream.get(), groups.problem, groups.operands());
  runtime::check(driver.stream_end_capture(stream.get(), &graph), "cuStreamEndCapture");
  runtime::check(driver.graph_instantiate(&exec, graph, 0), "cuGraphInstantiateWithFlags");
  for (const std::vector<std::int32_t>& ends :
      {std::vector<std::int32_t>{10, 20, 30}, {0, 200, 256}, {255, 255, 256}}) {
    groups.give(ends);
    runtime::check(driver.graph_launch(exec, stream.get()), "cuGraphLaunch");
    stream.synchronize();
    CHECK(groups.max_error() == 0);
  }
  runtime::check(driver.graph_exec_destroy(exec), "cuGraphExecDestroy");
  runtime::check(driver.graph_destroy(graph), "cuGraphDestroy");
}

TEST_CASE("wrong ends write nothing outside their groups, and the next call says so once", "[gpu][api][groups]") {
  const runtime::Context context(0);
  const runtime::Stream stream;
  const Library library = quiet_library();
  DeviceGroups groups(problem_of("bf16f32bf16 NN 160 72 32 batch=4 batch_mode=grouped"));
  const auto run = [&] {
    library.gemm(stream.get(), groups.problem, groups.operands());
    stream.synchronize();
  };
  for (const auto& [ends, wrong] : {std::pair{std::vector<std::int32_t>{40, 20, 90, 160}, "group 1 "},
           {{10, 20, 30, 161}, "group 3 "}, {{-5, 20, 30, 40}, "group 0 "}}) {
    groups.give(ends);
    run();
    CHECK(groups.max_error() == 0);
    groups.give({1, 2, 3, 4});
    try {
      run();
      FAIL("expected an error");
    } catch (const Error& error) {
      CHECK(error.code() == ErrorCode::bad_argument);
      CHECK(std::string(error.what()).find(wrong) != std::string::npos);
    }
    run();
    CHECK(groups.max_error() == 0);
  }
}

TEST_CASE("groups are right in C, and without offsets refused", "[gpu][api][groups]") {
  const runtime::Context context(0);
  const runtime::Stream stream;
  DeviceGroups groups(problem_of("bf16f32bf16 NT 96 40 32 batch=3 batch_mode=grouped"));
  groups.give({5, 50, 90});
  tilesmith_library* library = nullptr;
  REQUIRE(tilesmith_open(nullptr, 0, &library) == TILESMITH_OK);
  tilesmith_problem in_c = TILESMITH_PROBLEM_OF("bf16f32bf16", "NT", 96, 40, 32);
  in_c.batch_mode = TILESMITH_GROUPED;
  in_c.batch = 3;
  tilesmith_run run = {sizeof run, nullptr, {groups.a.data(), groups.b.data(), nullptr, groups.d.data()}};
  CHECK(tilesmith_gemm(library, stream.get(), &in_c, &run) == TILESMITH_BAD_ARGUMENT);
  run.operands[TILESMITH_OFFSETS] = groups.offsets.data();
  CHECK(tilesmith_gemm(library, stream.get(), &in_c, &run) == TILESMITH_OK);
  stream.synchronize();
  CHECK(groups.max_error() == 0);
  tilesmith_close(library);
}

}  // namespace tilesmith::test_grouped
