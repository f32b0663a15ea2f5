// A small sample of a space that covers it evenly: what `compile` and `verify` take when not all configs are asked
// for.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/families/space.hpp"

namespace tilesmith::tuner {

/// What a sample begins with: the generic config, the initial configs, the steps of the ladder; each only if the family
/// has it.
std::vector<Config> first_choices(const Family& family, const KernelTarget& target);

/// Leaves out the configs that refuse every one of the problems, which are of the space's type pair and transposes.
void keep_serving(Space& space, const Family& family, std::span<const Problem> problems);

/// At most `most` configs of the space, without repetition: `first` (as far as they are legal members), then those that
/// have most values of parameters that none before has, until every value occurs, then those whose values occurred
/// least. The same arguments give the same sample on every machine.
std::vector<Config> spread_sample(
    const Space& space, const std::vector<Config>& first, std::size_t most, std::uint64_t seed);

/// The first of each list, then the second of each, and so on.
template <typename Item>
std::vector<Item> in_turns(const std::vector<std::vector<Item>>& lists) {
  std::vector<Item> all;
  for (std::size_t round = 0, before = 1; all.size() != before; ++round) {
    before = all.size();
    for (const std::vector<Item>& list : lists) {
      if (round < list.size()) all.push_back(list[round]);
    }
  }
  return all;
}

}  // namespace tilesmith::tuner
