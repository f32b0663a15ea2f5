// The vendor's library in a final benchmark: asked for beside the finalists of each round, and in a round of its own
// where there is none to play. What it took in the last round is on the scale of all that were played, and is stored
// with them.

#include <algorithm>
#include <utility>

#include "kernels/families/plan_hash.hpp"
#include "tuner/loop/tune_task.hpp"
#include "tuner/measure/timing_policy.hpp"

namespace tilesmith::tuner {

constexpr double kVendorShare = 0.01;  // of the slice, for the search among its algorithms
constexpr double kLeastVendorSeconds = 0.1;
constexpr std::size_t kBesideVendor = 3;  // of ours, in a round of its own

bool TaskTuning::is_vendor_wanted() const {
  return task_.is_gemm() && run_.options.vendor && !run_.evaluator.is_replay() && run_.evaluator.has_vendor();
}

std::vector<db::Outcome> TaskTuning::play_round(
    const std::vector<Config>& configs, std::optional<db::VendorTimes>& vendor) {
  if (!is_vendor_wanted()) return run_.evaluator.final_benchmark(task_, configs);
  const VendorAsk ask{std::max(kLeastVendorSeconds, kVendorShare * (run_.clock_seconds() - began_))};
  Evaluator::BesideVendor played = run_.evaluator.final_benchmark_beside_vendor(task_, configs, ask);
  vendor = std::move(played.vendor);
  return std::move(played.outcomes);
}

/// `comparable`: the round's times were put on the scale of those before it.
void TaskTuning::take_vendor(std::optional<db::VendorTimes> vendor, bool comparable) {
  if (!comparable) {
    beside_vendor_.clear();
    vendor_.reset();
  }
  if (!vendor || (vendor_ && !vendor->has_time())) return;
  vendor->first.us *= final_benchmark_scale_;
  vendor->best.us *= final_benchmark_scale_;
  vendor_ = std::move(vendor);
}

/// Whether the database has what the vendor took beside this candidate's time, or a reason of today why it took none.
bool TaskTuning::has_vendor_times(std::size_t index) const {
  const db::VendorIndex known(run_.store.vendor_times({.task = task_, .device_exactly = run_.evaluator.device()}));
  const db::VendorTimes* newest = known.newest(task_.problem(), run_.evaluator.device());
  if (newest == nullptr) return false;
  const Config config = start_.space.config(index);
  const db::Environment environment = starting_points_.environment(config.family());
  if (!newest->has_time())
    return newest->driver_version == environment.driver_version &&
           newest->measuring_policy == environment.measuring_policy;
  db::Record entry{.task = task_, .config = config, .device = run_.evaluator.device()};
  entry.outcome.timing = db::Timing{.median_us = *time_us_[index]};
  entry.plan_hash = plan_hash(config, task_, environment.compiler_options);
  return known.beside(entry) != nullptr;
}

/// In the rounds that were played, or else in one of its own beside the best, whose time stands if it was played
/// before.
void TaskTuning::time_vendor() {
  if (!is_vendor_wanted() || run_.stop) return record_vendor();
  const auto best = fastest([](std::size_t) { return true; });
  if (!best) return;
  if (!vendor_ && !has_vendor_times(*best)) {
    std::vector<std::size_t> playing{*best};
    for (const std::size_t index : finalists()) {
      if (playing.size() < kBesideVendor && index != *best) playing.push_back(index);
    }
    const bool stands = played_off_[*best] && !disturbed_[*best];
    if (final_benchmark_round(playing, stands ? time_us_[*best] : std::nullopt)) {
      if (const auto now = fastest([](std::size_t) { return true; })) set_best(*now);
      report(std::nullopt);
    }
  }
  record_vendor();
}

/// A reason that stands already is not stored again.
bool TaskTuning::is_known_reason(const db::VendorTimes& times) const {
  const std::vector<db::VendorTimes> newest =
      run_.store.vendor_times({.task = task_, .device_exactly = run_.evaluator.device(), .limit = 1});
  return !newest.empty() && !newest[0].has_time() && newest[0].message == times.message &&
         newest[0].vendor_version == times.vendor_version && newest[0].driver_version == times.driver_version &&
         newest[0].measuring_policy == times.measuring_policy;
}

void TaskTuning::record_vendor() {
  if (!vendor_ || (!vendor_->has_time() && is_known_reason(*vendor_))) return;
  vendor_->run = run_.result.run;
  vendor_->beside.clear();
  if (vendor_->has_time()) {
    for (const std::size_t index : beside_vendor_) {
      const Config config = start_.space.config(index);
      const std::string hash = plan_hash(config, task_, starting_points_.environment(config.family()).compiler_options);
      vendor_->beside.push_back({config, hash, *time_us_[index]});
    }
  }
  run_.store.record_vendor(*vendor_);
  vendor_.reset();
}

}  // namespace tilesmith::tuner
