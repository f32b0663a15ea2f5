#include "db/exchange/export.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "db/exchange/record_json.hpp"

namespace tilesmith::db {
namespace {

/// TFLOP/s (TOP/s for integers).
double tflops(const Record& entry) { return entry.task.problem().flop() / entry.outcome.timing->median_us / 1e6; }

std::string export_json(std::span<const JudgedBest> bests) {
  Json json = {{"tilesmith_export", 1}, {"made_at", now_utc()}, {"entries", Json::array()}};
  std::vector<VendorTimes> vendor;
  for (const JudgedBest& best : bests) {
    Json entry = to_json(best.record);
    entry["tflops"] = tflops(best.record);
    entry["candidates"] = best.candidates;
    entry["candidates_ok"] = best.ok;
    entry["trust"] = best.trust;
    json["entries"].push_back(std::move(entry));
    const bool is_new =
        best.vendor && std::ranges::none_of(vendor, [&](const VendorTimes& one) { return one.id == best.vendor->id; });
    if (is_new) vendor.push_back(*best.vendor);
  }
  if (!vendor.empty()) json["vendor_times"] = vendor_times_to_json(vendor);
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string markdown_cell(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c == '|') result += '\\';
    result += c == '\n' ? ' ' : c;
  }
  return result;
}

/// What the columns before do not say: batch, epilogue, row strides, ... Empty for a packed problem with beta = 0.
std::string options_cell(const Problem& problem) {
  const std::string extras = extras_text(problem);
  return extras.empty() ? extras : extras.substr(1);
}

std::string export_markdown(std::span<const JudgedBest> bests) {
  const bool options = std::ranges::any_of(
      bests, [](const JudgedBest& best) { return !options_cell(best.record.task.problem()).empty(); });
  std::string result = fmt::format(
      "| type | trans | M | N | K |{} device | config | median µs | TFLOP/s | spread | candidates | trust | measured |\n"
      "|---|---|--:|--:|--:|{}---|---|--:|--:|--:|--:|---|---|\n",
      options ? " options |" : "", options ? "---|" : "");
  for (const JudgedBest& best : bests) {
    const Record& entry = best.record;
    const Problem& problem = entry.task.problem();
    const Timing& timing = *entry.outcome.timing;
    result += fmt::format("| {} | {} | {} | {} | {} |{} {} | `{}` | {:.2f} | {:.2f} | {:.1f}% | {} | {} | {} |\n",
        problem.type.name, name(problem.trans), problem.m, problem.n, problem.k,
        options ? fmt::format(" {} |", options_cell(problem)) : "", markdown_cell(text(entry.device)),
        entry.config.text(), timing.median_us, tflops(entry), 100 * timing.spread, best.candidates, best.trust,
        entry.created_at.substr(0, 10));
  }
  return result;
}

}  // namespace

std::optional<ExportFormat> parse_export_format(std::string_view text) {
  if (text == "json") return ExportFormat::json;
  if (text == "markdown") return ExportFormat::markdown;
  if (text == "header") return ExportFormat::header;
  return std::nullopt;
}

std::string export_best(std::span<const JudgedBest> bests, ExportFormat format) {
  switch (format) {
    case ExportFormat::json: return export_json(bests);
    case ExportFormat::markdown: return export_markdown(bests);
    case ExportFormat::header: return export_header(bests);
  }
  return {};
}

}  // namespace tilesmith::db
