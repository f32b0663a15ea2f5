// The family `dequant`: products with weights of 4 or 8 bits on mma.sync.
#pragma once

#include "kernels/families/estimate.hpp"

namespace tilesmith {

std::unique_ptr<Family> make_dequant();

namespace dequant {

/// Sizes that follow from a config. shape.cuh computes the same ones on the device.
struct Geometry {
  int threads = 0;
  int strips = 0;       ///< of 16 rows of W, of a warp
  int token_tiles = 0;  ///< of 8 rows of A
  int step_k = 0;       ///< columns of a step
  int stage_bytes = 0;
  int smem_bytes = 0;
  int registers = 0;  ///< of a thread, about

  Geometry(const Config& config, const KernelSignature& signature);

  /// Blocks, but for slices of K; of groups as many as there may be.
  std::int64_t tiles(const Config& config, const Problem& problem) const;
};

/// Whether slices of K are added by a second launch.
inline bool has_second_launch(const Config& config) { return config.at("split_k") > 1 && config.at("cluster") == 0; }

std::vector<Parameter> parameters(const KernelTarget& target);
std::vector<Rule> rules(const KernelTarget& target);
/// By their estimates, best first.
std::vector<Config> initial_configs(const KernelTarget& target, const Problem& problem);

Estimate estimate(const Config& config, const KernelTarget& target, const Problem& problem);

}  // namespace dequant
}  // namespace tilesmith
