#include "db/store/vendor_times.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "db/store/rows.hpp"
#include "db/store/store_access.hpp"

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

// As rows.

constexpr std::string_view kFromVendorTimes =
    "FROM vendor_times AS entry JOIN problems AS problem ON problem.id = entry.problem_id JOIN devices AS device ON device.id = entry.device_id ";

void add_time(NewRow& row, const char* us, const char* spread, const VendorTime& time) {
  if (time.us > 0) row(us, time.us)(spread, time.spread);
}

VendorTime read_time(const Statement& row, std::string_view us, std::string_view spread, std::string_view algorithm) {
  return {row.real(us), row.real(spread), row.text(algorithm)};  // NULL reads as 0
}

/// Reads rows of `vendor_times` with what was beside them.
class VendorReader {
 public:
  explicit VendorReader(const Database& database)
      : resolver_(database),
        beside_(database,
            "SELECT config_id, plan_hash, median_us FROM vendor_beside WHERE vendor_id = ? ORDER BY median_us, config_id") {
  }

  /// nullopt if it is of a problem that this build cannot read.
  std::optional<VendorTimes> read(const Statement& row) {
    const Task* task = resolver_.task(row.integer("problem_id"));
    if (task == nullptr || !task->is_gemm()) return std::nullopt;
    VendorTimes times = read_fields<VendorTimes>(row);
    times.id = row.integer("id");
    times.problem = task->problem();
    times.device = resolver_.device(row.integer("device_id"));
    times.first = read_time(row, "first_us", "first_spread", "first_algorithm");
    times.best = read_time(row, "best_us", "best_spread", "best_algorithm");
    beside_.clear();
    beside_.bind_all(times.id);
    while (beside_.step()) {
      if (const Config* config = resolver_.config(beside_.integer("config_id")))
        times.beside.push_back({*config, beside_.text("plan_hash"), beside_.real("median_us")});
    }
    return times;
  }

 private:
  Resolver resolver_;
  Statement beside_;
};

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

VendorTimes completed(const VendorTimes& times) {
  if (const auto wrong = vendor_times_error(times))
    throw std::logic_error(
        fmt::format("the vendor's times for '{}' are inconsistent: {}", text(times.problem), *wrong));
  VendorTimes row = times;
  row.created_at = row.created_at.empty() ? now_utc() : *normalized_utc(row.created_at);
  if (row.origin.empty()) row.origin = host_name();
  for (std::string* words : {&row.message, &row.first.algorithm, &row.best.algorithm, &row.run, &row.origin})
    *words = one_line(std::move(*words));
  return row;
}

std::int64_t insert_row(Interner& interner, const VendorTimes& times, std::optional<std::int64_t> id) {
  NewRow row;
  row("problem_id", interner.task(times.problem))("device_id", interner.device(times.device));
  if (id) row("id", *id);
  each_field(times, row);
  add_time(row, "first_us", "first_spread", times.first);
  add_time(row, "best_us", "best_spread", times.best);
  row("first_algorithm", times.first.algorithm)("best_algorithm", times.best.algorithm);
  const std::int64_t vendor_id = interner.insert("vendor_times", row);
  for (const VendorTimes::Beside& one : times.beside) {
    NewRow beside;
    beside("vendor_id", vendor_id)("config_id", interner.config(one.config))("plan_hash", one.plan_hash)(
        "median_us", one.median_us);
    interner.insert("vendor_beside", beside, beside.on_conflict_update("vendor_id, config_id"));
  }
  return vendor_id;
}

std::optional<std::int64_t> find_row(Interner& interner, const VendorTimes& times) {
  NewRow row;
  row("problem_id", interner.task(times.problem))("device_id", interner.device(times.device));
  row("vendor", times.vendor)("vendor_version", times.vendor_version)("created_at", times.created_at);
  row("run", times.run)("message", times.message);
  const auto add = [&](const char* us, double value) { value > 0 ? row(us, value) : row(us, nullptr); };
  add("first_us", times.first.us);
  add("best_us", times.best.us);
  return interner.find("vendor_times", row);
}

void for_each_vendor(const Database& database, const std::function<void(const VendorTimes&)>& use) {
  Statement row(database, "SELECT * FROM vendor_times ORDER BY id");
  VendorReader reader(database);
  while (row.step()) {
    if (const auto times = reader.read(row)) use(*times);
  }
}

std::int64_t Store::record_vendor(const VendorTimes& times) {
  Transaction transaction(impl_->database);
  Interner interner(impl_->database);
  const std::int64_t id = insert_row(interner, completed(times));
  transaction.commit();
  return id;
}

std::vector<VendorTimes> Store::vendor_times(const RecordFilter& filter) const {
  RecordFilter of_vendor = filter;
  of_vendor.family.reset();
  of_vendor.config.reset();
  of_vendor.status.reset();
  of_vendor.latest_only = false;
  const Condition wanted = condition(of_vendor);
  return read_unchanged(impl_->database, [&] {
    const Transaction snapshot(impl_->database, Transaction::Kind::read);
    std::string sql = fmt::format("SELECT entry.* {} WHERE {} ORDER BY entry.id DESC", kFromVendorTimes, wanted.sql);
    if (filter.limit > 0) sql += " LIMIT :limit";
    Statement row(impl_->database, sql);
    wanted.bind(row);
    if (filter.limit > 0) row.bind(":limit", filter.limit);
    VendorReader reader(impl_->database);
    std::vector<VendorTimes> all;
    while (row.step()) {
      if (auto times = reader.read(row)) all.push_back(*std::move(times));
    }
    return all;
  });
}

}  // namespace tilesmith::db
