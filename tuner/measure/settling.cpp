#include "tuner/measure/settling.hpp"

#include <fmt/format.h>
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

// A competitor that draws more than the control pulls the clock down for both, on an H200 from 1980 to 1300 MHz at
// most; and the control may have been timed so and run with one that draws less. Beyond that it is another program or a
// changed mode.
constexpr double kMostTimesOfControl = 1.6;

std::string disturbance(const runtime::Telemetry& telemetry, DriftBy by, double drift) {
  if (telemetry.throttled) return "throttled: " + telemetry.throttle_reason;
  if (by == DriftBy::control) {
    if (drift >= 1 / kMostTimesOfControl && drift <= kMostTimesOfControl) return {};
    return fmt::format("the control drifted to {:.2f}", drift);
  }
  if (drift >= 1 - kMostClockProbeDrift && drift <= 1 + kMostClockProbeDrift) return {};
  return fmt::format("the clock probe drifted to {:.2f}", drift);
}

}  // namespace tilesmith::tuner
