// Lines of logs, and what becomes of them.
#pragma once

#include <sstream>
#include <string>

#include "kernels/problem/problem.hpp"
#include "tests/catch.hpp"
#include "tuner/logs/formats.hpp"
#include "tuner/logs/read_log.hpp"

namespace tilesmith::tuner::toy {

using ReadLine = bool (*)(std::string_view line, Calls& calls);

/// The problem that a line is, as a workload has it; or "left out: WHY".
inline std::string problem_of_line(ReadLine read, const std::string& line) {
  Calls calls;
  REQUIRE(read(line, calls));
  if (!calls.left_out().empty()) return "left out: " + calls.left_out().begin()->first;
  REQUIRE(calls.problems().size() == 1);
  std::string text;
  return cublas::workload_line(calls.problems()[0].key.problem, {tilesmith_problem_text, tilesmith_last_error}, text)
             ? text
             : "left out: " + text;
}

inline std::string wrong_with(ReadLine read, const std::string& line) {
  Calls calls;
  try {
    read(line, calls);
  } catch (const std::string& wrong) {
    return wrong;
  }
  return "";
}

inline bool is_one(ReadLine read, const std::string& line) {
  Calls calls;
  return read(line, calls);
}

}  // namespace tilesmith::tuner::toy
