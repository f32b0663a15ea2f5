// A log of a program's products, read line by line: it may be as long as a night.
#pragma once

#include <istream>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

#include "tuner/logs/calls.hpp"

namespace tilesmith::tuner {

struct LogFormat {
  std::string_view name;
  std::string_view is;  // what it is, for --help and errors
  bool (*read)(std::string_view line, Calls& calls);
  int (*form_of)(std::string_view line) = nullptr;  // formats.hpp; nullptr: a line that was cut is never a whole one
};
std::span<const LogFormat> log_formats();
/// nullptr: there is none of that name.
const LogFormat* find_log_format(std::string_view name);

/// One line: "FILE:LINE: what was wrong, what was expected".
class LogError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct ReadLog {
  const LogFormat* format = nullptr;
  Calls calls;
  std::size_t passed_over = 0;     // lines that are none of the format: programs print into the same file
  std::size_t wrong = 0;           // lines that are the format's and cannot be read, or were cut: they are left out
  bool is_cut_off = false;         // the last line has no end, so that nobody knows whether it is whole: it is left out
  std::vector<std::string> notes;  // what was left out, the first line of each reason: "FILE:LINE: .."
};

/// `format` null: that of the first good line which is one of any. Throws LogError for a log without one, and for one
/// of whose lines more are wrong than right.
ReadLog read_log(std::istream& in, const std::string& origin, const LogFormat* format = nullptr);

}  // namespace tilesmith::tuner
