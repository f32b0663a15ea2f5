// The kernels that this process has loaded, and the hashes of what they compile to and launch.
#include <fmt/format.h>

#include <mutex>
#include <stdexcept>

#include "kernels/base/content_hash.hpp"
#include "kernels/families/source_hash.hpp"
#include "kernels/own/kernel.hpp"

namespace tilesmith::own {
namespace {

struct Registry {
  std::mutex mutex;
  std::vector<std::unique_ptr<const Kernel>> kernels;
};

Registry& registry() {
  static Registry all;
  return all;
}

}  // namespace

const Kernel* find_kernel(std::string_view name) {
  const std::scoped_lock lock(registry().mutex);
  for (const auto& kernel : registry().kernels) {
    if (kernel->name() == name) return kernel.get();
  }
  return nullptr;
}

std::string kernel_hash(const Config& config, std::string_view options) {
  const Kernel* kernel = find_kernel(config.family());
  if (kernel == nullptr || illegal_because(config, kernel->definition().parameters, {})) return {};
  std::string entries;
  for (const std::string& entry : kernel->entries(config)) entries += '\n' + entry;
  return source_hash(kernel->source(config) + entries + '\n' + kernel->definition().proof, options);
}

std::string plan_hash(const Config& config, const SizedKernel& sized, std::string_view options) {
  const std::string hash = kernel_hash(config, options);
  const Kernel* kernel = find_kernel(config.family());
  if (hash.empty() || kernel->sizes_error(sized)) return {};
  std::string all = hash;
  try {
    for (const SizedLaunch& launch : kernel->launches(config, sized)) {
      const auto& [entry, grid, block, cluster, shared_bytes] = launch;
      all += fmt::format("\n{} {}", entry, shared_bytes);
      for (const Extent3& extent : {grid, block, cluster})
        all += fmt::format(" {} {} {}", extent.x, extent.y, extent.z);
    }
    for (const Argument& argument : kernel->definition().arguments) {
      const bool is_value = argument.role == Role::value;
      all += fmt::format(
          "\n{} {} {}", argument.type->name, int(argument.role), is_value ? 0 : kernel->elements(argument, sized));
      if (is_value) all += fmt::format(" {} {}", kernel->integer(argument, sized), argument.real);
    }
  } catch (const std::invalid_argument&) {
    return {};
  }
  return content_hash(all);
}

void register_kernel(std::unique_ptr<Kernel> kernel) {
  const std::scoped_lock lock(registry().mutex);
  registry().kernels.push_back(std::move(kernel));
}

}  // namespace tilesmith::own
