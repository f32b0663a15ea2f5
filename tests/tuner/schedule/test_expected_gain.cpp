// What more evaluations of a problem are expected to bring.
#include "tuner/schedule/expected_gain.hpp"

#include <cmath>
#include <vector>

#include "tests/catch.hpp"
#include "tuner/cli/output/progress.hpp"
#include "tuner/peaks.hpp"

using namespace tilesmith;
using namespace tilesmith::tuner;

TEST_CASE("each doubling is expected to bring half of what the one before brought, down to the peak") {
  const std::vector<double> curve{0, 0, 200, 150, 150, 120, 120, 100};
  const Trend trend = trend_of(curve, 100, 0.02, 0);
  CHECK(trend.last_doubling == Approx(std::log(1.5)));
  CHECK_FALSE(trend.settled());
  CHECK(expected_us(trend, 0) == 100);
  CHECK(expected_us(trend, 8) == Approx(100 / std::sqrt(1.5)));
  CHECK(expected_us(trend_of(curve, 100, 0.02, 95), 8) == 95);
}

TEST_CASE("a gain within the noise is none, few evaluations say nothing, and without a time nothing is expected") {
  const std::vector<double> flat(8, 100), few{300, 200, 100}, none(20, 0), late{0, 0, 0, 0, 0, 0, 90, 80};
  CHECK(trend_of(flat, 99, 0.02, 0).settled());
  CHECK(trend_of(few, 100, 0, 0).too_few());
  CHECK_FALSE(trend_of(few, 100, 0, 0).settled());
  CHECK(trend_of(none, 0, 0, 0).settled());
  CHECK(expected_us(trend_of(none, 0, 0, 0), 20) == 0);
  CHECK(trend_of(late, 80, 0, 0).last_doubling == Approx(std::log(90.0 / 80)));
  CHECK(trend_of({}, 0, 0, 0).too_few());
}

TEST_CASE("no time is below that of the operations at the device's peak, nor of the bytes at its bandwidth") {
  db::DeviceIdentity device;
  device.name = "NVIDIA H200";
  device.sm = 90;
  device.sm_count = 132;
  device.bandwidth_class_gbps = 4900;
  const TypePair& type = *find_type_pair("f16f32");
  const Problem cube = packed_problem({type, {}}, 4096, 4096, 4096), row = packed_problem({type, {}}, 1, 4096, 4096);
  CHECK(floor_us(device, cube) == Approx(cube.flop() / *peak_tflops(device, type) * 1e-6));
  CHECK(floor_us(device, row) == Approx((4096 * 2 + 4096.0 * 4096 * 2 + 4096 * 4) / 4900e9 * 1e6));
  Problem part = row;  // of a larger matrix: what lies between its rows is not read
  part.ldb = 100000;
  CHECK(floor_us(device, part) == floor_us(device, row));
  CHECK(floor_us({}, cube) == 0);
}

TEST_CASE("progress says which problems have settled and which still gain") {
  Progress now;
  now.left = 100;
  now.trend = {40, 10, std::log(1.25), 0};
  CHECK(prospect_text(now).empty());  // without a budget every problem is searched to its end
  now.seconds_left = 60;
  CHECK(prospect_text(now) == "still gaining, 20.0% by the last half of its candidates");
  now.trend.last_doubling = 0;
  CHECK(prospect_text(now) == "settled");
  now.gave_up_time = true;
  CHECK(prospect_text(now) == "settled, the rest of its time goes to other problems");
  now.gave_up_time = false;
  now.trend.evaluations = 5;
  CHECK(prospect_text(now).empty());
}
