// Times that a device cannot have taken.
#include "tuner/peaks.hpp"

#include <string>

#include "tests/catch.hpp"

using namespace tilesmith;
using namespace tilesmith::tuner;

namespace {

const db::DeviceIdentity kH200{"NVIDIA H200", 90, 132, 62914560, 233472, 4800, ""};

Problem problem(const std::string& canonical) {
  std::string error;
  return parse_problem(canonical, error).value();
}

}  // namespace

TEST_CASE("a time is impossible where it takes a multiple of the device's peak or of its memory's") {
  const Problem square = problem("f16f32 NN 4096 4096 4096");
  const double floor = floor_us(kH200, square);
  CHECK_FALSE(impossible_because(kH200, square, floor));
  CHECK_FALSE(impossible_because(kH200, square, 0.6 * floor));  // clocks may be above those of the data sheet
  REQUIRE(impossible_because(kH200, square, 0.1 * floor));
  CHECK(impossible_because(kH200, square, 0.1 * floor)->find("TFLOP/s") != std::string::npos);
  const Problem thin = problem("f16f32 NN 1 16384 16384");
  CHECK_FALSE(impossible_because(kH200, thin, floor_us(kH200, thin)));
  REQUIRE(impossible_because(kH200, thin, 0.1 * floor_us(kH200, thin)));
  CHECK(impossible_because(kH200, thin, 0.1 * floor_us(kH200, thin))->find("GB/s") != std::string::npos);
  CHECK_FALSE(impossible_because(kH200, problem("f16f32 NN 1 1024 1024"), 0.2));  // the L2 may hold it
}

TEST_CASE("of weights their codes, scales and zeros are moved, and no more") {
  const double d = 16 * 4096 * 2, a = 16 * 8192 * 2, codes = 4096.0 * 8192 / 2;
  CHECK(moved_bytes(problem("f16f32f16 NT 16 4096 8192 weights=s4_g128")) == a + d + codes + 64 * 4096 * 2);
  CHECK(
      moved_bytes(problem("f16f32f16 NT 16 4096 8192 weights=u4_g64+zeros+f32")) == a + d + codes + 2 * 128 * 4096 * 4);
  CHECK(moved_bytes(problem("f16f32f16 NT 16 4096 8192 weights=s8_column")) == a + d + 2 * codes + 4096 * 2);
  CHECK(moved_bytes(problem("f16f32f16 NT 16 4096 8192")) == a + d + 4 * codes);
}

TEST_CASE("devices whose peaks are not known are not judged") {
  db::DeviceIdentity unknown{"A GPU", 90, 132, 0, 233472, 0, ""};
  const Problem square = problem("f16f32 NN 4096 4096 4096");
  CHECK_FALSE(impossible_because(unknown, square, 1e-3));
  db::DeviceIdentity as_another = db::identity_as(kH200, *limits_for_arch("sm_87"));
  CHECK_FALSE(impossible_because(as_another, square, 1e-3));
}
