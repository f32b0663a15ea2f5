// What is known of a problem before anything is compiled: the estimates that order configs, and the rules that prune
// them.
#pragma once

#include <nlohmann/json.hpp>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kernels/families/estimate.hpp"
#include "kernels/families/space.hpp"
#include "tuner/warm_start/initial_configs.hpp"

namespace tilesmith::tuner {

/// A config and what its family's estimate says of it; empty where the family makes none.
struct Estimated {
  Config config;
  std::optional<Estimate> estimate;
};

/// What became of the combinations of one family's parameters.
struct Pruned {
  std::string family;
  std::int64_t combinations = 0;
  std::vector<RuleCount> by_rules;                              ///< most first; only rules that removed some
  std::vector<std::pair<std::string, std::int64_t>> refused;    ///< reason and count, most first
  std::vector<std::pair<std::string, std::int64_t>> dominated;  ///< the same
  std::int64_t left = 0;
};

struct Prior {
  double clock_mhz = 0;  ///< 0: unknown; estimates are then shown in clock cycles
  Estimated chosen;
  std::vector<Estimated> initial_configs;  ///< what `tilesmith tune` would try first
  std::vector<Pruned> pruned;              ///< by family; those that do not support the target are left out
};

/// Enumerates the families' spaces, which may take a few seconds. M, N, K ≥ 1.
Prior prior_of(const Config& chosen, const InitialConfigsFor& whom, const db::Store& store, const Problem& problem,
    double clock_mhz);

std::string as_text(const Prior& prior, std::size_t width);
nlohmann::ordered_json as_json(const Prior& prior);

}  // namespace tilesmith::tuner
