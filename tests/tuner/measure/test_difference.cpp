// The time of a launch behind another kernel, from what graphs of both and of that one alone took.
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "tests/catch.hpp"
#include "tuner/measure/statistics.hpp"

using namespace tilesmith::tuner;

namespace {

constexpr int kLaunches = 50;
constexpr double kOtherUs = 2.5;

/// What two graphs of that many launches take, when the device is `speed` times as slow.
struct Halves {
  double pairs_us, others_us;
};
Halves halves(double launch_us, double speed) {
  return {kLaunches * (launch_us + kOtherUs) * speed, kLaunches * kOtherUs * speed};
}

double sample(const Halves& taken) { return difference_us(taken.pairs_us, taken.others_us, kLaunches); }

}  // namespace

TEST_CASE("a launch behind another kernel takes what the pairs take longer than that kernel alone") {
  CHECK(difference_us(700, 200, 100) == Approx(5));
  CHECK(difference_us(3.5, 2.5, 1) == Approx(1));
  CHECK(is_told(5, 100));
}

TEST_CASE("a difference that is none is what events can be off by, and its median tells no time") {
  const double nan = std::numeric_limits<double>::quiet_NaN(), infinity = std::numeric_limits<double>::infinity();
  const double least = least_difference_us(100);
  CHECK(least == Approx(0.01));
  CHECK(difference_us(200, 200, 100) == least);
  CHECK(difference_us(150, 200, 100) == least);
  CHECK(difference_us(0, 1e9, 100) == least);
  for (const double wrong : {nan, infinity, -infinity}) {
    CHECK(difference_us(wrong, 200, 100) == least);
    CHECK(difference_us(200, wrong, 100) == least);
    CHECK_FALSE(is_told(wrong, 100));
  }
  CHECK_FALSE(is_told(least, 100));
  CHECK_FALSE(is_told(1.6 * least, 100));  // with a drift taken out that is as large as one may be
  CHECK_FALSE(is_told(0, 100));
  CHECK_FALSE(is_told(-5, 100));
  CHECK(is_told(1, 100));
}

TEST_CASE("what slows both graphs of a sample down leaves the spread of differences as it was") {
  std::mt19937_64 chance(1);
  std::normal_distribution<double> own(0, 0.5);  // µs a graph
  std::uniform_real_distribution<double> speed(0.98, 1.02);
  std::vector<double> pairs_us, others_us, differences_us;
  for (int i = 0; i < 200; ++i) {
    Halves taken = halves(5, speed(chance));
    taken.pairs_us += own(chance);
    taken.others_us += own(chance);
    pairs_us.push_back(taken.pairs_us / kLaunches);
    others_us.push_back(taken.others_us / kLaunches);
    differences_us.push_back(sample(taken));
  }
  CHECK(median(differences_us) == Approx(5).epsilon(0.005));
  // As wide as the speed alone makes a time of 5 µs; of halves that do not belong together it would be wider.
  CHECK(relative_spread(differences_us) < 0.0125);
  std::vector<double> of_strangers_us;
  for (std::size_t i = 0; i < pairs_us.size(); ++i)
    of_strangers_us.push_back(pairs_us[i] - others_us[(i + 7) % others_us.size()]);
  CHECK(relative_spread(of_strangers_us) > 1.2 * relative_spread(differences_us));
}

TEST_CASE("the median of differences stands where some of their halves were disturbed") {
  std::mt19937_64 chance(2);
  std::normal_distribution<double> own(0, 1);
  std::vector<double> samples_us;
  for (int i = 0; i < 50; ++i) {
    Halves taken = halves(3, 1);
    taken.pairs_us += own(chance);
    taken.others_us += own(chance);
    if (i % 10 == 0) taken.pairs_us *= 3;   // another program
    if (i % 10 == 5) taken.others_us *= 4;  // ... whose share makes the difference negative
    samples_us.push_back(sample(taken));
  }
  CHECK(median(samples_us) == Approx(3).epsilon(0.02));
  for (const double us : samples_us) CHECK(us > 0);
  CHECK(relative_half_width(samples_us) > 0);
  CHECK(std::isfinite(relative_half_width(samples_us)));
}

TEST_CASE("where differences are nothing but noise sampling ends, and no time is told") {
  TimingPolicy policy;
  std::mt19937_64 chance(3);
  std::normal_distribution<double> own(0, 5);
  std::vector<double> samples_us;
  double measured_us = 0;
  while (judge_samples(samples_us, measured_us, policy, 10) == Sampling::go_on) {
    const Halves taken = halves(0, 1);
    samples_us.push_back(difference_us(taken.pairs_us + own(chance), taken.others_us + own(chance), kLaunches));
    measured_us += taken.pairs_us + taken.others_us;
    REQUIRE(samples_us.size() <= std::size_t(policy.max_samples));
  }
  CHECK(samples_us.size() >= 7);
  CHECK_FALSE(is_told(median(samples_us), kLaunches));
}
