#include "tuner/measure/clock_probe.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>

#include "tuner/measure/settling.hpp"
#include "tuner/measure/statistics.hpp"

namespace tilesmith::tuner {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kLaunchesPerReading = 4;  // an event counts in half microseconds: four launches make that 0.3%
constexpr int kReadings = 2;
constexpr std::size_t kReadingsKept =
    8;  // of three or four measurements: longer than what comes between the slices of another program
constexpr double kSteady = 1.03;

}  // namespace

double ClockProbeBase::drift_of(double reading_us) {
  const double drift = reading_us / us_;
  if (drift < 1 - kMostClockProbeDrift) faster_us_.push_back(reading_us);
  else faster_us_.clear();
  if (faster_us_.size() > kReadingsKept) faster_us_.erase(faster_us_.begin());
  return drift;
}

bool ClockProbeBase::renew() {
  if (faster_us_.size() < kReadingsKept) return false;
  const auto [least, most] = std::ranges::minmax(faster_us_);
  if (!(most <= kSteady * least)) return false;
  us_ = median(faster_us_);
  faster_us_.clear();
  return true;
}

ClockProbe::ClockProbe(Pacing& pacing, const runtime::Stream& stream, double start_us)
    : pacing_(pacing), stream_(stream), base_(start_us) {
  const auto start = Clock::now();
  for (WarmUp rule; !rule.over();) {
    warm_up(5);
    const double probe_us = time_us();
    rule.add(std::chrono::duration<double, std::milli>(Clock::now() - start).count(), probe_us);
  }
  if (start_us > 0) return;
  std::vector<double> readings_us;
  for (int i = 0; i < 7; ++i) readings_us.push_back(time_us());
  base_ = ClockProbeBase(median(readings_us));
}

void ClockProbe::renew_base() {
  const double before_us = base_.us();
  if (!base_.renew()) return;
  spdlog::warn(
      "the clock probe took {:.1f} µs when measuring began and takes {:.1f} now: the device was slowed down then, and drift is held "
      "against what it is now",
      before_us, base_.us());
}

double ClockProbe::time_us() {
  double fastest_us = 0;
  for (int reading = 0; reading < kReadings; ++reading) {
    pacing_.blocking_kernel(stream_);
    before_.record(stream_);
    for (int i = 0; i < kLaunchesPerReading; ++i) pacing_.reference_work(stream_);
    after_.record(stream_);
    after_.synchronize();
    const double us = after_.elapsed_us_since(before_) / kLaunchesPerReading;
    fastest_us = reading == 0 ? us : std::min(fastest_us, us);
  }
  return fastest_us;
}

void ClockProbe::warm_up(double milliseconds) {
  const auto deadline = Clock::now() + std::chrono::duration<double, std::milli>(milliseconds);
  while (Clock::now() < deadline) {
    for (int i = 0; i < 16; ++i) pacing_.reference_work(stream_);
    stream_.synchronize();
  }
}

}  // namespace tilesmith::tuner
