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
  std::size_t passed_over = 0;  // lines that are none of the format: programs print into the same file
  bool is_cut_off = false;      // the last line has no end, and could not be read
};

/// `format` null: that of the first line which is one of any. Throws LogError for a line that is the format's and wrong, and for a log without
/// one.
ReadLog read_log(std::istream& in, const std::string& origin, const LogFormat* format = nullptr);

}  // namespace tilesmith::tuner
