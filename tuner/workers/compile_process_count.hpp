// How many compiling processes suit a machine.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "kernels/base/cgroup_limits.hpp"

namespace tilesmith::tuner {

struct CompileMachine {
  int cores = 1;                                 ///< that this process may use
  std::optional<std::uint64_t> available_bytes;  ///< of memory; empty: not told
  bool shared_with_device = false;               ///< memory, heat and power are the GPU's too (Jetson)
  int sharers = 1;                               ///< how many like tuners share it, one a GPU
};
/// This machine, now, as far as this process's control groups allow it (kernels/base/cgroup_limits.hpp, which explains
/// `root`).
CompileMachine compile_machine(bool shared_with_device, int sharers = 1, const std::filesystem::path& root = "/");

/// One process a core, less `reserved_cores`; no more than memory allows, at half a GiB a process, or than one device
/// can keep up with; at least one. Of sharers each gets its part. Where the device shares the machine, half of the
/// cores and half of the memory: compiling yields to timing.
int compile_process_count_for(const CompileMachine& machine, int reserved_cores);

/// The same for this machine.
int default_compile_process_count(int reserved_cores, bool shared_with_device, int sharers = 1);

/// One line on a compiler that was killed from outside: at which kernel, by which limit, as far as one is known, and
/// what to do.
std::string killed_compiler_text(
    const std::string& kernel, const std::string& ending, int jobs, const GroupLimits& limits);

/// MemAvailable in the text of /proc/meminfo: what may be had without swapping, page cache included.
std::optional<std::uint64_t> memory_available_in(const std::string& meminfo);

}  // namespace tilesmith::tuner
