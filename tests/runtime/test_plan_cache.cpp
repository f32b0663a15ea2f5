// The table of the plans that gemm() keeps.
#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "runtime/plan/plan_cache.hpp"
#include "tests/catch.hpp"
#include "tests/problem_of_text.hpp"
#include "tests/runtime/planned_family.hpp"

namespace tilesmith::runtime {
namespace {

Problem of_size(std::int64_t m) { return packed_problem({*find_type_pair("f16f32"), {}}, m, 48, 64); }

}  // namespace

TEST_CASE("problems that differ in an option alone have plans of their own", "[plan_cache]") {
  const Fixture f;
  PlanCache cache;
  std::vector<Problem> problems;
  for (const char* options : {"", " align=8", " beta=any", " lda=80", " batch=2 batch_mode=strided",
           " batch=2 batch_mode=strided stride_b=0", " batch=2 batch_mode=pointers", " batch=2 batch_mode=grouped",
           " beta=any epilogue=c_apart", " epilogue=bias_n", " epilogue=bias_n_f32", " epilogue=scale_m",
           " epilogue=scale_m1", " epilogue=relu", " scalars=device", " sparsity=a_2to4", " sparsity=b_2to4",
           " weights=s4_g32", " weights=s4_g64", " weights=s4_g64+f32", " weights=u4_g64+zeros"}) {
    problems.push_back(tests::problem_of_text(std::string("f16f32f16 NT 32 48 64") + options));
    CHECK(cache.find(problems.back()) == nullptr);
    cache.find_or_make(problems.back(), [&] { return f.plan(); });
  }
  for (const Problem& problem : problems) CHECK(cache.find(problem) != nullptr);
}

TEST_CASE("a plan is made once and stays where it is while the cache grows", "[plan_cache]") {
  const Fixture f;
  PlanCache cache;
  CHECK(cache.find(of_size(1)) == nullptr);
  int made = 0;
  const auto ask = [&](std::int64_t m) {
    return &cache.find_or_make(of_size(m), [&] {
      ++made;
      return f.plan();
    });
  };
  std::vector<const Plan*> plans;
  for (std::int64_t m = 1; m <= 1000; ++m) plans.push_back(ask(m));
  for (std::int64_t m = 1; m <= 1000; ++m) {
    REQUIRE(ask(m) == plans[std::size_t(m) - 1]);
    REQUIRE(cache.find(of_size(m)) == plans[std::size_t(m) - 1]);
  }
  CHECK(made == 1000);
  CHECK(cache.find(of_size(1001)) == nullptr);
  cache.clear();
  CHECK(cache.find(of_size(1)) == nullptr);
  ask(1);
  CHECK(made == 1001);
}

TEST_CASE("a plan that cannot be made leaves the cache as it was", "[plan_cache]") {
  const Fixture f;
  PlanCache cache;
  const Problem problem = of_size(1);
  CHECK_THROWS_AS(
      cache.find_or_make(problem, []() -> Plan { throw std::runtime_error("no kernel"); }), std::runtime_error);
  CHECK(cache.find(problem) == nullptr);
  const Plan& plan = cache.find_or_make(problem, [&] { return f.plan(); });
  CHECK(cache.find(problem) == &plan);
}

TEST_CASE("threads find plans while others are added", "[plan_cache]") {
  const Fixture f;
  PlanCache cache;
  constexpr std::int64_t kPlans = 500;
  std::atomic<std::int64_t> added{0};
  std::atomic<int> lost{0};
  std::vector<std::thread> readers;
  for (int i = 0; i < 3; ++i) {
    readers.emplace_back([&] {
      for (std::int64_t known = 0; known < kPlans;) {
        known = added.load();
        for (std::int64_t m = 1; m <= known; ++m) lost += cache.find(of_size(m)) == nullptr ? 1 : 0;
      }
    });
  }
  for (std::int64_t m = 1; m <= kPlans; ++m) {
    cache.find_or_make(of_size(m), [&] { return f.plan(); });
    added = m;
  }
  for (std::thread& reader : readers) reader.join();
  CHECK(lost == 0);
}

}  // namespace tilesmith::runtime
