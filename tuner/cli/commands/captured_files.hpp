// The workload files that the shims write under `tilesmith capture`: one for each process that multiplies.
#pragma once

#include <filesystem>
#include <set>
#include <string>

namespace tilesmith::tuner {

/// Throws UsageError unless a new file can be written there, which it tries. Leaves none. `given`: how the user wrote
/// it.
void require_new_file(const std::filesystem::path& path, const std::string& given);

/// Those that are there: FILE, FILE.PID, FILE.PID.2; %p in FILE is any number.
std::set<std::filesystem::path> captured_files(const std::filesystem::path& path);

/// On stderr: what is in the files, and the command that tunes them. `given` is "-": writes them to stdout.
void report_captured(const std::set<std::filesystem::path>& files, const std::string& given, bool is_by_name);

}  // namespace tilesmith::tuner
