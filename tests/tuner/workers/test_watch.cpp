// Time limits of workers whose tuner is stopped for a while, and the workers with it.
#include <chrono>

#include "runtime/compile/compiler.hpp"
#include "tests/catch.hpp"
#include "tests/gpu/drill_family.hpp"
#include "tuner/workers/compile_pool.hpp"
#include "tuner/workers/measure_process.hpp"
#include "tuner/workers/protocol.hpp"
#include "tuner/workers/watch.hpp"

using namespace tilesmith;
using namespace tilesmith::tuner;
using namespace std::chrono_literals;

namespace {

constexpr const char* kWatchChild = TILESMITH_TUNER_CHILD;

/// The real one, put forward.
class FakeClock {
 public:
  Watch watch() const {
    return Watch([this] { return Watch::Clock::now() + ahead_; });
  }
  void put_forward(Watch::Clock::duration by) { ahead_ += by; }

 private:
  Watch::Clock::duration ahead_{};
};

CompilePool::Job drill_job(test::DrillKind kind) {
  const KernelTarget target{{*find_type_pair("f64f64"), {}}, *limits_for_arch("sm_87")};
  return {1, runtime::kernel_key(test::drill_config(kind), target)};
}

}  // namespace

TEST_CASE("watched time leaves out what passed while nobody looked") {
  Watch::Clock::time_point now{1000s};
  Watch watch([&now] { return now; });
  CHECK(watch.look() == Watch::Clock::time_point{1000s});
  for (int i = 0; i < 10; ++i) {
    now += 900ms;
    watch.look();
  }
  CHECK(watch.look() == Watch::Clock::time_point{1009s});
  for (int i = 0; i < 10; ++i) {  // a wait, and a busy host, or one that was stopped for a moment
    now += 2900ms;
    watch.look();
  }
  const auto before = watch.look();
  CHECK(before == Watch::Clock::time_point{1019s});
  now += 8h;
  CHECK(watch.look() == before);
  CHECK(watch.on_clock(before + 5s) == now + 5s);
  now += 1s;
  CHECK(watch.look() == before + 1s);
}

TEST_CASE("a compiler that stood still with its tuner is not late") {
  const test::DrillEnabled drill;
  FakeClock clock;
  CompilePool pool(1, 20s, kWatchChild, clock.watch());
  pool.submit(drill_job(test::kDrillOk));
  clock.put_forward(8h);
  std::vector<CompilePool::Done> done;
  while ((done = pool.collect()).empty()) wait_for_input(pool.descriptors(), pool.deadline());
  CHECK(done.front().build.status == db::Status::ok);
}

TEST_CASE("a compiler that hangs is late, though its tuner was away meanwhile") {
  const test::DrillEnabled drill;
  FakeClock clock;
  CompilePool pool(1, 20s, kWatchChild, clock.watch());
  pool.submit(drill_job(test::kDrillCompilerHang));
  clock.put_forward(8h);
  for (int looks = 0; looks < 19; ++looks) {
    CHECK(pool.collect().empty());
    clock.put_forward(looks % 2 == 0 ? 2700ms : 990ms);  // a second at most of each
  }
  clock.put_forward(8h);  // away again
  CHECK(pool.collect().empty());
  for (int looks = 0; looks < 2; ++looks) {
    clock.put_forward(900ms);
    CHECK(pool.collect().empty());
  }
  clock.put_forward(900ms);
  const std::vector<CompilePool::Done> done = pool.collect();
  REQUIRE(done.size() == 1);
  CHECK(done.front().build.message == "the compiler did not end within 20 s");
}

TEST_CASE("a candidate that stood still with its tuner is not late") {
  const test::DrillEnabled drill;
  FakeClock clock;
  MeasureProcess process(0, "", 5s, kWatchChild, clock.watch());
  const auto look = [&] {
    wait_for_input({process.descriptor()}, process.deadline());
    return process.collect();
  };
  while (!process.idle()) look();
  const Problem problem = packed_problem({*find_type_pair("f64f64"), {}}, 32, 32, 32);
  REQUIRE(process.request(to_message(MeasureSession::Job{problem, test::drill_config(test::kDrillOk), {}, false, 0})));
  clock.put_forward(8h);
  std::optional<MeasureProcess::Answer> answer;
  while (!answer) answer = look();
  INFO(answer->failure.message);
  CHECK(answer->message);
}
