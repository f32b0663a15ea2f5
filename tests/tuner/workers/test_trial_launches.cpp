// One competitor that cannot be launched costs itself, and not the final benchmark.
#include "tuner/workers/trial_launches.hpp"

#include "tests/catch.hpp"

using namespace tilesmith;
using namespace tilesmith::tuner;

namespace {

constexpr int kOutOfResources = 701, kIllegalAddress = 700;  // CUresult

}  // namespace

TEST_CASE("one that cannot be launched is told, and the others play") {
  std::vector<std::size_t> failed;
  const auto launch = [](std::size_t i) {
    if (i == 1) throw runtime::DeviceError(kOutOfResources, "launching: too many resources");
  };
  const auto told = [&](std::size_t i, const runtime::DeviceError& error) {
    CHECK(error.code() == kOutOfResources);
    failed.push_back(i);
  };
  CHECK(those_that_launch(3, launch, told) == std::vector<std::size_t>{0, 2});
  CHECK(failed == std::vector<std::size_t>{1});
  CHECK(those_that_launch(0, launch, told).empty());
}

TEST_CASE("a lost context is no single one's") {
  const auto launch = [](std::size_t) { throw runtime::DeviceError(kIllegalAddress, "illegal address"); };
  CHECK_THROWS_AS(those_that_launch(2, launch, [](std::size_t, const runtime::DeviceError&) { FAIL("told of one"); }),
      runtime::DeviceError);
}
