#include "db/store/vendor_times.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace tilesmith::db {
namespace {

std::optional<std::string> wrong_time(const char* field, const VendorTime& time) {
  const bool is_time = std::isfinite(time.us) && time.us >= 1e-6 && time.us < 1e300;
  if (time.us != 0 && !is_time)
    return fmt::format("{}_us is {}: expected a finite time of a picosecond or more, or 0", field, time.us);
  if (!(std::isfinite(time.spread) && time.spread >= 0))
    return fmt::format("{}_spread is {}: expected a finite ratio, 0 or more", field, time.spread);
  return std::nullopt;
}

}  // namespace

bool VendorTimes::is_beside(const Record& entry) const {
  if (!entry.outcome.timing || !(entry.task == Task(problem)) || !(entry.device == device)) return false;
  return std::ranges::any_of(beside, [&](const Beside& one) {
    return one.median_us == entry.outcome.timing->median_us && one.plan_hash == entry.plan_hash &&
           one.config == entry.config;
  });
}

std::optional<std::string> vendor_times_error(const VendorTimes& times) {
  if (const auto wrong = problem_error(times.problem)) return wrong;
  if (times.device.name.empty()) return std::string("the device has no name: expected one");
  if (times.vendor.empty()) return std::string("vendor is empty: expected 'cublaslt'");
  const auto wrong_key = control_character_error({{"the device's name", times.device.name},
      {"power_mode", times.device.power_mode}, {"vendor", times.vendor}, {"vendor_version", times.vendor_version},
      {"driver_version", times.driver_version}, {"measuring_policy", times.measuring_policy}});
  if (wrong_key) return wrong_key;
  if (const auto wrong = wrong_time("first", times.first)) return wrong;
  if (const auto wrong = wrong_time("best", times.best)) return wrong;
  if (times.first.us > 0 && !(times.best.us > 0 && times.best.us <= times.first.us)) {
    return fmt::format("best_us is {}: expected a time of at most first_us, {}", times.best.us, times.first.us);
  }
  if (!times.has_time() && times.message.empty())
    return std::string("there is neither a time nor a message: expected one of them");
  if (!times.has_time() && !times.beside.empty())
    return std::string("entries are beside no time: expected them with a time alone");
  if (times.offered < 0 || times.timed < 0 || times.timed > times.offered) {
    return fmt::format("{} of {} algorithms were timed: expected a part of them", times.timed, times.offered);
  }
  if (times.has_time()) {  // the rest is as a timing has it
    const Timing shared{times.best.us, times.best.spread, times.samples, times.clock_mhz, times.temperature_c,
        times.power_w, times.drift};
    if (const auto wrong = timing_error(shared)) return wrong;
  }
  for (const VendorTimes::Beside& one : times.beside) {
    Timing timing;
    timing.median_us = one.median_us;
    for (const auto& wrong :
        {config_error(one.config), timing_error(timing), control_character_error({{"plan_hash", one.plan_hash}})}) {
      if (wrong) return "beside it, " + *wrong;
    }
  }
  return time_error(times.created_at);
}

VendorIndex::VendorIndex(std::vector<VendorTimes> newest_first) {
  for (VendorTimes& row : newest_first) {
    std::vector<VendorTimes>& of_problem = rows_[{text(row.problem), text(row.device)}];
    of_problem.push_back(std::move(row));
  }
}

const VendorTimes* VendorIndex::beside(const Record& entry) const {
  if (rows_.empty()) return nullptr;
  const auto found = rows_.find({text(entry.task), text(entry.device)});
  if (found == rows_.end()) return nullptr;
  const auto row = std::ranges::find_if(
      found->second, [&](const VendorTimes& one) { return one.has_time() && one.is_beside(entry); });
  return row == found->second.end() ? nullptr : &*row;
}

const VendorTimes* VendorIndex::newest(const Problem& problem, const DeviceIdentity& device) const {
  const auto found = rows_.find({text(problem), text(device)});
  return found == rows_.end() ? nullptr : &found->second.front();
}

}  // namespace tilesmith::db
