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

void bind_time(Statement& statement, const char* us, const char* spread, const char* algorithm, const VendorTime& time) {
  if (time.us > 0) statement.bind(us, time.us).bind(spread, time.spread);  // unbound parameters are NULL
  statement.bind(algorithm, time.algorithm);
}

VendorTime read_time(const Statement& row, std::string_view us, std::string_view spread, std::string_view algorithm) {
  return {row.is_null(us) ? 0 : row.real(us), row.is_null(spread) ? 0 : row.real(spread), row.text(algorithm)};
}

/// Reads rows of `vendor_times` with what was beside them.
class VendorReader {
 public:
  explicit VendorReader(const Database& database)
      : resolver_(database), beside_(database, "SELECT config_id, plan_hash, median_us FROM vendor_beside WHERE vendor_id = ? ORDER BY median_us, config_id") {}

  /// nullopt if it is of a problem that this build cannot read.
  std::optional<VendorTimes> read(const Statement& row) {
    const Problem* problem = resolver_.problem(row.integer("problem_id"));
    if (problem == nullptr) return std::nullopt;
    VendorTimes times;
    times.id = row.integer("id");
    times.problem = *problem;
    times.device = resolver_.device(row.integer("device_id"));
    times.vendor = row.text("vendor");
    times.vendor_version = row.text("vendor_version");
    times.driver_version = row.text("driver_version");
    times.measuring_policy = row.text("measuring_policy");
    times.message = row.text("message");
    times.offered = int(row.integer("offered"));
    times.timed = int(row.integer("timed"));
    times.first = read_time(row, "first_us", "first_spread", "first_algorithm");
    times.best = read_time(row, "best_us", "best_spread", "best_algorithm");
    times.samples = int(row.integer("samples"));
    times.clock_mhz = row.real("clock_mhz");
    times.temperature_c = row.real("temperature_c");
    times.power_w = row.real("power_w");
    times.drift = row.real("drift");
    times.run = row.text("run");
    times.origin = row.text("origin");
    times.created_at = row.text("created_at");
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
    throw std::logic_error(fmt::format("the vendor's times for '{}' are inconsistent: {}", text(times.problem), *wrong));
  VendorTimes row = times;
  row.created_at = row.created_at.empty() ? now_utc() : *normalized_utc(row.created_at);
  if (row.origin.empty()) row.origin = host_name();
  for (std::string* words : {&row.message, &row.first.algorithm, &row.best.algorithm, &row.run, &row.origin}) *words = one_line(std::move(*words));
  return row;
}

std::int64_t insert_vendor(const Database& database, Interner& interner, const VendorTimes& times, std::optional<std::int64_t> id) {
  Statement& statement = interner.prepared(
      "INSERT INTO vendor_times (id, problem_id, device_id, vendor, vendor_version, driver_version, measuring_policy, message, offered, timed, "
      "first_us, first_spread, first_algorithm, best_us, best_spread, best_algorithm, samples, clock_mhz, temperature_c, power_w, drift, run, "
      "origin, created_at) VALUES (:id, :problem, :device, :vendor, :vendor_version, :driver_version, :measuring_policy, :message, :offered, "
      ":timed, :first_us, :first_spread, :first_algorithm, :best_us, :best_spread, :best_algorithm, :samples, :clock_mhz, :temperature_c, "
      ":power_w, :drift, :run, :origin, :created_at)");
  if (id) statement.bind(":id", *id);
  statement.bind(":problem", interner.problem(times.problem)).bind(":device", interner.device(times.device));
  statement.bind(":vendor", times.vendor).bind(":vendor_version", times.vendor_version).bind(":driver_version", times.driver_version);
  statement.bind(":measuring_policy", times.measuring_policy).bind(":message", times.message);
  statement.bind(":offered", times.offered).bind(":timed", times.timed);
  bind_time(statement, ":first_us", ":first_spread", ":first_algorithm", times.first);
  bind_time(statement, ":best_us", ":best_spread", ":best_algorithm", times.best);
  statement.bind(":samples", times.samples).bind(":clock_mhz", times.clock_mhz).bind(":temperature_c", times.temperature_c);
  statement.bind(":power_w", times.power_w).bind(":drift", times.drift);
  statement.bind(":run", times.run).bind(":origin", times.origin).bind(":created_at", times.created_at);
  statement.run();
  const std::int64_t row = database.last_insert_id();
  for (const VendorTimes::Beside& one : times.beside) {
    Statement& beside = interner.prepared("INSERT OR REPLACE INTO vendor_beside (vendor_id, config_id, plan_hash, median_us) VALUES (?, ?, ?, ?)");
    beside.bind_all(row, interner.config(one.config), one.plan_hash, one.median_us).run();
  }
  return row;
}

std::optional<std::int64_t> find_vendor(Interner& interner, const VendorTimes& times) {
  Statement& statement = interner.prepared(
      "SELECT id FROM vendor_times WHERE problem_id = :problem AND device_id = :device AND vendor = :vendor AND vendor_version = :vendor_version "
      "AND created_at = :created_at AND run = :run AND message = :message AND first_us IS :first_us AND best_us IS :best_us LIMIT 1");
  statement.bind(":problem", interner.problem(times.problem)).bind(":device", interner.device(times.device));
  statement.bind(":vendor", times.vendor).bind(":vendor_version", times.vendor_version).bind(":created_at", times.created_at);
  statement.bind(":run", times.run).bind(":message", times.message);
  if (times.first.us > 0) statement.bind(":first_us", times.first.us);
  if (times.best.us > 0) statement.bind(":best_us", times.best.us);
  std::optional<std::int64_t> id;
  if (statement.step()) id = statement.integer("id");
  statement.reset();
  return id;
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
  const std::int64_t id = insert_vendor(impl_->database, interner, completed(times));
  transaction.commit();
  return id;
}

std::vector<VendorTimes> Store::vendor_times(const RecordFilter& filter) const {
  RecordFilter of_vendor;
  of_vendor.type = filter.type;
  of_vendor.trans = filter.trans;
  of_vendor.m = filter.m;
  of_vendor.n = filter.n;
  of_vendor.k = filter.k;
  of_vendor.problem = filter.problem;
  of_vendor.device = filter.device;
  of_vendor.device_exactly = filter.device_exactly;
  of_vendor.sm = filter.sm;
  of_vendor.run = filter.run;
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
