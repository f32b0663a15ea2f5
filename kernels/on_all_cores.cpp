#include "kernels/on_all_cores.hpp"

#include <algorithm>
#include <atomic>
#include <future>
#include <thread>
#include <vector>

namespace tilesmith {

void on_all_cores(std::size_t count, const std::function<void(std::size_t)>& work) {
  std::atomic<std::size_t> next{0};
  const auto take_pieces = [&] {
    for (std::size_t i = next++; i < count; i = next++) work(i);
  };
  std::vector<std::future<void>> helpers;  // whose destructors wait
  const std::size_t cores = std::max(1u, std::thread::hardware_concurrency());
  for (std::size_t i = 1; i < std::min(cores, count); ++i)
    helpers.push_back(std::async(std::launch::async, take_pieces));
  take_pieces();
  for (std::future<void>& helper : helpers) helper.get();
}

}  // namespace tilesmith
