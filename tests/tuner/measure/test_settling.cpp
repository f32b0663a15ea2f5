#include "tuner/measure/settling.hpp"

#include <vector>

#include "tests/catch.hpp"

using namespace tilesmith::tuner;

namespace {

/// How many launches are made of a load whose launches take what `us_after` says after so much of it.
template <typename UsAfter>
int launches_until_settled(UsAfter&& us_after, double most_us = 1000e3) {
  Settling settling(most_us);
  int launches = 0;
  for (double spent_us = 0; !settling.over(); ++launches) {
    const double us = us_after(spent_us);
    settling.add(us);
    spent_us += us;
  }
  return launches;
}

}  // namespace

TEST_CASE("a load whose time stays has settled after three windows") {
  CHECK(launches_until_settled([](double) { return 1000.0; }) == 150);
  CHECK(launches_until_settled([](double spent_us) { return int(spent_us / 1000) % 5 == 0 ? 1300.0 : 1000.0; }) < 160);
}

TEST_CASE("a load under which the clock falls has not settled before it stays") {
  const auto falling = [](double spent_us) { return spent_us < 200e3 ? 1000 + spent_us / 500 : 1400.0; };
  Settling settling(1000e3);
  double spent_us = 0;
  while (!settling.over()) {
    const double us = falling(spent_us);
    settling.add(us);
    spent_us += us;
  }
  CHECK(spent_us > 300e3);
  CHECK(spent_us < 450e3);
}

TEST_CASE("a load that never settles ends with its budget, and launches longer than a window are windows") {
  int launches = 0;
  CHECK(launches_until_settled([&](double) { return ++launches % 100 < 50 ? 1000.0 : 2000.0; }, 500e3) < 501);
  CHECK(launches_until_settled([](double) { return 80e3; }) == 3);
  CHECK(launches_until_settled([](double) { return 2e6; }) == 1);
}

TEST_CASE("long launches without a control are settled first, unless they have lost already") {
  const TimingPolicy policy;
  CHECK(is_settled_first(1000, 0, policy));
  CHECK(is_settled_first(1000, 900, policy));
  CHECK_FALSE(is_settled_first(20, 0, policy));      // in graphs, beside the clock probe
  CHECK_FALSE(is_settled_first(2500, 900, policy));  // to be given up
  CHECK_FALSE(is_settled_first(70, 40, policy));     // beside short ones it decides nothing
}
