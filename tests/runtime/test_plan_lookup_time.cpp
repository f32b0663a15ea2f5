// How long gemm() takes to find its plan. Not one of the usual tests, since other work on the machine shows in it (in
// its caches):
//   test_runtime "[.timing]"
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

#include "runtime/interface/run_plan.hpp"
#include "runtime/interface/tilesmith.h"
#include "runtime/plan/plan_cache.hpp"
#include "tests/catch.hpp"
#include "tests/runtime/library_fixture.hpp"
#include "tests/runtime/planned_family.hpp"

namespace tilesmith::runtime {
namespace {

constexpr int kRounds = 5;

/// Of the calling thread: time in which another process had the processor is not counted, and a look-up waits for
/// nothing else.
double processor_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return double(now.tv_sec) * 1e9 + double(now.tv_nsec);
}

/// Nanoseconds a call, of so many threads that call at the same time: the median over rounds of the slowest thread.
template <typename Call>
double median_ns(int threads, int calls, Call&& call) {
  std::vector<double> rounds;
  for (int round = 0; round < kRounds; ++round) {
    std::vector<double> each(std::size_t(threads), 0);
    std::vector<std::thread> running;
    for (int t = 0; t < threads; ++t) {
      running.emplace_back([&, t] {
        call(t);
        const double start = processor_ns();
        for (int i = 0; i < calls; ++i) call(t + i);
        each[std::size_t(t)] = (processor_ns() - start) / calls;
      });
    }
    for (std::thread& thread : running) thread.join();
    rounds.push_back(*std::max_element(each.begin(), each.end()));
  }
  std::nth_element(rounds.begin(), rounds.begin() + kRounds / 2, rounds.end());
  return rounds[kRounds / 2];
}

}  // namespace

TEST_CASE("a plan is found in at most 200 ns, by several threads at a time too", "[.timing]") {
  const Fixture f;
  PlanCache cache;
  std::vector<Problem> problems;
  for (int i = 0; i < 1000; ++i) problems.push_back(packed_problem({*find_type_pair("f16f32"), {}}, 1 + i, 48, 64));
  for (const Problem& problem : problems) {
    cache.find_or_make(problem, [&] { return f.plan(); });
  }
  const auto look_up = [&](int i) {
    const Problem& problem = problems[std::size_t(i * 7) % problems.size()];
    Problem asked = problem;
    asked.align_bytes = align_bytes_of(problem, {1, f.args.matrices[OperandRole::a], f.args.matrices[OperandRole::b], 0,
                                                    nullptr, f.args.matrices[OperandRole::d]});
    if (cache.find(canonical(asked)) == nullptr) std::abort();
  };
  for (const int threads : {1, 2, 4}) {
    const double ns = median_ns(threads, 500'000, look_up);
    std::printf("look-up among 1000 plans, %d threads: %.0f ns\n", threads, ns);
    CHECK(ns <= 200);
  }
}

TEST_CASE("what a call of gemm() takes but for the launch", "[.timing]") {
  const fake::LibraryFixture fixture;
  Driver table = driver();
  table.launch_kernel = [](CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, CUstream,
                            void**, void**) { return CUDA_SUCCESS; };
  const ScopedDriver scoped(table);
  tilesmith_library* library = nullptr;
  const tilesmith_problem c_problem = TILESMITH_PROBLEM_OF("f16f32", "NN", 512, 512, 512);
  REQUIRE(tilesmith_open(fixture.small_database().c_str(), 0, &library) == TILESMITH_OK);
  const Library cpp_library = Library::open(fixture.path("small.db"), fake::stored_only());
  const Problem problem = fixture.problem("f16f32 NN 512 512 512");
  const GemmPlan plan = cpp_library.plan(problem);
  const void *a = fake::address(0x10000000), *b = fake::address(0x20000000);
  void* c = fake::writable(0x30000000);
  const tilesmith_run run_in_c = {sizeof run_in_c, nullptr, {a, b, nullptr, c}};
  for (const int threads : {1, 2, 4}) {
    const double run = median_ns(threads, 200'000, [&](int) { plan.run(nullptr, 1, a, b, 0, c); });
    const double cpp = median_ns(threads, 200'000, [&](int) { cpp_library.gemm(nullptr, problem, 1, a, b, 0, c); });
    const double in_c =
        median_ns(threads, 200'000, [&](int) { tilesmith_gemm(library, nullptr, &c_problem, &run_in_c); });
    std::printf("%d threads: run() %.0f ns, gemm() %.0f ns, tilesmith_gemm() %.0f ns\n", threads, run, cpp, in_c);
  }
  tilesmith_close(library);
}

}  // namespace tilesmith::runtime
