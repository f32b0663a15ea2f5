#include "tuner/workers/compile_process_count.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <iterator>
#include <string_view>

#include "kernels/base/on_all_cores.hpp"

namespace tilesmith::tuner {

constexpr int kMostUsefulProcesses = 24;  // at a second a kernel more than a device can time
// Kernels of `mma` for sm_87 took a compiler up to 143 MiB (NVRTC 13.0, three minutes of one process); the rest is room
// for larger ones and for what NVRTC keeps of every compilation.
constexpr std::uint64_t kProcessBytes = std::uint64_t{512} << 20;

std::optional<std::uint64_t> memory_available_in(const std::string& meminfo) {
  constexpr std::string_view kKey = "MemAvailable:";
  const std::size_t key = meminfo.find(kKey);
  if (key == std::string::npos) return std::nullopt;
  const std::size_t start = meminfo.find_first_not_of(' ', key + kKey.size());
  if (start == std::string::npos) return std::nullopt;
  std::uint64_t kib = 0;
  const auto [end, error] = std::from_chars(meminfo.data() + start, meminfo.data() + meminfo.size(), kib);
  if (error != std::errc() ||
      std::string_view(end, std::size_t(meminfo.data() + meminfo.size() - end)).substr(0, 3) != " kB")
    return std::nullopt;
  return kib * 1024;
}

CompileMachine compile_machine(bool shared_with_device, int sharers, const std::filesystem::path& root) {
  std::ifstream file(root / "proc/meminfo");
  const std::string meminfo(std::istreambuf_iterator<char>(file), {});
  std::optional<std::uint64_t> available = memory_available_in(meminfo);
  if (const auto left = group_limits(root).memory_left_bytes) available = std::min(available.value_or(*left), *left);
  return {usable_cores(root), available, shared_with_device, sharers};
}

std::string killed_compiler_text(
    const std::string& kernel, const std::string& ending, int jobs, const GroupLimits& limits) {
  const std::string limit =
      limits.memory_bytes ? fmt::format("; {} allows {} MiB", limits.memory_file, *limits.memory_bytes >> 20) : "";
  return fmt::format("a compiler was {}, as where memory runs out, at {}{}: expected {} MiB for each compiler{}",
      ending, kernel, limit, kProcessBytes >> 20, jobs > 1 ? fmt::format(", or --compile-jobs below {}", jobs) : "");
}

int compile_process_count_for(const CompileMachine& machine, int reserved_cores) {
  const int share = machine.shared_with_device ? 2 : 1;
  const int cores = machine.cores / machine.sharers;
  const int by_cores = std::min(cores / share, cores - reserved_cores);
  std::uint64_t by_memory = kMostUsefulProcesses;
  if (machine.available_bytes)
    by_memory = std::min(by_memory, *machine.available_bytes / unsigned(share * machine.sharers) / kProcessBytes);
  return std::max(1, std::min({by_cores, int(by_memory), kMostUsefulProcesses}));
}

int default_compile_process_count(int reserved_cores, bool shared_with_device, int sharers) {
  return compile_process_count_for(compile_machine(shared_with_device, sharers), reserved_cores);
}

}  // namespace tilesmith::tuner
