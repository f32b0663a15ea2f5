// --kernel and --sizes: a kernel of one's own at given sizes.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "kernels/own/kernel.hpp"
#include "tuner/workload.hpp"

namespace tilesmith::tuner {

struct OwnKernelOptions {
  std::string folder;              ///< empty: no kernel of one's own is meant
  std::vector<std::string> sizes;  ///< "rows=4096,cols=1000"
};

/// Returns --kernel, which others may exclude.
CLI::Option* add_own_kernel_options(CLI::App& app, OwnKernelOptions& options);

/// The kernel of the folder, which this loads. Throws UsageError.
const own::Kernel& load_own_kernel(const OwnKernelOptions& options);
/// --kernel of commands that look up records.
void add_kernel_filter(CLI::App& app, std::string& folder_or_name);
/// The name of the kernel that is meant, which a folder loads. Throws UsageError.
std::string own_kernel_name(const std::string& folder_or_name);
/// The kernel at the sizes that are given, the others as kernel.json has them. Throws UsageError.
SizedKernel sized_kernel(const own::Kernel& kernel, const OwnKernelOptions& options);

/// Loads the kernel, and adds it at the sizes that are given; without any at those of kernel.json, unless workloads say
/// which. Throws UsageError.
void add_own_kernel(Workload& into, const OwnKernelOptions& options, bool workloads_say);

}  // namespace tilesmith::tuner
