#include "kernels/gemv/geometry.hpp"

#include <algorithm>

namespace tilesmith::gemv {

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
