#include "tuner/cli/output/bench_output.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "db/files/files.hpp"
#include "tuner/bench_csv.hpp"
#include "tuner/cli/commands/command.hpp"
#include "tuner/cli/options/options.hpp"
#include "tuner/cli/output/records.hpp"

namespace tilesmith::tuner {
namespace {

/// Empty for what is no plain file: there is nothing to go on with.
std::string content_of(const std::string& path) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored) || db::own_descriptor(path)) return {};
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// Positive, or nothing.
std::string number(double value, int digits = 3) {
  return value > 0 ? fmt::format("{:.{}f}", value, digits) : std::string();
}

}  // namespace

BenchOutput::BenchOutput(const std::string& path, const db::DeviceIdentity& device)
    : path_(path), device_(db::text(device)) {
  if (path_.empty()) return;
  require_writable(path_, "--out");
  std::string content = content_of(path_);
  const bool fresh = kBenchCsvHeader.starts_with(content);  // empty, or cut short within the header
  if (fresh && !content.empty()) std::filesystem::resize_file(path_, 0);
  if (const std::size_t whole = content.rfind('\n') + 1; !fresh && whole > 0 && whole < content.size()) {
    content.resize(whole);
    std::filesystem::resize_file(path_, whole);
  }
  try {
    if (!fresh) {
      for (const BenchRow& row : parse_bench_csv(content, path_)) {
        if (row.us && row.device == device_) done_.insert(text(row.problem));
      }
    }
  } catch (const BenchCsvError& error) {
    throw UsageError(fmt::format("--out {}", error.what()));
  }
  file_.reset(db::open_to_append(path_));
  if (!file_) throw UsageError(fmt::format("--out '{}': cannot be opened for writing", path_));
  if (fresh) write(fmt::format("{}\n", kBenchCsvHeader));
}

bool BenchOutput::has(const Problem& problem) const { return done_.count(text(problem)) != 0; }

void BenchOutput::add(const BenchReport& report) {
  if (path_.empty()) return;
  const Problem& p = report.problem;
  const double peer_us = report.peer_best ? report.peer_best->median_us : 0;
  const double first_us = report.peer_first ? report.peer_first->median_us : 0;
  const double peer_row_us = report.peer_row_us.value_or(0);
  std::string rows;
  for (const BenchResult& result : report.ours) {
    const double us = result.outcome.timing ? result.outcome.timing->median_us : 0;
    const double row_us = result.row_us.value_or(0);
    const auto whole = [](auto value) { return fmt::format("{}", value); };
    rows += csv_line({text(p), std::string(p.type.name), std::string(name(p.trans)), whole(p.m), whole(p.n), whole(p.k),
        whole(p.lda), whole(p.ldb), whole(p.ldc), whole(p.align_bytes), std::string(name(p.beta)), device_,
        result.competitor.label, result.competitor.config.family(), result.competitor.config.text(),
        std::string(db::name(result.outcome.status)), number(us),
        us > 0 ? fmt::format("{:.4f}", result.outcome.timing->spread) : "", number(peer_us), number(first_us),
        whole(report.peer_algorithms), us > 0 ? number(peer_us / us) : "", number(row_us), number(peer_row_us),
        row_us > 0 ? number(peer_row_us / row_us) : ""});
  }
  write(rows);
}

void BenchOutput::write(const std::string& text) {
  const bool written =
      std::fwrite(text.data(), 1, text.size(), file_.get()) == text.size() && std::fflush(file_.get()) == 0;
  if (!written) throw UsageError(fmt::format("--out '{}': cannot be written", path_));
}

}  // namespace tilesmith::tuner
