// The stopwatch on a real device: that a time means what it says.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>
#include <span>
#include <vector>

#include "runtime/compile/compiler.hpp"
#include "runtime/driver/device.hpp"
#include "runtime/plan/plan.hpp"
#include "tests/catch.hpp"
#include "tuner/measure/helper_kernels.hpp"
#include "tuner/measure/random_fill.hpp"
#include "tuner/measure/stopwatch.hpp"

namespace tilesmith::test_stopwatch {

namespace {

// One thread waits for so many nanoseconds: a kernel whose duration is known. The other one also writes down which
// operand set it was launched on; `log[0]` counts, and what does not fit is only counted.
constexpr const char* kWaitSource = R"(
extern "C" __global__ void wait_ns(unsigned long long ns) {
  unsigned long long start, now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(start));
  do {
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  } while (now - start < ns);
}

extern "C" __global__ void log_set(unsigned long long ns, int set, unsigned* log, unsigned size) {
  const unsigned at = ++log[0];
  if (at < size) log[at] = set;
  unsigned long long start, now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(start));
  do {
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  } while (now - start < ns);
}
)";

class Waiter {
 public:
  explicit Waiter(const runtime::Context& context)
      : module_(tuner::load_helper(context, kWaitSource, "wait_ns")), kernel_(module_.function("wait_ns", 0)) {}
  tuner::Competitor competitor(unsigned long long ns) {
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

/// The operand sets of all launches of its competitors, in order, those replayed from graphs too.
class SetLog {
 public:
  explicit SetLog(const runtime::Context& context)
      : module_(tuner::load_helper(context, kWaitSource, "log_set")),
        kernel_(module_.function("log_set", 0)),
        memory_(kWords * sizeof(unsigned)) {
    memory_.fill(0);
  }
  tuner::Competitor competitor(unsigned long long ns) {
    return {"logging", [this, ns](int set, const runtime::Stream& stream) {
              unsigned long long value = ns;
              std::byte* log = memory_.data();
              unsigned size = kWords;
              void* parameters[] = {&value, &set, &log, &size};
              const unsigned one[3] = {1, 1, 1};
              runtime::launch(kernel_, one, one, 0, stream, parameters);
            }};
  }
  std::vector<unsigned> sets() const {
    std::vector<unsigned> words(kWords);
    memory_.download(std::as_writable_bytes(std::span(words)));
    const std::size_t launches = words[0];
    REQUIRE(launches < kWords);
    return {words.begin() + 1, words.begin() + 1 + std::ptrdiff_t(launches)};
  }

 private:
  static constexpr unsigned kWords = 1 << 20;
  runtime::Module module_;
  CUfunc_st* kernel_;
  runtime::DeviceBuffer memory_;
};

}  // namespace

TEST_CASE("a kernel of known duration is timed right, short in a graph and long alone", "[stopwatch]") {
  const runtime::Context context(0);
  tuner::Stopwatch stopwatch(context);
  Waiter waiter(context);
  tuner::Rotation rotation(4);
  for (const unsigned long long ns : {20000ull, 400000ull, 3000000ull}) {
    const db::Timing timing = stopwatch.time(waiter.competitor(ns), rotation).timing.value();
    INFO(ns << " ns: " << timing.median_us << " us");
    // The waiting does not follow the SM clock, so drift is undone; a launch adds a few microseconds.
    const double measured_us = timing.median_us * timing.drift;
    if (ns > 100000) CHECK(timing.drift == 1);  // of long launches without a control none is divided out
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
  tuner::Rotation rotation(4);
  const db::Timing timing = stopwatch.time(waiter.competitor(1000000), rotation, 100).timing.value();
  CHECK(timing.samples <= 3);
  CHECK(timing.median_us > 900);
}

TEST_CASE("a long launch beside a control has a time on its scale, a short one has not", "[stopwatch]") {
  const runtime::Context context(0);
  tuner::Stopwatch stopwatch(context);
  Waiter waiter(context);
  tuner::Rotation rotation(4);
  // Of 600 µs it is said that they are 480: all takes four fifths, and the drift is 1.25.
  const std::optional<tuner::Control> control{{waiter.competitor(600000), 480}};
  const db::Timing timing = stopwatch.time(waiter.competitor(400000), rotation, 0, control).timing.value();
  CHECK(timing.median_us == Approx(320).epsilon(0.03));
  CHECK(timing.drift == Approx(1.25).epsilon(0.03));
  CHECK(timing.samples >= 3);
  const db::Timing slow = stopwatch.time(waiter.competitor(2000000), rotation, 300, control).timing.value();
  CHECK(slow.samples <= 3);
  CHECK(slow.median_us == Approx(1600).epsilon(0.03));

  const std::optional<tuner::Control> short_control{{waiter.competitor(600000), 20}};
  const db::Timing alone = stopwatch.time(waiter.competitor(400000), rotation, 0, short_control).timing.value();
  CHECK(alone.median_us > 350);

  const std::vector<tuner::Competitor> two{waiter.competitor(400000), waiter.competitor(600000)};
  const std::vector<db::Outcome> played = stopwatch.final_benchmark(two, rotation, tuner::KnownTime{1, 480});
  CHECK(played.at(0).timing->median_us == Approx(320).epsilon(0.03));
  CHECK(played.at(1).timing->median_us == Approx(480));
  CHECK(played.at(1).timing->drift == Approx(1.25).epsilon(0.03));

  // A control of which so much less is said is another device's: the time is true to it, and says so.
  const std::optional<tuner::Control> wrong{{waiter.competitor(600000), 200}};
  const db::Outcome disturbed = stopwatch.time(waiter.competitor(400000), rotation, 0, wrong);
  CHECK(disturbed.status == db::Status::ok);
  CHECK(disturbed.timing->drift == Approx(3).epsilon(0.03));
  CHECK(disturbed.message.rfind("disturbed: the control drifted to ", 0) == 0);
}

TEST_CASE(
    "a final benchmark orders competitors that differ by a few percent, in the order of the arguments", "[stopwatch]") {
  const runtime::Context context(0);
  tuner::Stopwatch stopwatch(context);
  Waiter waiter(context);
  const std::vector<tuner::Competitor> competitors{
      waiter.competitor(215000), waiter.competitor(200000), waiter.competitor(260000)};
  tuner::Rotation rotation(4);
  const std::vector<db::Outcome> played = stopwatch.final_benchmark(competitors, rotation);
  REQUIRE(played.size() == 3);
  CHECK(played[1].timing->median_us < played[0].timing->median_us);
  CHECK(played[0].timing->median_us < played[2].timing->median_us);
  for (const db::Outcome& outcome : played) CHECK(outcome.timing->samples >= 15);
}

TEST_CASE("whichever competitor launches finds operands that all the other sets were read after", "[stopwatch]") {
  const runtime::Context context(0);
  tuner::Stopwatch stopwatch(context);
  for (const int sets : {2, 7, 101}) {
    SetLog log(context);
    tuner::Rotation rotation(sets);
    // Single launches; whole rotations in a graph; of 101 sets, pieces of a rotation. Competitors of one final
    // benchmark would each by themselves cut the rotation differently.
    const tuner::Control control{log.competitor(100000), 100};
    stopwatch.time(log.competitor(80000), rotation, 0, control);
    stopwatch.time(log.competitor(8000), rotation);
    stopwatch.final_benchmark(
        std::vector{log.competitor(60000), log.competitor(90000), log.competitor(70000)}, rotation);
    stopwatch.final_benchmark(
        std::vector{log.competitor(8000), log.competitor(30000), log.competitor(15000)}, rotation);
    stopwatch.time(log.competitor(60000), rotation);
    const std::vector<unsigned> launched = log.sets();
    REQUIRE(launched.size() > 100);
    std::size_t out_of_turn = 0;
    for (std::size_t i = 1; i < launched.size(); ++i) {
      if (launched[i] != (launched[i - 1] + 1) % unsigned(sets)) ++out_of_turn;
    }
    INFO(launched.size() << " launches on " << sets << " sets");
    CHECK(out_of_turn == 0);
  }
}

TEST_CASE("a plan is timed on operand sets that exceed twice the L2", "[stopwatch]") {
  const runtime::Context context(0);
  const Problem problem = packed_problem({*find_type_pair("f16f32"), {}}, 512, 512, 512);
  tuner::RandomFill random(context);
  const tuner::OperandSets operands(random, problem);
  const double set_bytes = double(problem.a_bytes() + problem.b_bytes() + problem.c_bytes());
  CHECK(operands.count() * set_bytes > 2.0 * double(context.info().identity.l2_bytes) * 0.95);

  const KernelTarget target{problem, context.info().limits};
  const Config config = generic_config(target);
  const db::KernelBuild build = runtime::compile(config, target);
  REQUIRE(build.status == db::Status::ok);
  const runtime::Plan plan(std::make_shared<const runtime::Module>(build.cubin), config, problem);
  runtime::DeviceBuffer workspace(std::max<std::size_t>(plan.workspace_bytes(), 256));
  tuner::Stopwatch stopwatch(context);
  const tuner::Competitor competitor = tuner::Stopwatch::competitor(plan, operands, workspace.data());
  const db::Timing first = stopwatch.time(competitor, operands.rotation()).timing.value();
  const db::Timing second = stopwatch.time(competitor, operands.rotation()).timing.value();
  CHECK(first.median_us > 1);
  CHECK(std::abs(first.median_us / second.median_us - 1) < 0.1);
  CHECK(first.drift == Approx(1).margin(0.2));
}

TEST_CASE("a competitor that cannot be launched throws", "[stopwatch]") {
  const runtime::Context context(0);
  tuner::Stopwatch stopwatch(context);
  const tuner::Competitor broken{
      "broken", [](int, const runtime::Stream&) { throw runtime::DeviceError(1, "cannot be launched"); }};
  tuner::Rotation rotation(2);
  CHECK_THROWS_AS(stopwatch.time(broken, rotation), runtime::DeviceError);
}

TEST_CASE("operands are random, of full entropy, and as aligned as the problem says", "[stopwatch]") {
  const runtime::Context context(0);
  Problem problem = packed_problem({*find_type_pair("f16f32"), {}}, 128, 128, 128);
  problem.align_bytes = 2;
  tuner::RandomFill random(context);
  const tuner::OperandSets operands(random, problem);
  REQUIRE(operands.count() >= 2);
  for (int set : {0, 1}) {
    CHECK(reinterpret_cast<std::uintptr_t>(operands.at(OperandRole::a, set)) % 4 == 2);
    CHECK(reinterpret_cast<std::uintptr_t>(operands.at(OperandRole::c, set)) % 8 ==
          4);  // f32 elements stay on whole elements
  }

  runtime::DeviceBuffer buffer(1 << 16);
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

}  // namespace tilesmith::test_stopwatch
