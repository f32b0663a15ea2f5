#include "kernels/base/cgroup_limits.hpp"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <sstream>
#include <string_view>
#include <system_error>
#include <vector>

namespace tilesmith {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kNoLimit = std::uint64_t{1} << 60;  // v1 says 2^63, less a page, for none

/// The files of a version that say what a group may have.
struct Names {
  std::vector<const char*> memory_limits;
  const char* memory_used;
  const char* droppable;  // its line in memory.stat
};
const Names kFirst{{"memory.limit_in_bytes"}, "memory.usage_in_bytes", "total_inactive_file "};
const Names kSecond{{"memory.max", "memory.high"}, "memory.current", "inactive_file "};

/// Where a hierarchy of groups is mounted, and which of its groups is the top there.
struct Mount {
  fs::path point;
  std::string top;
  bool second = false;      // version 2
  std::string controllers;  // of version 1: "rw,cpu,cpuacct"
};

std::vector<std::string> lines_of(const fs::path& path) {
  std::vector<std::string> lines;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

std::vector<std::string> words_of(const std::string& line) {
  std::istringstream stream(line);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

std::optional<std::uint64_t> number_in(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<std::uint64_t> number_at(const fs::path& path) {
  const std::vector<std::string> lines = lines_of(path);
  return lines.empty() ? std::nullopt : number_in(lines.front());
}

bool is_listed(const std::string& list, std::string_view name) {
  std::istringstream stream(list);
  for (std::string one; std::getline(stream, one, ',');) {
    if (one == name) return true;
  }
  return false;
}

/// A path in mountinfo: "\040" stands for a space.
std::string unescaped(const std::string& text) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    int code = 0;
    if (text[i] == '\\' && i + 3 < text.size() &&
        std::from_chars(&text[i + 1], &text[i + 4], code, 8).ptr == &text[i] + 4) {
      result += char(code);
      i += 3;
    } else {
      result += text[i];
    }
  }
  return result;
}

std::vector<Mount> mounts_in(const fs::path& root) {
  std::vector<Mount> mounts;
  for (const std::string& line : lines_of(root / "proc/self/mountinfo")) {
    const std::size_t middle = line.find(" - ");
    if (middle == std::string::npos) continue;
    const std::vector<std::string> where = words_of(line.substr(0, middle)), what = words_of(line.substr(middle + 3));
    if (where.size() < 5 || what.size() < 3 || (what[0] != "cgroup" && what[0] != "cgroup2")) continue;
    mounts.push_back(
        {root / fs::path(unescaped(where[4])).relative_path(), unescaped(where[3]), what[0] == "cgroup2", what[2]});
  }
  return mounts;
}

/// The group of this process in the hierarchy of the controller; of version 2 if it is "".
std::optional<std::string> group_in(const fs::path& root, std::string_view controller) {
  for (const std::string& line : lines_of(root / "proc/self/cgroup")) {  // "4:cpu,cpuacct:/a/group"
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    if (controller.empty() ? controllers.empty() : is_listed(controllers, controller)) return line.substr(second + 1);
  }
  return std::nullopt;
}

/// The folders of a group and of those above it, as far up as is mounted.
std::vector<fs::path> folders_of(const Mount& mount, const std::string& group) {
  std::string below = group;
  const std::string top = mount.top == "/" ? "" : mount.top;
  const bool is_inside = below.starts_with(top) && (below.size() == top.size() || below[top.size()] == '/');
  below = is_inside && below.find("..") == std::string::npos ? below.substr(top.size())
                                                             : "";  // else it is mounted as the top
  std::vector<fs::path> folders;
  for (fs::path at = fs::path(below).relative_path(); !at.empty(); at = at.parent_path())
    folders.push_back(mount.point / at);
  folders.push_back(mount.point);
  return folders;
}

void take_cores(GroupLimits& limits, const fs::path& folder, bool second) {
  std::optional<std::uint64_t> quota, period;
  if (second) {
    const std::vector<std::string> lines = lines_of(folder / "cpu.max");  // "150000 100000", "max 100000"
    const std::vector<std::string> words = lines.empty() ? std::vector<std::string>{} : words_of(lines.front());
    if (words.size() != 2) return;
    quota = number_in(words[0]);
    period = number_in(words[1]);
  } else {
    quota = number_at(folder / "cpu.cfs_quota_us");  // -1: none
    period = number_at(folder / "cpu.cfs_period_us");
  }
  if (!quota || !period || *quota == 0 || *period == 0) return;
  const double cores = double(*quota) / double(*period);
  limits.cores = std::min(limits.cores.value_or(cores), cores);
}

void take_memory(GroupLimits& limits, const fs::path& folder, const Names& names) {
  std::uint64_t least = kNoLimit;
  for (const char* name : names.memory_limits) {
    const std::uint64_t limit = number_at(folder / name).value_or(kNoLimit);
    least = std::min(least, limit);
    if (limit >= limits.memory_bytes.value_or(kNoLimit)) continue;
    limits.memory_bytes = limit;
    limits.memory_file = (folder / name).string();
  }
  if (least == kNoLimit) return;
  const std::uint64_t used = number_at(folder / names.memory_used).value_or(0);
  std::uint64_t droppable = 0;
  for (const std::string& line : lines_of(folder / "memory.stat")) {
    if (line.starts_with(names.droppable))
      droppable = number_in(line.substr(std::string_view(names.droppable).size())).value_or(0);
  }
  const std::uint64_t held = used - std::min(used, droppable);
  const std::uint64_t left = least - std::min(least, held);
  limits.memory_left_bytes = std::min(limits.memory_left_bytes.value_or(left), left);
}

}  // namespace

GroupLimits group_limits(const fs::path& root) {
  GroupLimits limits;
  for (const Mount& mount : mounts_in(root)) {
    for (const char* controller : {"cpu", "memory"}) {
      if (!mount.second && !is_listed(mount.controllers, controller)) continue;
      const auto group = group_in(root, mount.second ? "" : controller);
      if (!group) continue;
      for (const fs::path& folder : folders_of(mount, *group)) {
        if (controller == std::string_view("cpu")) take_cores(limits, folder, mount.second);
        else take_memory(limits, folder, mount.second ? kSecond : kFirst);
      }
    }
  }
  return limits;
}

}  // namespace tilesmith
