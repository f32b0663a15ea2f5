#include "kernels/base/on_all_cores.hpp"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <future>
#include <system_error>
#include <vector>

#include "kernels/base/cgroup_limits.hpp"

namespace tilesmith {
namespace {

constexpr int kNiceness = 5;

int cores_by_affinity() {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  if (::sched_getaffinity(0, sizeof(cores), &cores) == 0) return CPU_COUNT(&cores);
  return int(::sysconf(_SC_NPROCESSORS_ONLN));
}

}  // namespace

int usable_cores(const std::filesystem::path& root) {
  const int cores = cores_by_affinity();
  const double quota = group_limits(root).cores.value_or(cores);
  return std::max(1, quota < cores ? int(quota) : cores);
}

void on_all_cores(std::size_t count, const std::function<void(std::size_t)>& work) {
  std::atomic<std::size_t> next{0};
  const auto take_pieces = [&] {
    for (std::size_t i = next++; i < count; i = next++) work(i);
  };
  const std::size_t threads = count < 2 ? count : std::min(count, std::size_t(usable_cores()));
  std::vector<std::future<void>> helpers;  // whose destructors wait
  try {
    while (helpers.size() + 1 < threads) {
      helpers.push_back(std::async(std::launch::async, [&] {
        [[maybe_unused]] const int niceness = ::nice(kNiceness);  // of this thread alone, on Linux
        take_pieces();
      }));
    }
  } catch (const std::system_error&) {
    // No more threads are to be had: these do it.
  }
  take_pieces();
  for (std::future<void>& helper : helpers) helper.get();
}

}  // namespace tilesmith
