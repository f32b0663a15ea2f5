// A task: the unit of tuning. It is a GEMM problem, or a kernel of a user's own at given sizes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "kernels/problem/problem.hpp"

namespace tilesmith {

/// A kernel of a user's own (kernels/own/kernel.hpp) with a value for each of its sizes, in the order in which the
/// kernel declares them. Values are at least 1.
struct SizedKernel {
  using Size = std::pair<std::string, std::int64_t>;
  std::string kernel;
  std::vector<Size> sizes;

  friend bool operator==(const SizedKernel&, const SizedKernel&) = default;
};

/// The largest value of a size.
inline constexpr std::int64_t kMaxSize = std::int64_t{1} << 40;

/// Canonical text: "kernel row_softmax rows=4096 cols=1000".
std::string text(const SizedKernel& kernel);

/// "rows=4096"; nullopt if it is none.
std::optional<SizedKernel::Size> parse_size(std::string_view word);

/// Whether the text of a task, or of a signature, is one of a kernel of a user's own.
bool is_of_kernel(std::string_view text);

class Task {
 public:
  Task() = default;
  Task(const Problem& problem) : what_(problem) {}
  Task(SizedKernel kernel) : what_(std::move(kernel)) {}

  bool is_gemm() const { return std::holds_alternative<Problem>(what_); }
  /// The GEMM problem, or the kernel. Throws std::logic_error with the task's text if it is the other.
  const Problem& problem() const;
  const SizedKernel& kernel() const;

  friend bool operator==(const Task&, const Task&) = default;

 private:
  std::variant<Problem, SizedKernel> what_;
};

/// Canonical text: the problem's, or the kernel's. Two tasks are equal exactly if their texts are.
std::string text(const Task& task);

/// Reads the text of a task; a problem is made canonical(). Returns nullopt and sets `error` (one line, what was
/// expected) if it does not parse. Whether the kernel exists and has these sizes is not asked.
std::optional<Task> parse_task(std::string_view text, std::string& error);

/// One line if the task has nothing to compute, as a GEMM with M = 0: the library runs such a one, but there is
/// nothing to tune. It names the dimension and what was expected.
std::optional<std::string> nothing_to_do(const Task& task);

/// nullopt if the task is well formed; else one line that names the field and what was expected.
std::optional<std::string> task_error(const Task& task);

}  // namespace tilesmith
