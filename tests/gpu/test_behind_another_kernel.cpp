// Times of short launches as an application sees them, behind a kernel that is not ours, beside those of rows of their
// like.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "runtime/compile/compiler.hpp"
#include "runtime/driver/device.hpp"
#include "runtime/plan/plan.hpp"
#include "tests/catch.hpp"
#include "tuner/measure/cublaslt_peer.hpp"
#include "tuner/measure/helper_kernels.hpp"
#include "tuner/measure/random_fill.hpp"
#include "tuner/measure/stopwatch.hpp"

namespace tilesmith::test_behind_another_kernel {

namespace {

tuner::TimingPolicy in_rows() {
  tuner::TimingPolicy policy;
  policy.before = tuner::Before::like_launch;
  return policy;
}

/// A plan of a config, or of the generic one, with what it is timed on.
class Timed {
 public:
  Timed(const runtime::Context& context, const Problem& problem, const std::string& config_text = "")
      : random_(context), operands_(random_, problem) {
    const KernelTarget target{problem, context.info().limits};
    const Config config = config_text.empty() ? generic_config(target) : Config::parse(config_text).value();
    INFO(config.text());
    REQUIRE_FALSE(illegal_because(*find_family(config.family()), config, target));
    const db::KernelBuild build = runtime::compile(config, target);
    INFO(build.message);
    REQUIRE(build.status == db::Status::ok);
    plan_ = std::make_unique<runtime::Plan>(std::make_shared<const runtime::Module>(build.cubin), config, problem);
    workspace_ = runtime::DeviceBuffer(std::max<std::size_t>(plan_->workspace_bytes(), 256));
  }
  const tuner::OperandSets& operands() const { return operands_; }
  tuner::Rotation& rotation() const { return operands_.rotation(); }
  tuner::Competitor competitor() const { return tuner::Stopwatch::competitor(*plan_, operands_, workspace_.data()); }

 private:
  tuner::RandomFill random_;
  tuner::OperandSets operands_;
  std::unique_ptr<runtime::Plan> plan_;
  runtime::DeviceBuffer workspace_;
};

Problem f16f32(std::int64_t m, std::int64_t n, std::int64_t k) {
  return packed_problem({*find_type_pair("f16f32"), {}}, m, n, k);
}

std::string mma_config(int early_launch) {
  return "mma{inst_k=16,block_m=64,block_n=64,warp_m=32,warp_n=32,swap=0,block_k=32,stages=3,slice_k=1,frag_buffers=2,min_blocks=1,"
         "group_m=1,persistent=0,store_staged=0,split_k=1,reduction=0,copy_bytes=16,tma=0,pack=0,pack_k_major=0,overlap=0,"
         "early_launch=" +
         std::to_string(early_launch) + "}";
}

constexpr const char* kWaitSource = R"(
extern "C" __global__ void wait_ns(unsigned long long ns) {
  unsigned long long start, now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(start));
  do {
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  } while (now - start < ns);
}
)";

}  // namespace

TEST_CASE("a kernel of known duration takes that and a launch behind another kernel, whose own time is taken off",
    "[stopwatch]") {
  const runtime::Context context(0);
  tuner::Stopwatch behind(context), rows(context, in_rows());
  const runtime::Module module = tuner::load_helper(context, kWaitSource, "wait_ns");
  CUfunc_st* const kernel = module.function("wait_ns", 0);
  for (const unsigned long long ns : {8000ull, 20000ull}) {
    const tuner::Competitor waiting{"wait", [&](int, const runtime::Stream& stream) {
                                      unsigned long long value = ns;
                                      void* parameters[] = {&value};
                                      const unsigned one[3] = {1, 1, 1};
                                      runtime::launch(kernel, one, one, 0, stream, parameters);
                                    }};
    tuner::Rotation rotation(4);
    const db::Timing found = behind.time(waiting, rotation).timing.value();
    const db::Timing in_row = rows.time(waiting, rotation).timing.value();
    INFO(ns << " ns: " << found.median_us << " us behind another kernel, " << in_row.median_us << " in a row");
    CHECK(found.median_us * found.drift >= double(ns) / 1e3 - 1);  // the timer counts in steps of up to a microsecond
    CHECK(found.median_us * found.drift <= double(ns) / 1e3 + 4);
    CHECK(std::abs(found.median_us - in_row.median_us) < 1.5);  // that kernel's 2 µs and more are not in it
    CHECK(found.spread < 0.1);
  }
}

TEST_CASE("a GEMM that has hardly anything to do has a time above 0, and so has the peer", "[stopwatch]") {
  const runtime::Context context(0);
  const Timed tiny(context, f16f32(16, 16, 16));
  tuner::Stopwatch stopwatch(context);
  const db::Outcome outcome = stopwatch.time(tiny.competitor(), tiny.rotation());
  INFO(outcome.message);
  REQUIRE(outcome.timing);
  CHECK(outcome.timing->median_us > 0.3);
  CHECK(outcome.timing->median_us < 30);
  CHECK(outcome.timing->spread < 0.2);

  std::optional<tuner::CublasLtPeer> peer;
  try {
    peer.emplace(context);
  } catch (const std::runtime_error& error) {
    WARN("cuBLASLt is not here, its part was left out: " << error.what());
    return;
  }
  std::vector<tuner::Competitor> competitors = peer->competitors(tiny.operands());
  REQUIRE_FALSE(competitors.empty());
  competitors.resize(1);
  competitors.push_back(tiny.competitor());
  for (const db::Outcome& played : stopwatch.final_benchmark(competitors, tiny.rotation())) {
    INFO(played.message);
    REQUIRE(played.timing);
    CHECK(played.timing->median_us > 0.3);
    CHECK(played.timing->median_us < 30);
  }
}

TEST_CASE("an early launch gains in a row of its like, and behind another kernel it does not", "[stopwatch]") {
  const runtime::Context context(0);
  if (context.info().limits.sm < 90) {
    WARN("this device launches nothing early: nothing was compared");
    return;
  }
  const Problem problem = f16f32(512, 512, 512);
  const Timed early(context, problem, mma_config(1)), late(context, problem, mma_config(0));
  tuner::Stopwatch behind(context), rows(context, in_rows());
  const std::vector<tuner::Competitor> both{early.competitor(), late.competitor()};
  const auto times = [&](tuner::Stopwatch& stopwatch) {
    std::vector<double> us;
    for (const db::Outcome& outcome : stopwatch.final_benchmark(both, early.rotation()))
      us.push_back(outcome.timing.value().median_us);
    return us;
  };
  const std::vector<double> in_row = times(rows), after_another = times(behind);
  INFO("in a row " << in_row[0] << " early and " << in_row[1] << " us; behind another kernel " << after_another[0]
                   << " and " << after_another[1]);
  CHECK(in_row[0] < 0.95 * in_row[1]);
  CHECK(after_another[0] > 0.97 * after_another[1]);
  CHECK(after_another[0] > in_row[0]);
}

TEST_CASE("single times and final benchmarks behind another kernel agree", "[stopwatch]") {
  const runtime::Context context(0);
  const Timed plan(context, f16f32(256, 256, 256));
  tuner::Stopwatch stopwatch(context);
  const double alone_us = stopwatch.time(plan.competitor(), plan.rotation()).timing.value().median_us;
  const std::vector<tuner::Competitor> two{plan.competitor(), plan.competitor()};
  for (const db::Outcome& outcome : stopwatch.final_benchmark(two, plan.rotation())) {
    INFO(alone_us << " us alone, " << outcome.timing.value().median_us << " in a final benchmark");
    CHECK(std::abs(outcome.timing->median_us / alone_us - 1) < 0.05);
  }
}

}  // namespace tilesmith::test_behind_another_kernel
