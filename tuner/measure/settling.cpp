#include "tuner/measure/settling.hpp"

#include <algorithm>
#include <span>

#include "tuner/measure/statistics.hpp"
#include "tuner/measure/timing_policy.hpp"

namespace tilesmith::tuner {
namespace {

constexpr double kWindowUs = 50e3;
constexpr std::size_t kSettledWindows = 3;
constexpr double kSettled = 1.02;

}  // namespace

bool is_settled_first(double launch_us, double incumbent_us, const TimingPolicy& policy) {
  if (is_short(launch_us)) return false;
  return incumbent_us <= 0 || (!is_short(incumbent_us) && launch_us <= policy.give_up_factor * incumbent_us);
}

void Settling::add(double us) {
  spent_us_ += us;
  window_us_ += us;
  window_.push_back(us);
  if (window_us_ < kWindowUs) return;
  medians_us_.push_back(median(window_));
  window_.clear();
  window_us_ = 0;
}

bool Settling::over() const {
  if (spent_us_ >= most_us_) return true;
  if (medians_us_.size() < kSettledWindows) return false;
  const auto [least, most] = std::ranges::minmax(std::span(medians_us_).last(kSettledWindows));
  return most <= kSettled * least;
}

}  // namespace tilesmith::tuner
