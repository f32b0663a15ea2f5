#include "kernels/families/tasks.hpp"

#include <fmt/format.h>

#include "kernels/own/kernel.hpp"

namespace tilesmith {

bool is_loaded(const std::string& family) {
  return find_family(family) != nullptr || own::find_kernel(family) != nullptr;
}

std::optional<std::string> no_task_because(const Task& task) {
  if (auto error = task_error(task)) return error;
  if (task.is_gemm()) return nothing_to_do(task);
  const own::Kernel* kernel = own::find_kernel(task.kernel().kernel);
  if (kernel == nullptr)
    return fmt::format("the kernel '{}' is not loaded, expected its folder: see --kernel", task.kernel().kernel);
  return kernel->sizes_error(task.kernel());
}

std::optional<std::string> refused_because(const Config& config, const Task& task, const DeviceLimits& limits) {
  if (auto wrong = no_task_because(task)) return wrong;
  if (!task.is_gemm()) {
    const own::Kernel& kernel = own::kernel_of(task.kernel());
    if (config.family() != kernel.name()) return fmt::format("is no config of the kernel {}", kernel.name());
    return kernel.refused_because(config, task.kernel(), limits);
  }
  const Family* family = find_family(config.family());
  if (family == nullptr) return fmt::format("this build has no family '{}'", config.family());
  const Problem& problem = task.problem();
  if (auto reason = illegal_because(*family, config, {problem, limits})) return reason;
  return refused_because(*family, config, problem);
}

std::string signature_text(const Task& task) {
  return task.is_gemm() ? text(task.problem().signature()) : text(SizedKernel{task.kernel().kernel, {}});
}

double operand_bytes(const Task& task) {
  if (!task.is_gemm()) {
    const own::Kernel* kernel = own::find_kernel(task.kernel().kernel);
    return kernel == nullptr ? 0 : kernel->buffer_bytes(task.kernel());
  }
  const Problem& problem = task.problem();
  return double(problem.a_bytes()) + double(problem.b_bytes()) + double(problem.c_bytes());
}

}  // namespace tilesmith
