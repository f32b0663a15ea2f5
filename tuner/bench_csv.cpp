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

/// Where the columns that are read stand in a row.
struct Layout {
  std::string_view header;
  std::size_t columns;
  int problem, device;  // -1: there is none
  std::size_t label, config, us, peer_us;
};
constexpr Layout kLayout{kBenchCsvHeader, 25, 0, 11, 12, 14, 16, 18};
constexpr Layout kFormerLayout{kFormerBenchCsvHeader, 14, -1, -1, 5, 7, 8, 10};

class Line {
 public:
  Line(std::string_view text, const Layout& layout, const std::string& origin, std::size_t number)
      : text_(text), layout_(layout), where_(fmt::format("{}:{}", origin, number)) {
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
    if (fields_.size() != layout_.columns) {
      fail(fmt::format("{} columns, expected {}: {}", fields_.size(), layout_.columns, layout_.header));
    }
  }

  std::string_view text_;
  const Layout& layout_;
  std::string where_;
  std::vector<std::string> fields_;
};

/// The former layout has type, transposes, M, N and K in its first five columns.
std::string problem_text(const Line& line, const Layout& layout) {
  if (layout.problem >= 0) return line[std::size_t(layout.problem)];
  return fmt::format("{} {} {} {} {}", line[0], line[1], line[2], line[3], line[4]);
}

BenchRow row_of(const Line& line, const Layout& layout) {
  BenchRow row;
  std::string error;
  const auto problem = parse_problem(problem_text(line, layout), error);
  if (!problem) line.fail(error);
  const auto parsed = Config::parse(line[layout.config]);
  if (!parsed) line.fail(fmt::format("config is '{}', expected FAMILY{{parameter=value,...}}", line[layout.config]));
  row.problem = *problem;
  if (layout.device >= 0) row.device = line[std::size_t(layout.device)];
  row.label = line[layout.label];
  row.config = *parsed;
  row.us = line.number(layout.us, layout.device >= 0 ? "median_us" : "us");
  row.peer_us = line.number(layout.peer_us, "peer_us");
  return row;
}

}  // namespace

std::vector<BenchRow> parse_bench_csv(std::string_view text, const std::string& origin) {
  std::vector<BenchRow> rows;
  std::size_t number = 0;
  const Layout* layout = &kLayout;
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    std::string_view line = text.substr(at, end - at);
    at = end + 1;
    ++number;
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    if (number == 1) {
      if (line == kFormerBenchCsvHeader) {
        layout = &kFormerLayout;
      } else if (line != kBenchCsvHeader) {
        throw BenchCsvError(
            fmt::format("{}:1: no file of `tilesmith bench --out`, expected the line '{}'", origin, kBenchCsvHeader));
      }
    } else if (!line.empty()) {
      rows.push_back(row_of(Line(line, *layout, origin, number), *layout));
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
