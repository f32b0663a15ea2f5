#include "tuner/cli/options/own_kernel.hpp"

#include <fmt/format.h>

#include <filesystem>

#include "kernels/families/user/load.hpp"
#include "tuner/cli/commands/command.hpp"
#include "tuner/cli/options/options.hpp"

namespace tilesmith::tuner {

CLI::Option* add_own_kernel_options(CLI::App& app, OwnKernelOptions& options) {
  CLI::Option* kernel = AddOption{app}(
      "--kernel", options.folder, "DIR", "A kernel of your own: the folder of its kernel.json and source");
  AddOption{app}(
      "--sizes", options.sizes, "SIZE=N,..", "Its sizes, comma-separated or repeated; default: those of kernel.json")
      ->needs(kernel);
  return kernel;
}

const own::Kernel& load_own_kernel(const OwnKernelOptions& options) {
  try {
    const std::string name = load_family_dir(options.folder);
    if (const own::Kernel* kernel = own::find_kernel(name)) return *kernel;
    throw UsageError(fmt::format("--kernel {}: holds a family, expected kernel.json", options.folder));
  } catch (const DefinitionError& error) {
    throw UsageError(fmt::format("--kernel: {}", error.what()));
  }
}

void add_kernel_filter(CLI::App& app, std::string& folder_or_name) {
  AddOption{app}("--kernel", folder_or_name, "DIR|NAME",
      "Records of a kernel of your own instead of GEMM problems: its folder, or the name of one that --family-dir brings");
}

std::string own_kernel_name(const std::string& folder_or_name) {
  std::error_code ignored;
  const bool is_name =
      folder_or_name.find('/') == std::string::npos && !std::filesystem::is_directory(folder_or_name, ignored);
  return is_name ? folder_or_name : load_own_kernel({folder_or_name, {}}).name();
}

SizedKernel sized_kernel(const own::Kernel& kernel, const OwnKernelOptions& options) {
  std::vector<SizedKernel::Size> given;
  for (const std::string& text : split_commas(options.sizes)) {
    const auto size = parse_size(text);
    if (!size) throw UsageError(fmt::format("--sizes '{}': expected a size and its value, as rows=4096", text));
    given.push_back(*size);
  }
  SizedKernel sized = kernel.at(given);
  if (const auto wrong = kernel.sizes_error(sized)) throw UsageError(fmt::format("--sizes: {}", *wrong));
  return sized;
}

void add_own_kernel(Workload& into, const OwnKernelOptions& options, bool workloads_say) {
  const own::Kernel& kernel = load_own_kernel(options);
  if (options.sizes.empty() && workloads_say) return;
  into.tasks.push_back({sized_kernel(kernel, options), 1});
  into.name = kernel.name();
}

}  // namespace tilesmith::tuner
