// Targets, problems and configs for the tests of the family `wgmma`.
#pragma once

#include <initializer_list>
#include <map>
#include <string>
#include <utility>

#include "kernels/families/family.hpp"

namespace tilesmith {

inline const Family& wgmma_family() { return *find_family("wgmma"); }

inline KernelTarget target_of(const char* pair, Transposes trans = {}, const char* arch = "sm_90a") {
  return {{*find_type_pair(pair), trans}, *limits_for_arch(arch)};
}

inline Problem problem_of(const KernelTarget& target, std::int64_t m, std::int64_t n, std::int64_t k) {
  return packed_problem(target, m, n, k);
}

/// The first seed of 4096³. Initial configs cost tens of milliseconds; tests ask for hundreds.
inline Config first_seed(const KernelTarget& target) {
  static std::map<std::string, Config> known;
  const std::string key = text(target.signature()) + " " + target.limits.arch;
  const auto found = known.find(key);
  if (found != known.end()) return found->second;
  return known.emplace(key, wgmma_family().initial_configs(target, problem_of(target, 4096, 4096, 4096)).at(0))
      .first->second;
}

/// The first seed of 4096³, tiles of one size, both groups together, with other values of some parameters.
inline Config config_with(const KernelTarget& target, std::initializer_list<std::pair<const char*, int>> values) {
  Config config = first_seed(target);
  for (const char* off : {"even", "stagger", "store_tma", "swap", "reduction"}) config.set(off, 0);
  for (const char* single : {"cluster_m", "cluster_n", "min_blocks", "split_k"}) config.set(single, 1);
  for (const auto& [name, value] : values) config.set(name, value);
  return config;
}

inline constexpr Transposes kNN{false, false}, kNT{false, true}, kTN{true, false}, kTT{true, true};

}  // namespace tilesmith
