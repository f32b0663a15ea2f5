#include "kernels/simt/simt.hpp"

#include <algorithm>

#include "kernels/families/shared_rules.hpp"
#include "kernels/problem/sub_byte.hpp"

namespace tilesmith::simt {
namespace {

constexpr std::size_t kMost = 8;
constexpr std::size_t kMostOfTile = 3;
constexpr int kWholeEntry = 32;  // rows and columns, at most, of tiles of which several share a block

/// Where sums and operands leave fewer than so many registers, f64 kernels spilled (sm_87, sm_90a).
bool has_registers(const Config& config, const KernelTarget& target) {
  constexpr int kLeastOtherRegisters = 48;
  const Geometry g(config, target.type);
  return g.registers + kLeastOtherRegisters <=
         std::min(target.limits.registers_per_thread, target.limits.registers_per_sm / (g.threads * g.entries));
}

/// The smallest extents that hold all rows or columns, and half of them: what is larger computes padding.
std::vector<int> extents_for(std::int64_t size) {
  constexpr int kExtents[] = {8, 16, 32, 64, 128};
  const auto at = std::ranges::find_if(kExtents, [&](int extent) { return extent >= size; });
  const int most = at == std::end(kExtents) ? 128 : *at;
  if (most == kExtents[0]) return {most};
  return {most, most / 2};
}

}  // namespace

std::vector<Config> initial_configs(
    const KernelTarget& target, const Problem& problem, const std::vector<Rule>& rules) {
  if (problem.m < 1 || problem.n < 1 || problem.k < 1 || problem.batch < 1) return {};
  tensor_core::Ranking ranking(kMostOfTile);
  for (const int block_m : extents_for(problem.m)) {
    for (const int block_n : extents_for(problem.n)) {
      const bool whole = std::max(block_m, block_n) <= kWholeEntry && block_m >= problem.m && block_n >= problem.n;
      std::vector<tensor_core::Ranking::Candidate> of_tile;
      for (const int of_integers : {8, 16, 32}) {
        const int block_k = of_integers * (is_bit(target.type.a) ? 8 : 1);
        for (const int thread_m : {1, 2, 4, 8}) {
          for (const int thread_n : {1, 2, 4, 8}) {
            for (const int entries : {1, 2, 4, 8, 16}) {
              if (entries > 1 && !whole) break;
              Config config("simt", {{"block_m", block_m}, {"block_n", block_n}, {"block_k", block_k},
                                        {"thread_m", thread_m}, {"thread_n", thread_n}, {"entries", entries}});
              if (all_hold(rules, config) && has_registers(config, target))
                of_tile.emplace_back(simt::estimate(config, target, problem)->cycles, std::move(config));
            }
          }
        }
      }
      ranking.add_tile(std::move(of_tile));
    }
  }
  return std::move(ranking).shortest(kMost);
}

}  // namespace tilesmith::simt
