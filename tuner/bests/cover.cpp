#include "tuner/bests/cover.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <unordered_set>

#include "kernels/base/on_all_cores.hpp"

namespace tilesmith::tuner {
namespace {

constexpr std::int64_t kExtents[] = {1, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192};  // of M and N
constexpr std::int64_t kDepths[] = {64, 256, 1024, 4096, 16384};
constexpr std::int64_t kPoolExtents[] = {
    1, 16, 128, 1024, 4096};  // where candidates are asked for: initial configs take long
constexpr std::int64_t kPoolDepths[] = {256, 2048, 16384};
constexpr std::size_t kOfShape = 6;    // candidates of each
constexpr double kUnservedLoss = 3.4;  // ln: as if it took thirty times as long
constexpr double kLeastGain = 5e-4;    // ln, on the mean: what another kernel has to bring

/// Shapes of these extents, and of one less each, so that no row but those of a single column is aligned.
template <typename Extents, typename Depths>
std::vector<Problem> shapes(const KernelTarget& target, const Extents& extents, const Depths& depths) {
  std::vector<Problem> found;
  for (const std::int64_t m : extents) {
    for (const std::int64_t n : extents) {
      for (const std::int64_t k : depths) {
        found.push_back(packed_problem(target, m, n, k));
        found.push_back(
            packed_problem(target, std::max<std::int64_t>(1, m - 1), std::max<std::int64_t>(1, n - 1), k - 1));
      }
    }
  }
  return found;
}

std::vector<Config> pool_of(const runtime::Chooser& chooser, const KernelTarget& target, const std::atomic<bool>& stop,
    const std::function<void(std::size_t)>& on_shape) {
  const std::vector<Problem> problems = shapes(target, kPoolExtents, kPoolDepths);
  std::vector<std::vector<runtime::Choice::RunnerUp>> ranked(problems.size());
  on_all_cores(problems.size(), [&](std::size_t i) {
    if (stop) return;
    ranked[i] = chooser.candidates(problems[i], kOfShape);
    on_shape(problems.size());
  });
  std::vector<Config> pool;
  std::unordered_set<std::string> seen;
  for (const auto& of_shape : ranked) {
    for (const runtime::Choice::RunnerUp& one : of_shape) {
      if (!one.last_resort && seen.insert(one.config.text()).second) pool.push_back(one.config);
    }
  }
  return pool;
}

}  // namespace

std::vector<Problem> cover_grid(const KernelTarget& target) { return shapes(target, kExtents, kDepths); }

Cover choose_cover(const runtime::Chooser& chooser, const KernelTarget& target, std::size_t most,
    const std::atomic<bool>& stop, const std::function<void(std::size_t)>& on_shape) {
  const std::vector<Config> pool = pool_of(chooser, target, stop, on_shape);
  Cover cover;
  if (stop || pool.empty()) return cover;
  const std::vector<Problem> grid = cover_grid(target);
  std::vector<std::vector<double>> losses(grid.size());  // ln of time over the best time, by shape and config
  on_all_cores(grid.size(), [&](std::size_t i) {
    std::vector<double> times = chooser.predict(grid[i], pool);
    const double best = *std::min_element(times.begin(), times.end());
    for (double& time : times)
      time = std::isfinite(time) ? std::min(std::log(time / best), kUnservedLoss) : kUnservedLoss;
    losses[i] = std::move(times);
  });

  std::vector<double> loss(grid.size(), kUnservedLoss);  // by shape, with what was chosen so far
  std::vector<bool> chosen(pool.size());
  while (cover.configs.size() < most) {
    std::size_t best = 0;
    double most_gain = -1;
    for (std::size_t c = 0; c < pool.size(); ++c) {
      if (chosen[c]) continue;
      double gain = 0;
      for (std::size_t i = 0; i < grid.size(); ++i) gain += std::max(0.0, loss[i] - losses[i][c]);
      if (gain > most_gain) most_gain = gain, best = c;
    }
    if (most_gain < kLeastGain * double(grid.size())) break;
    chosen[best] = true;
    cover.configs.push_back(pool[best]);
    for (std::size_t i = 0; i < grid.size(); ++i) loss[i] = std::min(loss[i], losses[i][best]);
  }
  cover.mean_of_best = std::exp(-std::accumulate(loss.begin(), loss.end(), 0.0) / double(grid.size()));
  cover.worst_of_best = std::exp(-std::ranges::max(loss));
  return cover;
}

}  // namespace tilesmith::tuner
