#include "tuner/measure/settling.hpp"

#include <algorithm>
#include <span>

#include "tuner/measure/statistics.hpp"

namespace tilesmith::tuner {

constexpr double kWindowUs = 50e3;
constexpr std::size_t kSettledWindows = 3;
constexpr double kSettled = 1.02;
constexpr double kSteadyMs = 200;  // longer than a governor stands on a step
constexpr double kMostMs = 2000;
constexpr int kLeastReadings = 5;
constexpr double kFaster = 0.995;

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

void WarmUp::add(double at_ms, double probe_us) {
  last_ms_ = at_ms;
  if (!fastest_us_ || probe_us < kFaster * *fastest_us_) {
    fastest_us_ = probe_us;
    faster_at_ms_ = at_ms;
    readings_since_ = 0;
  } else {
    ++readings_since_;
  }
}

bool WarmUp::over() const {
  if (last_ms_ >= kMostMs) return true;
  return fastest_us_ && readings_since_ >= kLeastReadings && last_ms_ - faster_at_ms_ >= kSteadyMs;
}

}  // namespace tilesmith::tuner
