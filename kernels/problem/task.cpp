#include "kernels/problem/task.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <stdexcept>

#include "kernels/base/words.hpp"

namespace tilesmith {
namespace {

constexpr std::string_view kKernel = "kernel";

std::optional<std::string> kernel_error(const SizedKernel& kernel) {
  if (!is_c_name(kernel.kernel)) return fmt::format("kernel is '{}': expected {}", kernel.kernel, kCNameMeans);
  for (const auto& [name, value] : kernel.sizes) {
    if (!is_c_name(name)) return fmt::format("size '{}': expected {}", name, kCNameMeans);
    if (value < 1 || value > kMaxSize) return fmt::format("{} is {}: expected 1 to {}", name, value, kMaxSize);
    if (std::ranges::count(kernel.sizes, name, &SizedKernel::Size::first) > 1)
      return fmt::format("{}: expected each size once", name);
  }
  return std::nullopt;
}

}  // namespace

std::optional<SizedKernel::Size> parse_size(std::string_view word) {
  const std::size_t equals = word.find('=');
  if (equals == std::string_view::npos || !is_c_name(word.substr(0, equals))) return std::nullopt;
  const std::string_view digits = word.substr(equals + 1);
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc{} || end != digits.data() + digits.size()) return std::nullopt;
  return SizedKernel::Size{word.substr(0, equals), value};
}

std::string text(const SizedKernel& kernel) {
  std::string result = fmt::format("{} {}", kKernel, kernel.kernel);
  for (const auto& [name, value] : kernel.sizes) result += fmt::format(" {}={}", name, value);
  return result;
}

bool is_of_kernel(std::string_view text) {
  const std::vector<std::string_view> parts = words(text);
  return !parts.empty() && parts[0] == kKernel;
}

const Problem& Task::problem() const {
  if (const auto* problem = std::get_if<Problem>(&what_)) return *problem;
  throw std::logic_error(text(*this) + ": expected a GEMM problem");
}

const SizedKernel& Task::kernel() const {
  if (const auto* kernel = std::get_if<SizedKernel>(&what_)) return *kernel;
  throw std::logic_error(text(*this) + ": expected a kernel");
}

std::string text(const Task& task) { return task.is_gemm() ? text(task.problem()) : text(task.kernel()); }

std::optional<Task> parse_task(std::string_view text, std::string& error) {
  const std::vector<std::string_view> parts = words(text);
  if (!is_of_kernel(text)) {
    const std::optional<Problem> problem = parse_problem(text, error);
    return problem ? std::optional<Task>(*problem) : std::nullopt;
  }
  SizedKernel kernel;
  if (parts.size() > 1) kernel.kernel = parts[1];
  for (std::size_t i = 2; i < parts.size(); ++i) {
    auto size = parse_size(parts[i]);
    if (!size) {
      error = fmt::format("'{}': expected a size with its value, e.g. rows=4096", parts[i]);
      return std::nullopt;
    }
    kernel.sizes.push_back(std::move(*size));
  }
  if (const auto wrong = kernel_error(kernel)) {
    error = *wrong;
    return std::nullopt;
  }
  return Task(std::move(kernel));
}

std::optional<std::string> nothing_to_do(const Task& task) {
  if (!task.is_gemm()) return std::nullopt;
  const Problem& problem = task.problem();
  const std::pair<char, std::int64_t> dimensions[] = {{'M', problem.m}, {'N', problem.n}, {'K', problem.k}};
  for (const auto& [dimension, value] : dimensions) {
    if (value < 1) return fmt::format("{} is {}: expected 1 to {}", dimension, value, kMaxDimension);
  }
  if (problem.batch < 1) return fmt::format("batch is {}: expected 1 to {}", problem.batch, kMaxBatch);
  return std::nullopt;
}

std::optional<std::string> task_error(const Task& task) {
  return task.is_gemm() ? problem_error(task.problem()) : kernel_error(task.kernel());
}

}  // namespace tilesmith
