// What the control groups of this process (cgroup v1 and v2) allow it: containers, systemd units and batch systems
// limit by them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace tilesmith {

/// The tightest of its groups, from its own up to the topmost that can be seen. Empty: no limit.
struct GroupLimits {
  std::optional<double> cores;                ///< by the CPU quota
  std::optional<std::uint64_t> memory_bytes;  ///< by the limit
  std::string memory_file;                    ///< that says so
  std::optional<std::uint64_t>
      memory_left_bytes;  ///< above what is in use; cache that is given up for the asking counts as free
};

/// `root`: the folder in which proc/ and sys/ are read. What is not there, or is no number, limits nothing.
GroupLimits group_limits(const std::filesystem::path& root = "/");

}  // namespace tilesmith
