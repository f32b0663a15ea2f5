#include <vector>

#include "tests/catch.hpp"
#include "tuner/measure/operand_sets.hpp"
#include "tuner/measure/statistics.hpp"

using namespace tilesmith::tuner;

namespace {

std::vector<double> one_to(int n) {
  std::vector<double> values;
  for (int i = n; i >= 1; --i) values.push_back(i);
  return values;
}

}  // namespace

TEST_CASE("median and quantiles are linear between neighbours and ignore the samples' order") {
  CHECK(median(std::vector<double>{3, 1, 2}) == 2);
  CHECK(median(std::vector<double>{4, 1, 2, 3}) == 2.5);
  CHECK(median(std::vector<double>{5}) == 5);
  CHECK(quantile(one_to(5), 0.25) == 2);
  CHECK(quantile(one_to(5), 1) == 5);
  CHECK_THROWS_AS(median({}), std::invalid_argument);
}

TEST_CASE("spread is half the interquartile range over the median") {
  CHECK(relative_spread(one_to(5)) == Approx(0.5 * 2 / 3));
  CHECK(relative_spread(std::vector<double>{7, 7, 7}) == 0);
  CHECK(relative_spread(std::vector<double>{7}) == 0);
}

TEST_CASE("the interval of the median has the ranks of the sign test's tables") {
  // Ranks for 95% as tabulated for the sign test: n = 6 → 1, 9 → 2, 10 → 2, 15 → 4, 20 → 6, 50 → 18.
  const std::vector<std::pair<int, int>> expected{{6, 1}, {9, 2}, {10, 2}, {15, 4}, {20, 6}, {50, 18}};
  for (const auto& [n, rank] : expected) {
    const Interval interval = median_interval(one_to(n));
    INFO(n);
    CHECK(interval.low == rank);
    CHECK(interval.high == n + 1 - rank);
  }
}

TEST_CASE("fewer than six samples span their whole range") {
  const Interval interval = median_interval(one_to(5));
  CHECK(interval.low == 1);
  CHECK(interval.high == 5);
}

TEST_CASE("sampling goes on until the interval is narrow, and no longer than its limits") {
  TimingPolicy policy;
  const std::vector<double> steady(7, 100.0);
  CHECK(judge_samples({}, 0, policy, 0) == Sampling::go_on);
  CHECK(judge_samples(std::vector<double>(6, 100.0), 5000, policy, 0) == Sampling::go_on);
  CHECK(judge_samples(steady, policy.min_total_us / 2, policy, 0) == Sampling::go_on);
  CHECK(judge_samples(steady, policy.min_total_us, policy, 0) == Sampling::enough);
  std::vector<double> noisy;
  for (int i = 0; i < 20; ++i) noisy.push_back(100 + i);
  CHECK(judge_samples(noisy, 10000, policy, 0) == Sampling::go_on);
  CHECK(judge_samples(noisy, policy.max_total_us, policy, 0) == Sampling::enough);
  CHECK(judge_samples(std::vector<double>(1, 2e6), 2e6, policy, 0) == Sampling::enough);
  noisy.resize(std::size_t(policy.max_samples), 150.0);
  noisy[0] = 1;
  CHECK(judge_samples(noisy, 10000, policy, 0) == Sampling::enough);
}

TEST_CASE("a clearly slower candidate is given up after three samples, a hopeless one after the first") {
  const TimingPolicy policy;
  CHECK(judge_samples(std::vector<double>{250, 250}, 500, policy, 100) == Sampling::go_on);
  CHECK(judge_samples(std::vector<double>{250, 250, 250}, 750, policy, 100) == Sampling::give_up);
  CHECK(judge_samples(std::vector<double>{250, 250, 190}, 690, policy, 100) == Sampling::go_on);
  CHECK(judge_samples(std::vector<double>{450}, 450, policy, 100) == Sampling::give_up);
  CHECK(judge_samples(std::vector<double>{450}, 450, policy, 0) == Sampling::go_on);
}

TEST_CASE("a winner is settled when no other can be faster by more than two in a thousand") {
  const auto samples_from = [](double us, double step) {
    std::vector<double> samples;
    for (int i = 0; i < 15; ++i) samples.push_back(us + step * i);
    return samples;
  };
  const auto settled = [](std::initializer_list<std::vector<double>> samples_us) {
    return winner_is_settled(samples_us);
  };
  const std::vector<double> fast = samples_from(100, 0.1);  // the median's interval: 100.3 to 101.1
  CHECK(settled({samples_from(110, 0.1), fast}));
  CHECK_FALSE(settled({samples_from(110, 0.1), fast, samples_from(100.3, 0.1)}));
  CHECK(settled({fast, samples_from(100.601, 0.1)}));
  CHECK_FALSE(settled({fast, samples_from(100.598, 0.1)}));
  // A third of which little is known may be faster than both.
  CHECK_FALSE(settled({fast, samples_from(101.5, 0.1), samples_from(97, 1)}));
  CHECK(settled({fast}));
  // Alike, once that is known well enough.
  CHECK(settled({samples_from(100, 0.01), samples_from(100, 0.01), samples_from(100.01, 0.01)}));
  CHECK_FALSE(settled({samples_from(100, 0.03), samples_from(100, 0.03)}));
}

TEST_CASE("between two launches on one operand set an L2's worth of others is read") {
  const std::size_t mib = std::size_t{1} << 20;
  for (std::size_t set_mib = 1; set_mib < 300; ++set_mib) {
    const int others = operand_set_count(set_mib * mib, 50 * mib, 10000 * mib) - 1;
    INFO(others << " others of " << set_mib << " MiB");
    CHECK(std::size_t(others) * set_mib >= 50);
  }
}

TEST_CASE("operand sets exceed twice the L2 unless memory or their number ends that") {
  const std::size_t mib = std::size_t{1} << 20;
  CHECK(operand_set_count(10 * mib, 50 * mib, 10000 * mib) == 11);
  CHECK(operand_set_count(300 * mib, 50 * mib, 10000 * mib) == 2);
  CHECK(operand_set_count(300 * mib, 50 * mib, 400 * mib) == 1);
  CHECK(operand_set_count(300 * mib, 50 * mib, 0) == 1);
  CHECK(operand_set_count(1024, 50 * mib, 10000 * mib) == kMaxOperandSets);
  CHECK(operand_set_count(0, 50 * mib, 10000 * mib) == kMaxOperandSets);
}
