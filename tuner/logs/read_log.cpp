#include "tuner/logs/read_log.hpp"

#include <fmt/format.h>

#include <map>

#include "tuner/logs/formats.hpp"
#include "tuner/logs/words.hpp"

namespace tilesmith::tuner {
namespace {

constexpr std::size_t kLongestLine = 65536;  // bytes
constexpr std::size_t kLinesThatTell = 64;
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
constexpr LogFormat kFormats[] = {
    {"cublaslt", "cuBLASLt's trace (CUBLASLT_LOG_LEVEL=2)", read_cublaslt_line},
    {"tunableop", "PyTorch's tunableop_untuned0.csv or tunableop_results0.csv", read_tunableop_line,
        form_of_tunableop_line},
    {"rocm", "lines of hipblaslt-bench (HIPBLASLT_LOG_MASK=32) or rocblas-bench (ROCBLAS_LAYER=2)", read_bench_line,
        form_of_bench_line},
};

/// False at the end. `has_end`: whether a newline ends the line. Quotes, which spreadsheets add, are dropped, and so is
/// the rest of a line that is too long.
bool next_line(std::istream& in, std::string& line, bool& has_end) {
  line.clear();
  has_end = false;
  std::streambuf& bytes = *in.rdbuf();
  for (int c = bytes.sbumpc(); c != std::char_traits<char>::eof(); c = bytes.sbumpc()) {
    has_end = c == '\n';
    if (has_end) {
      if (!line.empty() && line.back() == '\r') line.pop_back();
      return true;
    }
    if (line.size() <= kLongestLine && c != '"') line += char(c);
  }
  return !line.empty();
}

std::string all_formats() {
  std::string text;
  for (const LogFormat& format : kFormats) text += fmt::format("{}{}", text.empty() ? "" : ", ", format.is);
  return text;
}

class LogReader {
 public:
  LogReader(const std::string& origin, const LogFormat* format) : origin_(origin) { log_.format = format; }

  void take(std::string_view line, bool has_end) {
    if (++number_ == 1 && line.starts_with(kByteOrderMark)) line.remove_prefix(kByteOrderMark.size());
    if (line.size() > kLongestLine)
      return add_wrong(fmt::format("a line of more than {} bytes, expected a log", kLongestLine), number_, log_.format);
    log_.is_cut_off = !has_end;
    if (!has_end || (log_.format == nullptr && !find_format(line))) return;
    if (is_form_known_) return read(line, number_);
    first_.emplace_back(number_, line);
    if (first_.size() == kLinesThatTell) read_first();
  }

  ReadLog finish() {
    if (log_.format != nullptr) read_first();
    for (const auto& [reason, group] : wrong_)
      log_.notes.push_back(fmt::format("{}; {} left out", group.first,
          group.second == 1 ? "1 line was" : fmt::format("{} such lines were", group.second)));
    if (log_.is_cut_off)
      log_.notes.push_back(fmt::format("{}:{}: the last line has no end and was left out", origin_, number_));
    if (log_.wrong > right_)
      throw LogError(
          first_wrong_ +
          (log_.wrong + right_ > 1 ? fmt::format("; {} of {} lines are wrong", log_.wrong, log_.wrong + right_) : ""));
    if (right_ > 0) return std::move(log_);
    throw LogError(fmt::format("{}no line of such a log in it, expected {}",
        log_.is_cut_off ? log_.notes.back() + "; else " : origin_ + ": ",
        log_.format != nullptr ? std::string(log_.format->is) : all_formats()));
  }

 private:
  /// Whether the line can be read in one of the formats, which is the log's then.
  bool find_format(std::string_view line) {
    for (const LogFormat& format : kFormats) {
      Calls unused;
      try {
        if (!format.read(line, unused)) continue;
        log_.format = &format;
      } catch (const std::string& wrong) {
        add_wrong(wrong, number_, &format);
      }
      return log_.format != nullptr;
    }
    ++log_.passed_over;
    return false;
  }

  int form_of(std::string_view line) const { return log_.format->form_of == nullptr ? -1 : log_.format->form_of(line); }

  /// The first lines tell what form most of a log have.
  void read_first() {
    std::size_t lines[kForms] = {};
    for (const auto& [number, line] : first_) {
      const int form = form_of(line);
      if (form >= 0 && is_right(line)) ++lines[form];
    }
    for (int form = 1; form < kForms; ++form) form_ = lines[form] > 0 && lines[form] >= lines[form_] ? form : form_;
    for (const auto& [number, line] : first_) read(line, number);
    first_.clear();
    is_form_known_ = true;
  }

  bool is_right(std::string_view line) const {
    Calls unused;
    try {
      return log_.format->read(line, unused);
    } catch (const std::string&) {
      return false;
    }
  }

  void read(std::string_view line, std::size_t number) {
    const int form = form_of(line);
    const bool is_cut = form >= 0 && form < form_;
    Calls unused;
    try {
      const bool is_one = log_.format->read(line, is_cut ? unused : log_.calls);
      if (is_one && is_cut) throw std::string("a line that was cut, expected all that most lines of this log have");
      ++(is_one ? right_ : log_.passed_over);
    } catch (const std::string& wrong) {
      add_wrong(wrong, number, log_.format);
    }
  }

  /// Lines that are wrong for one reason have an end in common.
  void add_wrong(const std::string& wrong, std::size_t number, const LogFormat* format) {
    const std::size_t expected = wrong.rfind(", expected");
    auto& [first, lines] = wrong_[expected == std::string::npos ? wrong : wrong.substr(expected)];
    if (++lines == 1)
      first = fmt::format(
          "{}:{}: {}{}", origin_, number, format != nullptr ? fmt::format("{}: ", format->name) : "", wrong);
    if (++log_.wrong == 1) first_wrong_ = first;
  }

  const std::string& origin_;
  ReadLog log_;
  std::vector<std::pair<std::size_t, std::string>> first_;  // with their numbers, until they have told what form_ is
  int form_ = 0;
  bool is_form_known_ = false;
  std::map<std::string, std::pair<std::string, std::size_t>> wrong_;  // by reason, the first and how many
  std::string first_wrong_;
  std::size_t number_ = 0, right_ = 0;  // lines
};

}  // namespace

std::span<const LogFormat> log_formats() { return kFormats; }

const LogFormat* find_log_format(std::string_view name) {
  for (const LogFormat& format : kFormats) {
    if (format.name == name) return &format;
  }
  return nullptr;
}

ReadLog read_log(std::istream& in, const std::string& origin, const LogFormat* format) {
  LogReader reader(origin, format);
  std::string line;
  for (bool has_end = true; next_line(in, line, has_end);) reader.take(line, has_end);
  return reader.finish();
}

}  // namespace tilesmith::tuner
