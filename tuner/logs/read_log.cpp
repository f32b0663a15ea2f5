#include "tuner/logs/read_log.hpp"

#include <fmt/format.h>

#include <map>

#include "tuner/logs/formats.hpp"
#include "tuner/logs/words.hpp"

namespace tilesmith::tuner {
namespace {

constexpr std::size_t kLongestLine = 65536;  // bytes
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
constexpr LogFormat kFormats[] = {
    {"cublaslt", "cuBLASLt's trace (CUBLASLT_LOG_LEVEL=2)", read_cublaslt_line},
    {"tunableop", "PyTorch's tunableop_untuned0.csv or tunableop_results0.csv", read_tunableop_line, form_of_tunableop_line},
    {"rocm", "lines of hipblaslt-bench (HIPBLASLT_LOG_MASK=32) or rocblas-bench (ROCBLAS_LAYER=2)", read_bench_line, form_of_bench_line},
};

/// False at the end. `has_end`: whether a newline ends it. Without quotes, which spreadsheets write. Of a line that is too long, no more than shows this.
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
    tried_ = log_.format;
    if (line.size() > kLongestLine) return add_wrong(fmt::format("a line of more than {} bytes, expected a log", kLongestLine), number_);
    log_.is_cut_off = !has_end;
    if (!has_end) return;
    try {
      if (log_.format == nullptr) log_.format = format_of(line);
      Form& form = forms_[log_.format == nullptr || log_.format->form_of == nullptr ? 0 : 1 + log_.format->form_of(line)];
      if (log_.format == nullptr || !log_.format->read(line, form.calls)) ++log_.passed_over;
      else if (++form.lines == 1) form.first = number_;
    } catch (const std::string& wrong) {
      add_wrong(wrong, number_);
    }
  }

  ReadLog finish() {
    const std::size_t right = take_forms();
    for (const auto& [reason, group] : wrong_)
      log_.notes.push_back(fmt::format("{}; {} left out", group.first, group.second == 1 ? "1 line was" : fmt::format("{} such lines were", group.second)));
    if (log_.is_cut_off) log_.notes.push_back(fmt::format("{}:{}: the last line has no end and was left out", origin_, number_));
    if (log_.wrong > right)
      throw LogError(first_wrong_ + (log_.wrong + right > 1 ? fmt::format("; {} of {} lines are wrong", log_.wrong, log_.wrong + right) : ""));
    if (right > 0) return std::move(log_);
    throw LogError(fmt::format("{}no line of such a log in it, expected {}", log_.is_cut_off ? log_.notes.back() + "; else " : origin_ + ": ",
                               log_.format != nullptr ? std::string(log_.format->is) : all_formats()));
  }

 private:
  struct Form {
    Calls calls;
    std::size_t first = 0, lines = 0;
  };

  const LogFormat* format_of(std::string_view line) {
    for (const LogFormat& format : kFormats) {
      Calls unused;
      tried_ = &format;
      if (format.read(line, unused)) return &format;
    }
    return nullptr;
  }

  /// Lines that are wrong for one reason have an end in common.
  void add_wrong(const std::string& wrong, std::size_t number, std::size_t lines = 1) {
    const std::size_t expected = wrong.rfind(", expected");
    auto& [first, count] = wrong_[expected == std::string::npos ? wrong : wrong.substr(expected)];
    if (count == 0) first = fmt::format("{}:{}: {}{}", origin_, number, tried_ != nullptr ? fmt::format("{}: ", tried_->name) : "", wrong);
    if (log_.wrong == 0) first_wrong_ = first;
    count += lines;
    log_.wrong += lines;
  }

  /// Lines that have less in them than most were cut. Returns how many are right.
  std::size_t take_forms() {
    std::size_t most = 1, right = 0;
    tried_ = log_.format;
    for (std::size_t i = 2; i <= kForms; ++i) most = forms_[i].lines >= forms_[most].lines ? i : most;
    for (std::size_t i = 0; i <= kForms; ++i) {
      const bool is_cut = i > 0 && i < most && forms_[i].lines > 0;
      if (is_cut) add_wrong("a line that was cut, expected all that most lines of this log have", forms_[i].first, forms_[i].lines);
      else log_.calls.add(forms_[i].calls);
      right += is_cut ? 0 : forms_[i].lines;
    }
    return right;
  }

  const std::string& origin_;
  ReadLog log_;
  const LogFormat* tried_ = nullptr;
  Form forms_[kForms + 1];                                       // the first: of lines that have none
  std::map<std::string, std::pair<std::string, std::size_t>> wrong_;  // by reason, the first and how many
  std::string first_wrong_;
  std::size_t number_ = 0;
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
