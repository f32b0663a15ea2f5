#include "db/store/trust.hpp"

#include <string>

#include "kernels/families/plan_hash.hpp"
#include "tests/catch.hpp"
#include "tests/db/sample.hpp"

using namespace tilesmith;
using namespace tilesmith::db;
using namespace tilesmith::db::test;

TEST_CASE(
    "a changed option retires an entry, a changed policy asks for a time, a changed driver or NVRTC for verification") {
  const Environment now = sample_environment();
  CHECK(judge_environment(now, now) == Trust::valid);
  Environment entry = now;
  entry.driver_version = "570";
  CHECK(judge_environment(entry, now) == Trust::reverify);
  entry = now;
  entry.nvrtc_version = "12.6";
  CHECK(judge_environment(entry, now) == Trust::reverify);
  entry = now;
  entry.compiler_options = "-O0";
  CHECK(judge_environment(entry, now) == Trust::retired);
  entry = now;
  entry.measuring_policy = "cold-0";
  CHECK(judge_environment(entry, now) == Trust::remeasure);
  entry.driver_version = "570";
  CHECK(judge_environment(entry, now) == Trust::remeasure);
}

TEST_CASE("an entry is retired exactly where today's plan hash of its config and problem is another") {
  std::string error;
  Record entry = right(10, *Config::parse("simt{block_m=64,block_n=64,block_k=16,thread_m=4,thread_n=4}"),
      *parse_problem("f16f32 NN 64 64 64", error));
  entry.environment.compiler_options = compiler_options_text({entry.task.problem(), *limits_for_arch("sm_90a")});
  Environment now = entry.environment;
  CHECK(judge(entry, now) == Trust::retired);
  entry.plan_hash = plan_hash(entry.config, entry.task.problem(), now.compiler_options);
  CHECK(judge(entry, now) == Trust::valid);
  now.driver_version = "999";
  CHECK(judge(entry, now) == Trust::reverify);
  now.compiler_options = "-O0";
  CHECK(judge(entry, now) == Trust::retired);
  change_problem(entry, [](Problem& problem) { problem.m = 128; });  // other launches
  CHECK(judge(entry, entry.environment) == Trust::retired);
  // What has no plan today rests on none.
  CHECK(judge(right(10), sample_environment()) == Trust::valid);
}

TEST_CASE("a driver that is not known on either side has not changed") {
  const auto judged = [](const char* then, const char* today) {
    Environment entry = sample_environment(), now = sample_environment();
    entry.driver_version = then;
    now.driver_version = today;
    return judge_environment(entry, now);
  };
  CHECK(judged("580.65.06", "CUDA 13.0") == Trust::valid);  // a container without libnvidia-ml
  CHECK(judged("CUDA 13.0", "580.65.06") == Trust::valid);
  CHECK(judged("580.65.06", "") == Trust::valid);
  CHECK(judged("", "580.65.06") == Trust::valid);
  CHECK(judged("CUDA 12.8", "CUDA 13.0") == Trust::reverify);
  CHECK(judged("570.1", "580.65.06") == Trust::reverify);
}
