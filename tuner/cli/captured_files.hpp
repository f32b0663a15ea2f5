// The workload files that the shims write under `tilesmith capture`: one a process that multiplies.
#pragma once

#include <filesystem>
#include <set>
#include <string>

namespace tilesmith::tuner {

class CapturedFiles {
 public:
  /// `path` is absolute; `given` is how the user wrote it, "-" for stdout. Throws UsageError unless new files can be made there. Leaves none.
  CapturedFiles(std::filesystem::path path, std::string given);

  const std::filesystem::path& path() const { return path_; }

  /// Says on stderr which files came, what is in them and how they are tuned; writes them to stdout if that was given. `is_by_name`: the shim
  /// had cuBLAS's name.
  void report(bool is_by_name) const;

 private:
  std::set<std::filesystem::path> files_there() const;

  std::filesystem::path path_;
  std::string given_;
  std::set<std::filesystem::path> before_;
};

}  // namespace tilesmith::tuner
