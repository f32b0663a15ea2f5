// What one measuring process leaves to the next.
#include "tests/catch.hpp"
#include "tests/gpu/drill_family.hpp"
#include "tuner/workers/compile_pool.hpp"
#include "tuner/workers/measure_process.hpp"
#include "tuner/workers/protocol.hpp"

using namespace tilesmith;
using namespace tilesmith::tuner;

TEST_CASE("drift is measured against the clock probe's base that the process before ended with") {
  const test::DrillEnabled drill;
  MeasureProcess process(0, "", std::chrono::seconds(20), TILESMITH_TUNER_CHILD);
  const Problem problem = packed_problem({*find_type_pair("f64f64"), {}}, 32, 32, 32);
  const auto ask = [&](test::DrillKind kind) {
    const Message request = to_message(MeasureSession::Job{problem, test::drill_config(kind), {}, false, 0});
    std::optional<MeasureProcess::Answer> answer;
    while (!process.idle() || !process.request(request)) {
      wait_for_input({process.descriptor()}, process.deadline());
      process.collect();
    }
    while (!answer) {
      wait_for_input({process.descriptor()}, process.deadline());
      answer = process.collect();
    }
    return *answer;
  };
  CHECK(ask(test::kDrillOk).message->json.at("given_clock_probe_us") == 0);
  CHECK_FALSE(ask(test::kDrillTooBig).message);  // it ends the process
  CHECK(ask(test::kDrillOk).message->json.at("given_clock_probe_us") ==
        39);  // the child began with 40, and told of 39 since
}
