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

using Json = nlohmann::ordered_json;

Json positive(double value) { return value > 0 ? Json(value) : Json(nullptr); }

std::string text_of(const Json& value) {
  if (value.is_null()) return "";
  return value.is_string() ? value.get<std::string>() : value.dump();
}

/// A spreadsheet runs a cell that begins so as a formula, unless it is a number; with an apostrophe before it, it is
/// text.
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

Rate measured_rate(const db::Record& entry) { return rate_of(entry.task, entry.device, median_us(entry), 0); }

std::string spread_text(const db::Record& entry) {
  return entry.outcome.timing ? fmt::format("±{:.1f}%", 100 * entry.outcome.timing->spread) : "-";
}

/// What the tables of bests and of records begin with: the task and its figures. All rows are of GEMM problems, or all
/// of kernels.
class TaskColumns {
 public:
  void see(const db::Record& entry) {
    devices_[short_name(entry.device)].insert(db::text(entry.device));
    if (kernels_ = !entry.task.is_gemm(); kernels_) return;
    units_.insert(rate_unit(entry.task.problem().type));
    bytes_ = bytes_ || measured_rate(entry).memory_bound;
    options_ = options_ || !extras_text(entry.task.problem()).empty();
  }

  /// Of all rows; empty if they differ.
  std::string device() const {
    return devices_.size() == 1 && devices_.begin()->second.size() == 1 ? devices_.begin()->first : "";
  }

  /// The short name, where no other device of the rows has it; else the whole text.
  std::string device_cell(const db::DeviceIdentity& device) const {
    const std::string name = short_name(device);
    return devices_.at(name).size() == 1 ? name : db::text(device);
  }

  std::vector<std::string> titles() const {
    if (kernels_) return {"kernel", ">µs", ">rate", ">peak", ">spread"};
    std::vector<std::string> titles = problem_titles(options_);
    titles.insert(titles.end(), {">µs", units_.empty() ? ">TFLOP/s" : fmt::format(">{}", fmt::join(units_, "|"))});
    if (bytes_) titles.push_back(">GB/s");
    titles.insert(titles.end(), {">peak", ">spread"});
    return titles;
  }

  std::vector<std::string> cells(const db::Record& entry) const {
    if (kernels_) {
      const Rate rate = measured_rate(entry);
      return {text(entry.task).substr(std::string_view("kernel ").size()), format_us(median_us(entry)),
          rate.value > 0 ? fmt::format("{} {}", format_tflops(rate.value), rate.unit) : "-", rate.percent(),
          spread_text(entry)};
    }
    const Problem& p = entry.task.problem();
    const double us = median_us(entry);
    std::vector<std::string> cells = problem_cells(p, options_);
    cells.insert(cells.end(), {format_us(us), format_tflops(tflops(p, us))});
    if (bytes_) cells.push_back(format_tflops(gbps(p, us)));
    cells.insert(cells.end(), {measured_rate(entry).percent(), spread_text(entry)});
    return cells;
  }

 private:
  std::set<std::string> units_;
  std::map<std::string, std::set<std::string>> devices_;  // texts, by short name
  bool kernels_ = false;
  bool options_ = false, bytes_ = false;  // any row needs the column: of options, of GB/s
};

/// What `table(true)` gives, with a column of devices, if it fits; else, where the rows share a device, this above the
/// table without the column.
std::string fitted(const std::function<TextTable(bool)>& table, const std::string& shared_device, std::size_t width) {
  const TextTable whole = table(true);
  if (width == 0 || whole.width() <= width || shared_device.empty()) return whole.text(width, "--format csv");
  return cut_to_width("on " + shared_device, width) + "\n" + table(false).text(width, "--format csv");
}

}  // namespace

std::vector<std::string> problem_titles(bool options) {
  std::vector<std::string> titles{"type", "op", ">M", ">N", ">K"};
  if (options) titles.push_back("options");
  return titles;
}

std::vector<std::string> problem_cells(const Problem& problem, bool options) {
  std::vector<std::string> cells{std::string(problem.type.name), std::string(name(problem.trans)),
      std::to_string(problem.m), std::to_string(problem.n), std::to_string(problem.k)};
  const std::string extras = extras_text(problem);
  if (options) cells.push_back(extras.empty() ? extras : extras.substr(1));
  return cells;
}

nlohmann::ordered_json record(const db::Record& entry, std::int64_t candidates, std::int64_t ok) {
  const bool is_gemm = entry.task.is_gemm();  // fields that a kernel does not have are null
  const Problem p = is_gemm ? entry.task.problem() : Problem{};
  const db::Outcome& outcome = entry.outcome;
  const db::Timing timing = outcome.timing.value_or(db::Timing{});
  const Rate rate = measured_rate(entry);
  const auto given = [](bool is_known, const auto& value) { return is_known ? Json(value) : Json(nullptr); };
  const bool timed = outcome.timing.has_value();
  const auto of_gemm = [&](const auto& value) { return given(is_gemm, value); };
  return {{"type", is_gemm ? p.type.name : "kernel"}, {"trans", of_gemm(name(p.trans))}, {"m", of_gemm(p.m)},
      {"n", of_gemm(p.n)}, {"k", of_gemm(p.k)}, {"lda", of_gemm(p.lda)}, {"ldb", of_gemm(p.ldb)},
      {"ldc", of_gemm(p.ldc)}, {"align_bytes", of_gemm(p.align_bytes)}, {"beta", of_gemm(name(p.beta))},
      {"problem", text(entry.task)},  // the whole key, canonical
      {"device", db::text(entry.device)}, {"family", entry.config.family()}, {"config", entry.config.text()},
      {"status", db::name(outcome.status)}, {"message", given(!outcome.message.empty(), outcome.message)},
      {"median_us", positive(timing.median_us)},
      {"tflops", positive(is_gemm             ? tflops(p, timing.median_us)
                          : rate.memory_bound ? 0
                                              : rate.value)},
      {"gbps", positive(is_gemm             ? gbps(p, timing.median_us)
                        : rate.memory_bound ? rate.value
                                            : 0)},
      {"bound", rate.bound()}, {"peak_fraction", positive(rate.of_peak.value_or(0))},
      {"spread", given(timed, timing.spread)}, {"samples", given(timed, timing.samples)},
      {"clock_mhz", positive(timing.clock_mhz)}, {"temperature_c", positive(timing.temperature_c)},
      {"power_w", positive(timing.power_w)}, {"drift", given(timed, timing.drift)},
      {"candidates", given(candidates > 0, candidates)}, {"candidates_ok", given(candidates > 0, ok)},
      {"plan_hash", entry.plan_hash}, {"compiler_options", entry.environment.compiler_options},
      {"nvrtc_version", entry.environment.nvrtc_version}, {"driver_version", entry.environment.driver_version},
      {"measuring_policy", entry.environment.measuring_policy}, {"run", entry.run}, {"origin", entry.origin},
      {"created_at", entry.created_at}};
}

std::vector<std::string> keys_of(const nlohmann::ordered_json& object) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : object.items()) keys.push_back(key);
  return keys;
}

std::vector<std::string> record_columns() {
  db::Record empty;
  empty.task = packed_problem({type_pairs().front(), {}}, 0, 0, 0);
  return keys_of(record(empty));
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

void put_trust(nlohmann::ordered_json& json, const db::JudgedBest& best) {
  const db::VendorTimes vendor = best.vendor.value_or(db::VendorTimes{});
  json["trust"] = best.trust;
  json["vendor_us"] = positive(vendor.first.us);
  json["vendor_best_us"] = positive(vendor.best.us);
}

nlohmann::ordered_json best_records(const std::vector<db::JudgedBest>& bests) {
  Json records = Json::array();
  for (const db::JudgedBest& best : bests) {
    records.push_back(record(best.record, best.candidates, best.ok));
    put_trust(records.back(), best);
    records.back()["vendor_version"] = best.vendor ? Json(best.vendor->vendor_version) : Json(nullptr);
  }
  return records;
}

std::vector<std::string> best_columns() {
  std::vector<std::string> columns = record_columns();
  for (const char* column : {"trust", "vendor_us", "vendor_best_us", "vendor_version"}) columns.emplace_back(column);
  return columns;
}

std::string vendor_ratio(const db::VendorTime& time, double our_us) {
  return time.us > 0 && our_us > 0 ? fmt::format("{:.3f}", time.us / our_us) : "-";
}

std::string best_table(const std::vector<db::JudgedBest>& bests, std::size_t width) {
  TaskColumns problem;
  bool has_vendor = false;
  for (const db::JudgedBest& best : bests) {
    problem.see(best.record);
    has_vendor = has_vendor || best.vendor;
  }
  const auto table = [&](bool with_device) {
    std::vector<std::string> titles = problem.titles();
    if (has_vendor) titles.insert(titles.end(), {">vendor", ">x", ">x best"});
    titles.insert(titles.end(), {">right/tried", "trust"});
    if (with_device) titles.push_back("device");
    titles.push_back("config");
    TextTable made(titles);
    made.hang_from(titles.size() - 1);
    for (const db::JudgedBest& best : bests) {
      std::vector<std::string> cells = problem.cells(best.record);
      if (has_vendor) {
        const db::VendorTimes vendor = best.vendor.value_or(db::VendorTimes{});
        cells.push_back(format_us(vendor.first.us));
        for (const db::VendorTime& time : {vendor.first, vendor.best})
          cells.push_back(vendor_ratio(time, median_us(best.record)));
      }
      cells.insert(cells.end(), {fmt::format("{}/{}", best.ok, best.candidates), best.trust});
      if (with_device) cells.push_back(problem.device_cell(best.record.device));
      cells.push_back(best.record.config.text());
      made.add(std::move(cells));
    }
    return made;
  };
  return fitted(table, problem.device(), width);
}

std::string record_table(const std::vector<db::Record>& entries, std::size_t width) {
  TaskColumns problem;
  for (const db::Record& entry : entries) problem.see(entry);
  const auto table = [&](bool with_device) {
    std::vector<std::string> titles = problem.titles();
    titles.insert(titles.end(), {"status", "recorded"});
    if (with_device) titles.push_back("device");
    titles.insert(titles.end(), {"config", "message"});
    TextTable made(titles);
    made.hang_from(titles.size() - 2);
    for (const db::Record& entry : entries) {
      std::vector<std::string> cells = problem.cells(entry);
      cells.insert(cells.end(), {std::string(db::name(entry.outcome.status)), entry.created_at.substr(0, 19)});
      if (with_device) cells.push_back(problem.device_cell(entry.device));
      cells.insert(cells.end(), {entry.config.text(), entry.outcome.message});
      made.add(std::move(cells));
    }
    return made;
  };
  return fitted(table, problem.device(), width);
}

}  // namespace tilesmith::tuner
