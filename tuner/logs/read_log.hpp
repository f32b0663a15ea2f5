// A log of a program's products, read line by line: it may be as long as a night.
#pragma once

#include <cstdint>
#include <istream>
#include <map>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/cublas/calls/families.hpp"

namespace tilesmith::tuner {

// What a log says of a program's products: problems with the number of their calls, and how many calls are no problem
// of ours, by reason.

class Calls {
 public:
  /// A call as the shim would have seen it. It is judged by the same rules (runtime/cublas/calls/problem_key.hpp).
  void add(const cublas::GemmCall& call, std::uint64_t times = 1);
  void leave_out(const std::string& why, std::uint64_t times = 1) { left_out_[why] += times; }
  void leave_out(cublas::Reason why, std::uint64_t times = 1) { leave_out(cublas::text(why), times); }
  /// Of another log.
  void add(const Calls& others);

  const std::vector<cublas::CountedProblem>& problems() const {
    return problems_;
  }  // one may stand there several times
  const std::map<std::string, std::uint64_t>& left_out() const { return left_out_; }
  std::uint64_t count() const { return count_; }  // of `problems`

 private:
  std::vector<cublas::CountedProblem> problems_;
  std::map<std::string, std::uint64_t> left_out_;
  std::uint64_t count_ = 0;
  std::size_t fold_at_ = 4096;
};

/// A call whose operands a log does not tell: aligned to 16 bytes, C where D lies, alpha 1. cublas::GemmCall's sizes
/// and types are to be set.
cublas::GemmCall call_of_a_log();
/// What a call's alpha or beta may point at: a value of any type that is 0, or is not.
const void* scalar_of_a_log(bool is_zero);

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
