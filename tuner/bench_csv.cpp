#include "tuner/bench_csv.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fstream>
#include <iterator>

namespace tilesmith::tuner {
namespace {

constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

constexpr std::size_t kColumns = std::ranges::count(kBenchCsvHeader, ',') + 1;
/// Where the columns that are read stand in a row.
constexpr std::size_t kProblem = 0, kDevice = 11, kLabel = 12, kConfig = 14, kMedianUs = 16, kPeerUs = 18;

class Line {
 public:
  Line(std::string_view text, const std::string& origin, std::size_t number)
      : text_(text), where_(fmt::format("{}:{}", origin, number)) {
    split();
  }

  [[noreturn]] void fail(const std::string& what) const { throw BenchCsvError(fmt::format("{}: {}", where_, what)); }

  const std::string& operator[](std::size_t column) const { return fields_[column]; }

  /// A positive number, or nothing.
  std::optional<double> number(std::size_t column, std::string_view name) const {
    const std::string& text = fields_[column];
    if (text.empty()) return std::nullopt;
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size() || !(value > 0) || !std::isfinite(value)) {
      fail(fmt::format("{} is '{}', expected a number above 0, or nothing", name, text));
    }
    return value;
  }

 private:
  void split() {
    std::string field;
    bool quoted = false;
    for (std::size_t i = 0; i < text_.size(); ++i) {
      const char c = text_[i];
      if (quoted && c == '"' && i + 1 < text_.size() && text_[i + 1] == '"') {
        field += '"';
        ++i;
      } else if (c == '"') {
        quoted = !quoted;
      } else if (c == ',' && !quoted) {
        fields_.push_back(std::move(field));
        field.clear();
      } else {
        field += c;
      }
    }
    if (quoted) fail("a quote is not closed, expected each record on one line");
    fields_.push_back(std::move(field));
    if (fields_.size() != kColumns) {
      fail(fmt::format("{} columns, expected {}: {}", fields_.size(), kColumns, kBenchCsvHeader));
    }
  }

  std::string_view text_;
  std::string where_;
  std::vector<std::string> fields_;
};

BenchRow row_of(const Line& line) {
  BenchRow row;
  std::string error;
  const auto problem = parse_problem(line[kProblem], error);
  if (!problem) line.fail(error);
  const auto parsed = Config::parse(line[kConfig]);
  if (!parsed) line.fail(fmt::format("config is '{}', expected FAMILY{{parameter=value,...}}", line[kConfig]));
  row.problem = *problem;
  row.device = line[kDevice];
  if (row.device.empty()) line.fail("device is empty, expected its whole text");
  row.label = line[kLabel];
  row.config = *parsed;
  row.us = line.number(kMedianUs, "median_us");
  row.peer_us = line.number(kPeerUs, "peer_us");
  return row;
}

}  // namespace

std::vector<BenchRow> parse_bench_csv(std::string_view text, const std::string& origin) {
  std::vector<BenchRow> rows;
  std::size_t number = 0;
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    std::string_view line = text.substr(at, end - at);
    at = end + 1;
    ++number;
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    if (number == 1) {
      if (line != kBenchCsvHeader) {
        throw BenchCsvError(
            fmt::format("{}:1: no file of `tilesmith bench --out`, expected the line '{}'", origin, kBenchCsvHeader));
      }
    } else if (!line.empty()) {
      rows.push_back(row_of(Line(line, origin, number)));
    }
  }
  if (number == 0) {
    throw BenchCsvError(fmt::format("{}:1: is empty, expected what `tilesmith bench --out` writes", origin));
  }
  return rows;
}

std::vector<BenchRow> load_bench_csv(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file || std::filesystem::is_directory(path)) {
    throw BenchCsvError(
        fmt::format("{}: cannot be read, expected a file that `tilesmith bench --out` wrote", path.string()));
  }
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  return parse_bench_csv(text, path.string());
}

}  // namespace tilesmith::tuner
