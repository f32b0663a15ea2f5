#include "tuner/measure/settling.hpp"

#include <cmath>

#include "tests/catch.hpp"

using namespace tilesmith;
using namespace tilesmith::tuner;

TEST_CASE("a device that throttles disturbs whatever is timed on it") {
  runtime::Telemetry hot;
  hot.throttled = true;
  hot.throttle_reason = "hardware thermal slowdown";
  for (const DriftBy by : {DriftBy::clock_probe, DriftBy::control, DriftBy::nothing}) {
    CHECK(disturbance(hot, by, 1) == "throttled: hardware thermal slowdown");
    CHECK(disturbance({}, by, 1).empty());
  }
}

TEST_CASE("the power cap of a large GEMM is no disturbance") {
  runtime::Telemetry capped;
  capped.throttle_reason = "power cap";
  CHECK(disturbance(capped, DriftBy::control, 1.3).empty());
}

TEST_CASE("a clock probe off by more than a tenth disturbs, where drift is not divided out too") {
  for (const DriftBy by : {DriftBy::clock_probe, DriftBy::nothing}) {
    CHECK(disturbance({}, by, 1.09).empty());
    CHECK(disturbance({}, by, 0.91).empty());
    CHECK(disturbance({}, by, 1.12) == "the clock probe drifted to 1.12");
    CHECK_FALSE(disturbance({}, by, 0.88).empty());
    CHECK_FALSE(disturbance({}, by, NAN).empty());
  }
}

TEST_CASE("a control drifts by as much as a power limit makes it, and is disturbed beyond") {
  CHECK(disturbance({}, DriftBy::control, 1.5).empty());
  CHECK(disturbance({}, DriftBy::control, 0.7).empty());
  CHECK(disturbance({}, DriftBy::control, 2) == "the control drifted to 2.00");
  CHECK_FALSE(disturbance({}, DriftBy::control, 0.5).empty());
  CHECK_FALSE(disturbance({}, DriftBy::control, NAN).empty());
}
