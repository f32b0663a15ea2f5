// The keys of a kernel and of a plan: what is stored of them holds as long as these come out the same. Nothing is
// compiled for them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kernels/families/family.hpp"
#include "kernels/problem/task.hpp"

namespace tilesmith {

/// The options a target is compiled with, canonical: "--gpu-architecture=sm_87 ...", "compute_87" for a virtual target.
/// Holds no path.
std::vector<std::string> compiler_options(const KernelTarget& target);
std::string compiler_options_text(const KernelTarget& target);

/// Of what NVRTC gets for the config (source_hash.hpp): 32 hex digits. Empty where there is no such kernel: the family
/// is unknown, or the config is illegal. `options`: as compiler_options_text() gives them; empty for any others, too.
/// Thread-safe, as the next one.
std::string kernel_hash(const Config& config, const KernelSignature& signature, std::string_view options);

/// The same of the launches alone: equal where two versions of a family launch equal kernels in the same way.
std::string launches_hash(const Config& config, const Problem& problem);

/// A hash of the kernel and of the launches that solve the task: 32 hex digits. (What a plan makes of the launches on its
/// device, runtime/plan/plan.cpp, is the library's and no family's.) Empty where there is no such plan: there is no
/// kernel, it refuses the task, or there is nothing to launch.
std::string plan_hash(const Config& config, const Task& task, std::string_view options);

}  // namespace tilesmith
