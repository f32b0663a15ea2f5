// The stopwatch on a real device: that a time means what it says.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>

#include "runtime/compiler.hpp"
#include "runtime/device.hpp"
#include "runtime/plan.hpp"
#include "tests/catch.hpp"
#include "tuner/measure/helper_kernels.hpp"
#include "tuner/measure/random_fill.hpp"
#include "tuner/measure/stopwatch.hpp"

using namespace tilesmith;

namespace {

// One thread waits for so many nanoseconds: a kernel whose duration is known.
constexpr const char* kWaitSource = R"(
extern "C" __global__ void wait_ns(unsigned long long ns) {
  unsigned long long start, now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(start));
  do {
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  } while (now - start < ns);
}
)";

class Waiter {
 public:
  explicit Waiter(const runtime::Context& context) : module_(tuner::load_helper(context, kWaitSource, "wait_ns")), kernel_(module_.function("wait_ns", 0)) {}
  tuner::Contender contender(unsigned long long ns) {
    return {"wait", [this, ns](int, const runtime::Stream& stream) {
              unsigned long long value = ns;
              void* parameters[] = {&value};
              const unsigned one[3] = {1, 1, 1};
              runtime::launch(kernel_, one, one, 0, stream, parameters);
            }};
  }

 private:
  runtime::Module module_;
  CUfunc_st* kernel_;
};

}  // namespace

TEST_CASE("a kernel of known duration is timed right, short in a graph and long alone", "[stopwatch]") {
  const runtime::Context context(0);
  tuner::Stopwatch stopwatch(context);
  Waiter waiter(context);
  for (const unsigned long long ns : {20000ull, 400000ull, 3000000ull}) {
    const db::Timing timing = stopwatch.time(waiter.contender(ns), 4);
    INFO(ns << " ns: " << timing.median_us << " us");
    // The waiting does not follow the SM clock, so drift is undone; a launch adds a few microseconds.
    const double measured_us = timing.median_us * timing.drift;
    if (ns > 100000) CHECK(timing.drift == 1);  // of long launches without an anchor none is divided out
    CHECK(measured_us >= double(ns) / 1e3 - 1.5);
    CHECK(measured_us <= double(ns) / 1e3 * 1.02 + 8);
    CHECK(timing.samples >= 3);
    CHECK(timing.spread >= 0);
    CHECK(timing.spread < 0.2);
  }
}

TEST_CASE("a clearly slower candidate is given up early, and its time is still true", "[stopwatch]") {
  const runtime::Context context(0);
  tuner::Stopwatch stopwatch(context);
  Waiter waiter(context);
  const db::Timing timing = stopwatch.time(waiter.contender(1000000), 4, 100);
  CHECK(timing.samples <= 3);
  CHECK(timing.median_us > 900);
}

TEST_CASE("a long launch beside an anchor has a time on its scale, a short one has not", "[stopwatch]") {
  const runtime::Context context(0);
  tuner::Stopwatch stopwatch(context);
  Waiter waiter(context);
  // Of 600 µs it is said that they are 300: all is half as long, and the drift is 2.
  const std::optional<tuner::Anchor> anchor{{waiter.contender(600000), 300}};
  const db::Timing timing = stopwatch.time(waiter.contender(400000), 4, 0, anchor);
  CHECK(timing.median_us == Approx(200).epsilon(0.03));
  CHECK(timing.drift == Approx(2).epsilon(0.03));
  CHECK(timing.samples >= 3);
  const db::Timing slow = stopwatch.time(waiter.contender(2000000), 4, 300, anchor);
  CHECK(slow.samples <= 3);
  CHECK(slow.median_us == Approx(1000).epsilon(0.03));

  const std::optional<tuner::Anchor> short_anchor{{waiter.contender(600000), 20}};
  const db::Timing alone = stopwatch.time(waiter.contender(400000), 4, 0, short_anchor);
  CHECK(alone.median_us > 350);

  const std::vector<tuner::Contender> two{waiter.contender(400000), waiter.contender(600000)};
  const std::vector<db::Timing> played = stopwatch.play_off(two, 4, tuner::KnownTime{1, 300});
  CHECK(played.at(0).median_us == Approx(200).epsilon(0.03));
  CHECK(played.at(1).median_us == Approx(300));
  CHECK(played.at(1).drift == Approx(2).epsilon(0.03));
}

TEST_CASE("a play-off orders contenders that differ by a few percent, in the order of the arguments", "[stopwatch]") {
  const runtime::Context context(0);
  tuner::Stopwatch stopwatch(context);
  Waiter waiter(context);
  const std::vector<tuner::Contender> contenders{waiter.contender(215000), waiter.contender(200000), waiter.contender(260000)};
  const std::vector<db::Timing> timings = stopwatch.play_off(contenders, 4);
  REQUIRE(timings.size() == 3);
  CHECK(timings[1].median_us < timings[0].median_us);
  CHECK(timings[0].median_us < timings[2].median_us);
  for (const db::Timing& timing : timings) CHECK(timing.samples >= 15);
}

TEST_CASE("a plan is timed on operand sets that exceed twice the L2", "[stopwatch]") {
  const runtime::Context context(0);
  const Problem problem = packed_problem(*find_type_pair("f16f32"), {}, 512, 512, 512);
  const tuner::OperandSets operands(context, problem);
  const double set_bytes = double(problem.a_bytes() + problem.b_bytes() + problem.c_bytes());
  CHECK(operands.count() * set_bytes > 2.0 * double(context.info().identity.l2_bytes) * 0.95);

  const KernelTarget target{problem.type, problem.trans, context.info().limits};
  const Config config = generic_config(target);
  const db::KernelBuild build = runtime::compile(config, target);
  REQUIRE(build.status == db::Status::ok);
  const runtime::Plan plan(std::make_shared<const runtime::Module>(build.cubin), config, problem);
  runtime::DeviceBuffer workspace(std::max<std::size_t>(plan.workspace_bytes(), 256));
  tuner::Stopwatch stopwatch(context);
  const tuner::Contender contender = tuner::Stopwatch::contender(plan, operands, workspace.data());
  const db::Timing first = stopwatch.time(contender, operands.count());
  const db::Timing second = stopwatch.time(contender, operands.count());
  CHECK(first.median_us > 1);
  CHECK(std::abs(first.median_us / second.median_us - 1) < 0.1);
  CHECK(first.drift == Approx(1).margin(0.2));
}

TEST_CASE("a contender that cannot be launched throws", "[stopwatch]") {
  const runtime::Context context(0);
  tuner::Stopwatch stopwatch(context);
  const tuner::Contender broken{"broken", [](int, const runtime::Stream&) { throw runtime::DeviceError(1, "cannot be launched"); }};
  CHECK_THROWS_AS(stopwatch.time(broken, 2), runtime::DeviceError);
}

TEST_CASE("operands are random, of full entropy, and as aligned as the problem says", "[stopwatch]") {
  const runtime::Context context(0);
  Problem problem = packed_problem(*find_type_pair("f16f32"), {}, 128, 128, 128);
  problem.align_bytes = 2;
  const tuner::OperandSets operands(context, problem);
  REQUIRE(operands.count() >= 2);
  for (int set : {0, 1}) {
    CHECK(reinterpret_cast<std::uintptr_t>(operands.a(set)) % 4 == 2);
    CHECK(reinterpret_cast<std::uintptr_t>(operands.c(set)) % 8 == 4);  // f32 elements stay on whole elements
  }

  runtime::DeviceBuffer buffer(1 << 16);
  tuner::RandomFill random(context);
  const runtime::Stream stream;
  const auto fill = [&](Scalar type, std::uint64_t seed) {
    random.fill(buffer, 0, type, seed, stream);
    stream.synchronize();
    std::vector<std::byte> bytes(buffer.size());
    buffer.download(bytes);
    return bytes;
  };
  const std::vector<std::byte> floats = fill(Scalar::f32, 1);
  double sum = 0, largest = 0;
  std::set<float> distinct;
  for (std::size_t i = 0; i < floats.size(); i += 4) {
    float value;
    std::memcpy(&value, &floats[i], 4);
    sum += value;
    largest = std::max(largest, std::abs(double(value)));
    distinct.insert(value);
  }
  const double count = double(floats.size()) / 4;
  CHECK(largest <= 1);
  CHECK(largest > 0.99);
  CHECK(std::abs(sum / count) < 0.03);
  CHECK(double(distinct.size()) > 0.99 * count);
  CHECK(fill(Scalar::f32, 1) == floats);
  CHECK(fill(Scalar::f32, 2) != floats);

  std::set<std::byte> values;
  for (std::byte value : fill(Scalar::s8, 1)) values.insert(value);
  CHECK(values.size() == 256);
  for (const Scalar type : {Scalar::f16, Scalar::bf16, Scalar::tf32, Scalar::f64, Scalar::u8, Scalar::s32}) {
    const std::vector<std::byte> bytes = fill(type, 3);
    const auto zeros = std::count(bytes.begin(), bytes.end(), std::byte{0});
    CHECK(zeros < std::ptrdiff_t(bytes.size() / 20));
  }
}
