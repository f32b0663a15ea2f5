#include "tests/catch.hpp"
#include "tuner/measure/clock_probe.hpp"

using namespace tilesmith;
using namespace tilesmith::tuner;

namespace {

/// Whether the base is another one after so many readings.
bool renewed_after(ClockProbeBase& base, int readings, double us, double step = 0) {
  for (int i = 0; i < readings; ++i) base.drift_of(us + step * i);
  return base.renew();
}

}  // namespace

TEST_CASE("a clock probe's base that was read on a disturbed device gives way to what the device is") {
  ClockProbeBase base(80);
  CHECK(base.drift_of(40) == Approx(0.5));
  CHECK_FALSE(renewed_after(base, 6, 40));
  CHECK(base.us() == 80);
  CHECK(renewed_after(base, 1, 40.5));
  CHECK(base.us() == 40);
  CHECK(base.drift_of(40) == Approx(1));
}

TEST_CASE("a device that gets slower is held against what it was") {
  ClockProbeBase base(40);
  CHECK_FALSE(renewed_after(base, 100, 48));
  CHECK(base.drift_of(48) == Approx(1.2));
}

TEST_CASE("a faster time that does not last, or is within what drift may be, is no new base") {
  ClockProbeBase base(40);
  CHECK_FALSE(renewed_after(base, 100, 36.5));
  CHECK_FALSE(renewed_after(base, 7, 30));
  CHECK_FALSE(renewed_after(base, 1, 40));
  CHECK_FALSE(renewed_after(base, 7, 30));
  CHECK_FALSE(renewed_after(base, 8, 25, 0.5));  // still on its way
  CHECK(renewed_after(base, 8, 30));
}
