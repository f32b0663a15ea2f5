// The table of the plans that gemm() keeps.
#include <atomic>
#include <thread>
#include <vector>

#include "runtime/plan/plan_cache.hpp"
#include "tests/catch.hpp"
#include "tests/runtime/planned_family.hpp"

namespace tilesmith::runtime {
namespace {

Problem of_size(std::int64_t m) { return packed_problem({*find_type_pair("f16f32"), {}}, m, 48, 64); }
PlanKey own_key(const Problem& problem) { return key_of(problem, problem.align_bytes, problem.beta); }

}  // namespace

TEST_CASE("each field of a problem makes another key", "[plan_cache]") {
  std::vector<Problem> problems(13, of_size(32));
  problems[1].type = *find_type_pair("bf16f32");
  problems[2].trans.a = true;
  problems[3].trans.b = true;
  problems[4].m = 33;
  problems[5].n = 33;
  problems[6].k = 33;
  problems[7].lda = problems[0].lda + 1;
  problems[8].ldb = problems[0].ldb + 1;
  problems[9].ldc = problems[0].ldc + 1;
  problems[10].align_bytes = 8;
  problems[11].beta = BetaClass::any;
  problems[12].batch = 2;
  problems.push_back(of_size(32));
  problems.back().epilogue.c_apart = true;
  for (const char* epilogue : {"bias_n", "bias_m", "bias_n_f32", "relu", "gelu", "scale_m", "scale_m1", "scale_n", "scale_n1"}) {
    problems.push_back(problems[0]);
    problems.back().epilogue = *parse_epilogue(epilogue);
  }
  problems.push_back(of_size(32));
  problems.back().batch_mode = BatchMode(1);
  problems.push_back(of_size(32));
  problems.back().sparsity = Sparsity(1);
  for (const char* weights : {"s4_g128", "u4_g128", "s4_g64", "s4_column", "s4_g128+zeros", "s4_g128+f32", "e2m1_g128", "nf4_g128"}) {
    problems.push_back(problems[0]);
    problems.back().weights = *parse_weights(weights);
  }
  for (std::int64_t Problem::*stride : {&Problem::stride_a, &Problem::stride_b, &Problem::stride_c}) {
    problems.push_back(batched(of_size(32), 2));
    problems.back().*stride += 8;
  }
  for (std::size_t i = 0; i < problems.size(); ++i) {
    for (std::size_t j = 0; j < problems.size(); ++j) CHECK((own_key(problems[i]) == own_key(problems[j])) == (i == j));
  }
  CHECK(key_of(of_size(32), 4, BetaClass::any).align_bytes == 4);
  problems[0].type.name = "a name longer than any key";
  CHECK_THROWS_AS(own_key(problems[0]), std::invalid_argument);
}

TEST_CASE("a plan is made once and stays where it is while the cache grows", "[plan_cache]") {
  const Fixture f;
  PlanCache cache;
  CHECK(cache.find(own_key(of_size(1))) == nullptr);
  int made = 0;
  const auto ask = [&](std::int64_t m) {
    return &cache.find_or_make(own_key(of_size(m)), [&] {
      ++made;
      return f.plan();
    });
  };
  std::vector<const Plan*> plans;
  for (std::int64_t m = 1; m <= 1000; ++m) plans.push_back(ask(m));
  for (std::int64_t m = 1; m <= 1000; ++m) {
    REQUIRE(ask(m) == plans[std::size_t(m) - 1]);
    REQUIRE(cache.find(own_key(of_size(m))) == plans[std::size_t(m) - 1]);
  }
  CHECK(made == 1000);
  CHECK(cache.find(own_key(of_size(1001))) == nullptr);
  cache.clear();
  CHECK(cache.find(own_key(of_size(1))) == nullptr);
  ask(1);
  CHECK(made == 1001);
}

TEST_CASE("a plan that cannot be made leaves the cache as it was", "[plan_cache]") {
  const Fixture f;
  PlanCache cache;
  const PlanKey key = own_key(of_size(1));
  CHECK_THROWS_AS(cache.find_or_make(key, []() -> Plan { throw std::runtime_error("no kernel"); }), std::runtime_error);
  CHECK(cache.find(key) == nullptr);
  const Plan& plan = cache.find_or_make(key, [&] { return f.plan(); });
  CHECK(cache.find(key) == &plan);
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
        for (std::int64_t m = 1; m <= known; ++m) lost += cache.find(own_key(of_size(m))) == nullptr ? 1 : 0;
      }
    });
  }
  for (std::int64_t m = 1; m <= kPlans; ++m) {
    cache.find_or_make(own_key(of_size(m)), [&] { return f.plan(); });
    added = m;
  }
  for (std::thread& reader : readers) reader.join();
  CHECK(lost == 0);
}

}  // namespace tilesmith::runtime
