#include "db/export.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "db/evidence_json.hpp"
#include "db/export_header.hpp"

namespace tilesmith::db {
namespace {

/// TFLOP/s (TOP/s for integers).
double tflops(const Evidence& entry) { return entry.problem.flop() / entry.outcome.timing->median_us / 1e6; }

std::string export_json(std::span<const JudgedBest> bests) {
  Json json = {{"tilesmith_export", 1}, {"made_at", now_utc()}, {"entries", Json::array()}};
  for (const JudgedBest& best : bests) {
    Json entry = to_json(best.evidence);
    entry["tflops"] = tflops(best.evidence);
    entry["candidates"] = best.candidates;
    entry["ok"] = best.ok;
    entry["trust"] = best.trust;
    json["entries"].push_back(std::move(entry));
  }
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

/// A CSV field, quoted where it must be (RFC 4180).
std::string csv_field(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"') result += '"';
    result += c;
  }
  return result + "\"";
}

std::string csv_line(const std::vector<std::string>& fields) {
  std::string line;
  for (const std::string& field : fields) {
    line += csv_field(field);
    line += ',';
  }
  line.back() = '\n';
  return line;
}

std::string export_csv(std::span<const JudgedBest> bests) {
  std::string result =
      "device,power_mode,type,trans,M,N,K,lda,ldb,ldc,align_bytes,beta,family,config,median_us,tflops,spread,samples,"
      "clock_mhz,temperature_c,power_w,drift,driver,nvrtc,template_hash,compiler_options,policy,origin,run,created_at,"
      "candidates,ok,trust\n";
  for (const JudgedBest& best : bests) {
    const Evidence& entry = best.evidence;
    const Problem& problem = entry.problem;
    const Timing& timing = *entry.outcome.timing;
    const auto number = [](auto value) { return fmt::format("{}", value); };
    result += csv_line({entry.device.name, entry.device.power_mode, std::string(problem.type.name),
                        std::string(name(problem.trans)), number(problem.m), number(problem.n), number(problem.k),
                        number(problem.lda), number(problem.ldb), number(problem.ldc), number(problem.align_bytes),
                        std::string(name(problem.beta)), entry.config.family(), entry.config.text(),
                        number(timing.median_us), fmt::format("{:.6g}", tflops(entry)), number(timing.spread),
                        number(timing.samples), number(timing.clock_mhz), number(timing.temperature_c),
                        number(timing.power_w), number(timing.drift), entry.producer.driver_version,
                        entry.producer.nvrtc_version, entry.producer.template_hash, entry.producer.compiler_options,
                        entry.producer.measuring_policy, entry.origin, entry.run, entry.created_at,
                        number(best.candidates), number(best.ok), best.trust});
  }
  return result;
}

std::string markdown_cell(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c == '|') result += '\\';
    result += c == '\n' ? ' ' : c;
  }
  return result;
}

/// What the columns M, N and K do not say: row strides, alignment, beta. Empty for a packed problem with beta = 0.
std::string layout(const Problem& problem) {
  const std::string whole = text(problem);
  const std::string plain = text(packed_problem(problem.type, problem.trans, problem.m, problem.n, problem.k));
  return whole.size() > plain.size() ? whole.substr(plain.size() + 1) : std::string();
}

std::string export_markdown(std::span<const JudgedBest> bests) {
  const bool layouts = std::ranges::any_of(bests, [](const JudgedBest& best) { return !layout(best.evidence.problem).empty(); });
  std::string result = fmt::format(
      "| type | trans | M | N | K |{} device | config | median µs | TFLOP/s | spread | candidates | trust | measured |\n"
      "|---|---|--:|--:|--:|{}---|---|--:|--:|--:|--:|---|---|\n",
      layouts ? " layout |" : "", layouts ? "---|" : "");
  for (const JudgedBest& best : bests) {
    const Evidence& entry = best.evidence;
    const Problem& problem = entry.problem;
    const Timing& timing = *entry.outcome.timing;
    std::string device = entry.device.name;
    if (!entry.device.power_mode.empty()) device += " (" + entry.device.power_mode + ")";
    result += fmt::format("| {} | {} | {} | {} | {} |{} {} | `{}` | {:.2f} | {:.2f} | {:.1f}% | {} | {} | {} |\n",
                          problem.type.name, name(problem.trans), problem.m, problem.n, problem.k,
                          layouts ? fmt::format(" {} |", layout(problem)) : "", markdown_cell(device), entry.config.text(),
                          timing.median_us, tflops(entry), 100 * timing.spread, best.candidates, best.trust, entry.created_at.substr(0, 10));
  }
  return result;
}

}  // namespace

std::optional<ExportFormat> parse_export_format(std::string_view text) {
  if (text == "json") return ExportFormat::json;
  if (text == "csv") return ExportFormat::csv;
  if (text == "markdown") return ExportFormat::markdown;
  if (text == "header") return ExportFormat::header;
  return std::nullopt;
}

std::string export_best(std::span<const JudgedBest> bests, ExportFormat format) {
  switch (format) {
    case ExportFormat::json: return export_json(bests);
    case ExportFormat::csv: return export_csv(bests);
    case ExportFormat::markdown: return export_markdown(bests);
    case ExportFormat::header: return export_header(bests);
  }
  return {};
}

}  // namespace tilesmith::db
