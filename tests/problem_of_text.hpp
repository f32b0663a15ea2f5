// Problems by their canonical text, in tests.
#pragma once

#include <string>

#include "kernels/problem/problem.hpp"
#include "tests/catch.hpp"

namespace tilesmith::tests {

inline Problem problem_of_text(const std::string& text) {
  std::string error;
  const auto problem = parse_problem(text, error);
  INFO(text << ": " << error);
  REQUIRE(problem);
  return *problem;
}

}  // namespace tilesmith::tests
