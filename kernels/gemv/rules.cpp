#include "kernels/gemv/gemv.hpp"

#include <algorithm>

namespace tilesmith::gemv {
namespace {

constexpr int kMaxPortableCluster = 8;

}  // namespace

std::vector<Parameter> parameters(const KernelTarget& target) {
  const Features& features = target.limits.features;
  return {
      {"matrix", {0, 1}, "1: M = 1, the matrix is B; 0: N = 1, the matrix is A"},
      {"shifted", {0, 1}, "0: rows of the matrix start at 16-byte steps; 1: at any element"},
      {"threads", {128, 256, 512}, "threads of a block"},
      {"lanes", {4, 8, 16, 32, 64, 128, 256}, "threads side by side that read one row of the matrix"},
      {"rows", {1, 2, 4, 8}, "rows that a thread reads at a time, where rows lie along K"},
      {"unroll", {1, 2, 4, 8, 16},
          "chunks of 16 bytes of a row (rows lie along K), or rows, that a thread reads at a time"},
      {"split_k", {1, 2, 4, 8, 16}, "slices of K, each of a block of its own"},
      {"cluster", off_or_on(features.clusters),
          "slices meet 0: in the workspace, added by a second launch; 1: in a cluster's shared memory"},
      {"prefetch_bytes", {0, 256}, "what a load asks the L2 to fetch around it; 0: nothing more"},
      {"overlap", off_or_on(features.dependent_launch),
          "1: the launch that adds slices starts while the one before it ends, and waits for its results (sm_90)"},
      early_launch_parameter(target),
  };
}

std::vector<Rule> rules(const KernelTarget& target) {
  const TypePair type = target.type;
  const Transposes trans = target.trans;
  const DeviceLimits limits = target.limits;
  return {
      {"threads of a row", "the block's threads must split into whole rows",
          [](const Config& c) { return c.at("lanes") <= c.at("threads"); }, {"threads", "lanes"}},
      {"lanes across", "where rows lie across the outputs, a warp's shuffles add its streams: a stream is of one warp",
          [trans](const Config& c) { return is_along(c, trans) || c.at("lanes") <= kWarpThreads; },
          {"matrix", "lanes"}},
      {"rows across", "where rows lie across the outputs, unroll says how many rows a thread reads at a time",
          [trans](const Config& c) { return is_along(c, trans) || c.at("rows") == 1; }, {"matrix", "rows"}},
      {"one shift a warp",
          "the shift comes again after as many rows as a chunk has elements: a warp's rows are the block's "
          "number of warps apart, which must be a multiple of that",
          [type, trans](const Config& c) {
            const int vector = kChunkBytes / int(size_bytes(type.a));
            return c.at("shifted") == 0 || is_along(c, trans) || c.at("threads") / kWarpThreads % vector == 0;
          },
          {"matrix", "shifted", "threads"}},
      {"loads in flight",
          "one load a thread does not cover the memory's latency; more than 16, of four registers each, leave "
          "room for too few threads",
          [](const Config& c) {
            const int loads = c.at("rows") * c.at("unroll");
            return loads >= 2 && loads <= 16;
          },
          {"rows", "unroll"}},
      {"cluster", "a cluster is made of 2 to 8 slices: 8 blocks are what every device grants",
          [](const Config& c) {
            return c.at("cluster") == 0 || (c.at("split_k") >= 2 && c.at("split_k") <= kMaxPortableCluster);
          },
          {"split_k", "cluster"}},
      {"overlap", "two launches overlap wherever the device can (sm_90): waiting for each other's end gains nothing",
          [overlaps = limits.features.dependent_launch](
              const Config& c) { return c.at("overlap") == (overlaps && has_second_launch(c) ? 1 : 0); },
          {"split_k", "cluster", "overlap"}},
      {"shared memory", "the panel and the warps' sums must fit the shared memory of a block",
          [type, trans, limits](
              const Config& c) { return Geometry(c, type, trans).smem_bytes <= limits.smem_per_block_bytes; },
          {"matrix", "shifted", "threads", "lanes", "rows", "unroll"}},
  };
}

bool is_along(const Config& config, Transposes trans) { return config.at("matrix") == 1 ? trans.b : !trans.a; }

bool has_second_launch(const Config& config) { return config.at("split_k") > 1 && config.at("cluster") == 0; }

Geometry::Geometry(const Config& config, const TypePair& type, Transposes trans) {
  const int threads = config.at("threads"), lanes = config.at("lanes"), unroll = config.at("unroll");
  const int element = int(size_bytes(type.a));
  along = is_along(config, trans);
  vector = kChunkBytes / element;
  outputs = along ? threads / lanes * config.at("rows") : (lanes - config.at("shifted")) * vector;
  parts = along ? std::max(1, lanes / kWarpThreads) : threads / kWarpThreads;
  const int batch_bytes = along ? lanes * unroll * kChunkBytes : threads / lanes * unroll * element;
  panel_bytes = std::max(batch_bytes, 4 * kChunkBytes * threads);
  sum_bytes = type.a == Scalar::f64 ? 8 : 4;
  smem_bytes = panel_bytes + parts * outputs * sum_bytes;
}

}  // namespace tilesmith::gemv
