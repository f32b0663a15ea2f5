#include "tuner/cli/output/records.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <functional>
#include <map>
#include <set>

#include "tuner/cli/output/table.hpp"
#include "tuner/figures.hpp"
#include "tuner/peaks.hpp"

namespace tilesmith::tuner {
namespace {

using Align = TextTable::Align;
using Json = nlohmann::ordered_json;

Json positive(double value) { return value > 0 ? Json(value) : Json(nullptr); }

std::string text_of(const Json& value) {
  if (value.is_null()) return "";
  return value.is_string() ? value.get<std::string>() : value.dump();
}

/// A spreadsheet runs a cell that begins so as a formula, unless it is a number; with an apostrophe before it, it is text.
bool would_be_formula(std::string_view text) {
  if (text.find_first_of("=+-@\t\r") != 0) return false;
  double number = 0;
  const auto [end, error] = std::from_chars(text.data() + (text[0] == '+' ? 1 : 0), text.data() + text.size(), number);
  return error != std::errc{} || end != text.data() + text.size() || !std::isfinite(number);
}

std::string csv_field(const std::string& text) {
  const std::string apostrophe = would_be_formula(text) ? "'" : "";
  if (text.find_first_of(",\"\n\r") == std::string::npos) return apostrophe + text;
  std::string quoted = "\"" + apostrophe;
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  quoted += '"';
  return quoted;
}

double median_us(const db::Record& entry) { return entry.outcome.timing ? entry.outcome.timing->median_us : 0; }

Rate measured_rate(const db::Record& entry) { return rate_of(entry.problem, entry.device, median_us(entry)); }

std::string spread_text(const db::Record& entry) {
  return entry.outcome.timing ? fmt::format("±{:.1f}%", 100 * entry.outcome.timing->spread) : "-";
}

/// Batch, epilogue, row strides, ...: what a packed problem with beta = 0 does not have.
std::string options_cell(const Problem& problem) {
  const std::string extras = extras_text(problem);
  return extras.empty() ? extras : extras.substr(1);
}

/// What the tables of bests and of records begin with: the problem and its figures.
class ProblemColumns {
 public:
  void see(const db::Record& entry) {
    devices_[short_name(entry.device)].insert(db::text(entry.device));
    units_.insert(rate_unit(entry.problem.type));
    bytes_ = bytes_ || measured_rate(entry).memory_bound;
    options_ = options_ || !extras_text(entry.problem).empty();
  }

  /// Of all rows; empty if they differ.
  std::string device() const { return devices_.size() == 1 && devices_.begin()->second.size() == 1 ? devices_.begin()->first : ""; }

  /// The short name, where no other device of the rows has it; else the whole text.
  std::string device_cell(const db::DeviceIdentity& device) const {
    const std::string name = short_name(device);
    return devices_.at(name).size() == 1 ? name : db::text(device);
  }

  std::vector<TextTable::Column> columns() const {
    std::vector<TextTable::Column> columns{{"type"}, {"op"}, {"M", Align::right}, {"N", Align::right}, {"K", Align::right}};
    if (options_) columns.push_back({"options"});
    const std::string rate = units_.empty() ? "TFLOP/s" : fmt::format("{}", fmt::join(units_, "|"));
    for (const std::string& title : {std::string("µs"), rate, std::string(bytes_ ? "GB/s" : ""), std::string("peak"), std::string("spread")})
      if (!title.empty()) columns.push_back({title, Align::right});
    return columns;
  }

  std::vector<std::string> cells(const db::Record& entry) const {
    const Problem& p = entry.problem;
    std::vector<std::string> cells{std::string(p.type.name), std::string(name(p.trans)), std::to_string(p.m), std::to_string(p.n),
                                   std::to_string(p.k)};
    if (options_) cells.push_back(options_cell(p));
    cells.push_back(format_us(median_us(entry)));
    cells.push_back(format_tflops(tflops(p, median_us(entry))));
    if (bytes_) cells.push_back(format_tflops(gbps(p, median_us(entry))));
    cells.push_back(measured_rate(entry).percent());
    cells.push_back(spread_text(entry));
    return cells;
  }

 private:
  std::set<std::string> units_;
  std::map<std::string, std::set<std::string>> devices_;  // texts, by short name
  bool options_ = false, bytes_ = false;  // any row needs the column: of options, of GB/s
};

/// What `table(true)` gives, with a column of devices, if it fits; else, where the rows share a device, this above the table without
/// the column.
std::string fitted(const std::function<TextTable(bool)>& table, const std::string& shared_device, std::size_t width) {
  const TextTable whole = table(true);
  if (width == 0 || whole.width() <= width || shared_device.empty()) return whole.text(width, "--format csv");
  return cut_to_width("on " + shared_device, width) + "\n" + table(false).text(width, "--format csv");
}

}  // namespace

nlohmann::ordered_json record(const db::Record& entry, std::int64_t candidates, std::int64_t ok) {
  const Problem& p = entry.problem;
  Json json;
  json["type"] = p.type.name;
  json["trans"] = name(p.trans);
  json["m"] = p.m;
  json["n"] = p.n;
  json["k"] = p.k;
  json["lda"] = p.lda;
  json["ldb"] = p.ldb;
  json["ldc"] = p.ldc;
  json["align_bytes"] = p.align_bytes;
  json["beta"] = name(p.beta);
  json["problem"] = text(p);  // the whole key, canonical
  json["device"] = db::text(entry.device);
  json["family"] = entry.config.family();
  json["config"] = entry.config.text();
  json["status"] = db::name(entry.outcome.status);
  json["message"] = entry.outcome.message.empty() ? Json(nullptr) : Json(entry.outcome.message);
  const db::Timing timing = entry.outcome.timing.value_or(db::Timing{});
  json["median_us"] = positive(timing.median_us);
  json["tflops"] = positive(tflops(p, timing.median_us));
  json["gbps"] = positive(gbps(p, timing.median_us));
  const Rate rate = measured_rate(entry);
  json["bound"] = rate.bound();
  json["peak_fraction"] = positive(rate.of_peak.value_or(0));
  json["spread"] = entry.outcome.timing ? Json(timing.spread) : Json(nullptr);
  json["samples"] = entry.outcome.timing ? Json(timing.samples) : Json(nullptr);
  json["clock_mhz"] = positive(timing.clock_mhz);
  json["temperature_c"] = positive(timing.temperature_c);
  json["power_w"] = positive(timing.power_w);
  json["drift"] = entry.outcome.timing ? Json(timing.drift) : Json(nullptr);
  json["candidates"] = candidates > 0 ? Json(candidates) : Json(nullptr);
  json["candidates_ok"] = candidates > 0 ? Json(ok) : Json(nullptr);
  json["plan_hash"] = entry.plan_hash;
  json["compiler_options"] = entry.environment.compiler_options;
  json["nvrtc_version"] = entry.environment.nvrtc_version;
  json["driver_version"] = entry.environment.driver_version;
  json["measuring_policy"] = entry.environment.measuring_policy;
  json["run"] = entry.run;
  json["origin"] = entry.origin;
  json["created_at"] = entry.created_at;
  return json;
}

std::vector<std::string> record_columns() {
  db::Record empty;
  empty.problem.type = type_pairs().front();
  std::vector<std::string> columns;
  const Json sample = record(empty);
  for (const auto& [key, value] : sample.items()) columns.push_back(key);
  return columns;
}

std::string csv_line(const std::vector<std::string>& fields) {
  std::vector<std::string> quoted;
  for (const std::string& field : fields) quoted.push_back(csv_field(field));
  return fmt::format("{}\n", fmt::join(quoted, ","));
}

std::string to_csv(const nlohmann::ordered_json& records, const std::vector<std::string>& columns) {
  std::string result = csv_line(columns);
  for (const auto& one : records) result += csv_line(fields_of(one, columns));
  return result;
}

std::vector<std::string> fields_of(const nlohmann::ordered_json& one, const std::vector<std::string>& columns) {
  std::vector<std::string> fields;
  for (const std::string& column : columns) fields.push_back(text_of(one.value(column, Json())));
  return fields;
}

nlohmann::ordered_json best_records(const std::vector<db::JudgedBest>& bests) {
  Json records = Json::array();
  for (const db::JudgedBest& best : bests) {
    records.push_back(record(best.record, best.candidates, best.ok));
    records.back()["trust"] = best.trust;
    const db::VendorTimes vendor = best.vendor.value_or(db::VendorTimes{});
    records.back()["vendor_us"] = positive(vendor.first.us);
    records.back()["vendor_best_us"] = positive(vendor.best.us);
    records.back()["vendor_version"] = best.vendor ? Json(vendor.vendor_version) : Json(nullptr);
  }
  return records;
}

std::vector<std::string> best_columns() {
  std::vector<std::string> columns = record_columns();
  for (const char* column : {"trust", "vendor_us", "vendor_best_us", "vendor_version"}) columns.emplace_back(column);
  return columns;
}

std::string vendor_ratio(const db::VendorTime& time, double our_us) { return time.us > 0 && our_us > 0 ? fmt::format("{:.3f}", time.us / our_us) : "-"; }

std::string best_table(const std::vector<db::JudgedBest>& bests, std::size_t width) {
  ProblemColumns problem;
  bool has_vendor = false;
  for (const db::JudgedBest& best : bests) {
    problem.see(best.record);
    has_vendor = has_vendor || best.vendor;
  }
  const auto table = [&](bool with_device) {
    std::vector<TextTable::Column> columns = problem.columns();
    if (has_vendor) {
      for (const char* title : {"vendor", "x", "x best"}) columns.push_back({title, Align::right});
    }
    columns.push_back({"right/tried", Align::right});
    columns.push_back({"trust"});
    if (with_device) columns.push_back({"device"});
    columns.push_back({"config"});
    TextTable made(columns);
    made.hang_from(columns.size() - 1);
    for (const db::JudgedBest& best : bests) {
      std::vector<std::string> cells = problem.cells(best.record);
      if (has_vendor) {
        const db::VendorTimes vendor = best.vendor.value_or(db::VendorTimes{});
        cells.push_back(format_us(vendor.first.us));
        for (const db::VendorTime& time : {vendor.first, vendor.best}) cells.push_back(vendor_ratio(time, median_us(best.record)));
      }
      cells.push_back(fmt::format("{}/{}", best.ok, best.candidates));
      cells.push_back(best.trust);
      if (with_device) cells.push_back(problem.device_cell(best.record.device));
      cells.push_back(best.record.config.text());
      made.add(std::move(cells));
    }
    return made;
  };
  return fitted(table, problem.device(), width);
}

std::string record_table(const std::vector<db::Record>& entries, std::size_t width) {
  ProblemColumns problem;
  for (const db::Record& entry : entries) problem.see(entry);
  const auto table = [&](bool with_device) {
    std::vector<TextTable::Column> columns = problem.columns();
    columns.push_back({"status"});
    columns.push_back({"recorded"});
    if (with_device) columns.push_back({"device"});
    columns.push_back({"config"});
    columns.push_back({"message"});
    TextTable made(columns);
    made.hang_from(columns.size() - 2);
    for (const db::Record& entry : entries) {
      std::vector<std::string> cells = problem.cells(entry);
      cells.emplace_back(db::name(entry.outcome.status));
      cells.push_back(entry.created_at.substr(0, 19));
      if (with_device) cells.push_back(problem.device_cell(entry.device));
      cells.push_back(entry.config.text());
      cells.push_back(entry.outcome.message);
      made.add(std::move(cells));
    }
    return made;
  };
  return fitted(table, problem.device(), width);
}

}  // namespace tilesmith::tuner
