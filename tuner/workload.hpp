// A workload: a list of tasks with weights. Text form, of problems, a line each: `type trans M N K [weight]`, `#`
// comments. M N K may be one word, MxNxK.
//
// After M N K a line may also carry the key=value fields of a problem's canonical text (kernels/problem/problem.hpp):
// lda=, ldb=, ldc= (elements), align= (bytes), beta= (zero or any), epilogue=. A weight is a positive number, 1 if it
// is left out: a task's share of the tuning time, and how often it occurs beside the others. Behind a line `weights
// calls` it is how often the task is called, and its share goes by calls x time. A problem that stands on several
// lines is one task with the sum of their weights. Lines may end in CR LF.
//
// `kernel NAME size=N .. [weight]` is a kernel of one's own, which must be loaded; sizes that are left out are as its
// kernel.json has them.
#pragma once

#include <filesystem>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/problem/task.hpp"

namespace tilesmith::tuner {

struct WeightedTask {
  Task task;
  double weight = 1;
};

struct Workload {
  std::string name;
  std::vector<WeightedTask> tasks;
  bool weights_are_calls = false;
};

/// One line: "FILE:LINE: what was wrong, what was expected".
class WorkloadError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// `origin` names the text in errors, and the workload. A text without a task is an error: nothing to tune is never
/// what was meant.
Workload parse_workload(std::string_view text, const std::string& origin);
/// The words of a task's text; 64x32x16 in the place of M, N and K is three. With a fourth number before them it is
/// a strided batch.
std::vector<std::string> problem_words(std::string_view text);
/// The workload is named as the file is, without its folder and extension. "-": standard input, and "stdin" its name.
Workload load_workload(const std::filesystem::path& path);

/// A file of tuner/workloads, embedded at build time (tuner/workloads/EmbedWorkloads.cmake).
struct BuiltInWorkload {
  std::string_view name;
  std::string_view summary;
  std::string_view text;
};
/// By name.
std::span<const BuiltInWorkload> built_in_workloads();
/// Throws WorkloadError listing the names there are.
Workload built_in_workload(std::string_view name);

}  // namespace tilesmith::tuner
