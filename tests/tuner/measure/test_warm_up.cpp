// The warm-up rule over made-up traces of a clock. The probe's time goes as one over the clock.
#include <algorithm>
#include <cmath>
#include <functional>
#include <random>

#include "tests/catch.hpp"
#include "tuner/measure/settling.hpp"

using namespace tilesmith::tuner;

namespace {

constexpr double kTopMhz = 1300.5;

using Trace = std::function<double(double at_ms)>;  // the clock in MHz

struct Ended {
  double at_ms = 0;
  double clock_mhz = 0;
};

/// Readings every `every_ms`, each up to `noise` too slow, until the rule says that it is over.
Ended warm_up(const Trace& clock_mhz, double every_ms = 6, double noise = 0) {
  std::mt19937_64 chance(7);
  std::uniform_real_distribution<double> slower(0, noise);
  WarmUp warm_up;
  for (double at_ms = every_ms;; at_ms += every_ms) {
    warm_up.add(at_ms, 30e3 / clock_mhz(at_ms) * (1 + slower(chance)));
    if (warm_up.over()) return {at_ms, clock_mhz(at_ms)};
    REQUIRE(at_ms < 60e3);
  }
}

/// A step of 102 MHz, as an Orin's clocks have, every `step_ms`.
Trace ramp(double from_mhz, double step_ms) {
  return [=](double at_ms) { return std::min(kTopMhz, from_mhz + 102 * std::floor(at_ms / step_ms)); };
}

}  // namespace

TEST_CASE("a device whose clock stands is warm in a quarter of a second") {
  for (const double noise : {0.0, 0.004, 0.02}) CHECK(warm_up([](double) { return 1980.0; }, 6, noise).at_ms < 450);
  CHECK(warm_up([](double) { return 1980.0; }).at_ms < 250);
}

TEST_CASE("a clock that goes up in steps is waited for to its top") {
  for (const double step_ms : {10.0, 50.0, 100.0, 150.0}) {
    for (const double from_mhz : {306.0, 612.0, 1198.5}) {
      const Ended ended = warm_up(ramp(from_mhz, step_ms));
      INFO(from_mhz << " MHz, a step every " << step_ms << " ms");
      CHECK(ended.clock_mhz == kTopMhz);
      CHECK(ended.at_ms <= std::ceil((kTopMhz - from_mhz) / 102) * step_ms + 260);
    }
  }
}

TEST_CASE("a clock that rests at its lowest before it goes up is waited for") {
  const Trace late = [](double at_ms) { return at_ms < 180 ? 306.0 : kTopMhz; };
  CHECK(warm_up(late).clock_mhz == kTopMhz);
}

TEST_CASE("a clock that falls under load is no reason to wait") {
  const Trace falling = [](double at_ms) { return at_ms < 60 ? kTopMhz : 1100.0; };
  CHECK(warm_up(falling).at_ms < 260);
}

TEST_CASE("a clock that never stands is waited for two seconds") {
  const Trace rising = [](double at_ms) { return 300 * std::pow(1.01, at_ms / 10); };
  const Ended ended = warm_up(rising);
  CHECK(ended.at_ms >= 2000);
  CHECK(ended.at_ms < 2010);
}

TEST_CASE("few readings decide nothing, however long they took") {
  CHECK(warm_up([](double) { return 306.0; }, 150).at_ms >= 5 * 150);
}
