// A workload: a list of problems with weights. Text form, a line each: `type trans M N K [weight]`, `#` comments.
#pragma once

#include <filesystem>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/problem.hpp"

namespace tilesmith::tuner {

struct WeightedProblem {
  Problem problem;
  double weight = 1;
};

struct Workload {
  std::string name;
  std::vector<WeightedProblem> problems;
};

/// One line: "FILE:LINE: what was wrong, what was expected".
class WorkloadError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// `origin` names the text in errors.
Workload parse_workload(std::string_view text, const std::string& origin);
Workload load_workload(const std::filesystem::path& path);

struct BuiltInWorkload {
  std::string_view name;
  std::string_view summary;
};
std::vector<BuiltInWorkload> built_in_workloads();
/// Throws WorkloadError listing the names there are.
Workload built_in_workload(std::string_view name);

}  // namespace tilesmith::tuner
