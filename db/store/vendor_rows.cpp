// What the vendor took, as rows.
#include <fmt/format.h>

#include <stdexcept>
#include <string_view>
#include <utility>

#include "db/store/rows.hpp"
#include "db/store/store_access.hpp"

namespace tilesmith::db {
namespace {

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

std::int64_t insert_vendor(Interner& interner, const VendorTimes& times, std::optional<std::int64_t> id) {
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

std::optional<std::int64_t> find_vendor(Interner& interner, const VendorTimes& times) {
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
  const std::int64_t id = insert_vendor(interner, completed(times));
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
