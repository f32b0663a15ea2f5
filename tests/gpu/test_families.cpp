// Every family, type pair and transposes on the device.
#include "runtime/driver/device.hpp"
#include "tests/catch.hpp"
#include "tests/gpu/family_sample.hpp"

namespace tilesmith::test_families {

TEST_CASE("a sample of every family passes the suite for every type pair and transposes") {
  const runtime::Context context(0);
  test::verify_sample(context, 16, 200);
}

}  // namespace tilesmith::test_families
