#include "tuner/measure/warm_up.hpp"

namespace tilesmith::tuner {
namespace {

constexpr double kSteadyMs = 200;  // longer than a governor stands on a step
constexpr double kMostMs = 2000;
constexpr int kLeastReadings = 5;
constexpr double kFaster = 0.995;

}  // namespace

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
