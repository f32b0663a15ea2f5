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

TEST_CASE("a winner is settled when its interval ends below the second's") {
  std::vector<double> fast, slow, between;
  for (int i = 0; i < 15; ++i) {
    fast.push_back(100 + 0.1 * i);
    slow.push_back(110 + 0.1 * i);
    between.push_back(100.3 + 0.1 * i);
  }
  CHECK(winner_is_settled(std::vector<std::vector<double>>{slow, fast}));
  CHECK_FALSE(winner_is_settled(std::vector<std::vector<double>>{slow, fast, between}));
  CHECK(winner_is_settled(std::vector<std::vector<double>>{fast}));
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
