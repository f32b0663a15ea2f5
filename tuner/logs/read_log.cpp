#include "tuner/logs/read_log.hpp"

#include <fmt/format.h>

#include "tuner/logs/formats.hpp"
#include "tuner/logs/words.hpp"

namespace tilesmith::tuner {
namespace {

constexpr std::size_t kLongestLine = 65536;  // bytes
constexpr LogFormat kFormats[] = {
    {"cublaslt", "cuBLASLt's trace (CUBLASLT_LOG_LEVEL=2)", read_cublaslt_line},
    {"tunableop", "PyTorch's tunableop_untuned0.csv or tunableop_results0.csv", read_tunableop_line},
    {"rocm", "lines of hipblaslt-bench (HIPBLASLT_LOG_MASK=32) or rocblas-bench (ROCBLAS_LAYER=2)", read_bench_line},
};

/// False at the end. `has_end`: whether a newline ends it.
bool next_line(std::istream& in, std::string& line, bool& has_end) {
  line.clear();
  std::streambuf& bytes = *in.rdbuf();
  for (int c = bytes.sbumpc(); c != std::char_traits<char>::eof(); c = bytes.sbumpc()) {
    has_end = c == '\n';
    if (has_end) {
      if (!line.empty() && line.back() == '\r') line.pop_back();
      return true;
    }
    line += char(c);
    if (line.size() > kLongestLine) throw fmt::format("a line of more than {} bytes, expected a log", kLongestLine);
  }
  return !line.empty();
}

/// Sets the format by the line, if it is one of any.
bool read_first(std::string_view line, ReadLog& log) {
  for (const LogFormat& format : kFormats) {
    log.format = &format;
    if (format.read(line, log.calls)) return true;
  }
  log.format = nullptr;
  return false;
}

std::string all_formats() {
  std::string text;
  for (const LogFormat& format : kFormats) text += fmt::format("{}{}", text.empty() ? "" : ", ", format.is);
  return text;
}

}  // namespace

std::span<const LogFormat> log_formats() { return kFormats; }

const LogFormat* find_log_format(std::string_view name) {
  for (const LogFormat& format : kFormats) {
    if (format.name == name) return &format;
  }
  return nullptr;
}

ReadLog read_log(std::istream& in, const std::string& origin, const LogFormat* format) {
  ReadLog log;
  log.format = format;
  std::string line;
  bool has_end = true, any = false;
  std::size_t number = 0;
  try {
    while (++number, next_line(in, line, has_end)) {
      try {
        const bool is_one = log.format != nullptr ? log.format->read(line, log.calls) : read_first(line, log);
        any = any || is_one;
        log.passed_over += is_one ? 0 : 1;
      } catch (const std::string&) {
        if (has_end || !any) throw;
        log.is_cut_off = true;
      }
    }
  } catch (const std::string& wrong) {
    throw LogError(fmt::format("{}:{}: {}{}", origin, number, log.format != nullptr ? fmt::format("{}: ", log.format->name) : "", wrong));
  }
  if (!any) throw LogError(fmt::format("{}: no line of such a log in it, expected {}", origin, format != nullptr ? std::string(format->is) : all_formats()));
  return log;
}

}  // namespace tilesmith::tuner
