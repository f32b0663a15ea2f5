#include "kernels/wmma/wmma.hpp"

#include <algorithm>

#include "kernels/problem/sub_byte.hpp"

namespace tilesmith::wmma {
namespace {

/// Values in the order of the parameters.
Config make_config(int frag_m, int frag_n, int warps_m, int warps_n, int frags_m, int frags_n, int block_k, int stages,
    int pad_bytes, int group_m, int store_direct, int min_blocks = 1, int frag_buffers = 1) {
  return Config("wmma", {{"frag_m", frag_m}, {"frag_n", frag_n}, {"warps_m", warps_m}, {"warps_n", warps_n},
                            {"frags_m", frags_m}, {"frags_n", frags_n}, {"block_k", block_k}, {"stages", stages},
                            {"frag_buffers", frag_buffers}, {"pad_bytes", pad_bytes}, {"copy_bytes", 16},
                            {"group_m", group_m}, {"min_blocks", min_blocks}, {"store_direct", store_direct}});
}

}  // namespace

std::vector<NamedConfig> ladder(const KernelTarget& target) {
  if (!supports(target) || is_sub_byte(target.type.a)) return {};
  const int frag = fragment_sizes(target.type).size() == 1 ? fragment_sizes(target.type).front() : 16;
  const int scale = 16 / frag;  // f64's fragments are 8x8: twice as many a warp make the same tile
  const int straight_k = k_steps(target.type).front();
  const int staged_k = 64 / int(size_bytes(target.type.a));  // 32 elements of 16 bits
  std::vector<NamedConfig> steps{
      {"one warp, one 16x16 tile", make_config(frag, frag, 1, 1, scale, scale, straight_k, 0, 0, 1, 1)},
      {"4x4 warps, one 16x16 tile each", make_config(frag, frag, 4, 4, scale, scale, straight_k, 0, 0, 1, 1)},
      {"64x64, 4 warps", make_config(frag, frag, 2, 2, 2 * scale, 2 * scale, straight_k, 0, 0, 1, 1)},
      {"128x128, 8 warps", make_config(frag, frag, 2, 4, 4 * scale, 2 * scale, straight_k, 0, 0, 1, 1)},
      {"shared memory, 128x128x32", make_config(frag, frag, 2, 4, 4 * scale, 2 * scale, staged_k, 1, 16, 1, 1, 2)},
      {"shared memory, double-buffered", make_config(frag, frag, 2, 4, 4 * scale, 2 * scale, staged_k, 2, 16, 1, 1, 2)},
  };
  // Two blocks on an SM hide each other's barriers; where the registers or the shared memory of two do not fit, one.
  const std::vector<Rule> all_rules = rules(target);
  for (NamedConfig& step : steps) {
    if (!all_hold(all_rules, step.config)) step.config.set("min_blocks", 1);
  }
  return steps;
}

std::vector<Config> initial_configs(const KernelTarget& target) {
  if (!supports(target)) return {};
  if (is_sub_byte(target.type.a)) return sub_byte_configs();
  const int frag = fragment_sizes(target.type).size() == 1 ? fragment_sizes(target.type).front() : 16;
  const int bytes = int(size_bytes(target.type.a));
  const int scale = frag == 8 ? 2 : 1;
  std::vector<Config> initial_configs;
  // {warps_m, warps_n, frags_m, frags_n, min_blocks}: 128x128, 128x256, 256x128, 64x64
  const int tiles[][5] = {{2, 2, 4, 4, 2}, {2, 4, 4, 4, 1}, {4, 2, 4, 4, 1}, {2, 2, 2, 2, 2}};
  for (int k_bytes : {64, 128}) {
    for (int stages : {3, 4, 2}) {
      for (const auto& t : tiles) {
        for (int frag_buffers : {2, 1}) {
          initial_configs.push_back(make_config(frag, frag, t[0], t[1], t[2] * scale, t[3] * scale, k_bytes / bytes,
              stages, 16, 8, 0, t[4], frag_buffers));
        }
      }
    }
  }
  // The same with narrower copies, for problems whose rows are not aligned to 16 bytes.
  std::vector<Config> all = initial_configs;
  for (int copy : copy_widths(target.type)) {
    if (copy == 16) continue;
    for (Config config : initial_configs) {
      if (copy < 4 && config.at("stages") > 2) continue;
      config.set("copy_bytes", copy);
      all.push_back(config);
    }
  }
  const std::vector<Rule> all_rules = rules(target);
  std::erase_if(all, [&](const Config& config) { return !all_hold(all_rules, config); });
  return all;
}

}  // namespace tilesmith::wmma
