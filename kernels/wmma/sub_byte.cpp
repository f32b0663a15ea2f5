#include "kernels/wmma/wmma.hpp"

#include "kernels/problem/sub_byte.hpp"

namespace tilesmith::wmma {
namespace {

constexpr int kSide = 8;  // of a fragment

int block_m_of(const Config& config) { return config.at("warps_m") * config.at("frags_m") * kSide; }
int block_n_of(const Config& config) { return config.at("warps_n") * config.at("frags_n") * kSide; }

}  // namespace

std::vector<Parameter> sub_byte_parameters() {
  return {
      {"warps_m", {1, 2, 4}, "warps of a block along M"},
      {"warps_n", {1, 2, 4}, "warps of a block along N"},
      {"frags_m", {1, 2, 4}, "fragments of 8x8 of a warp along M"},
      {"frags_n", {1, 2, 4}, "fragments of 8x8 of a warp along N"},
      {"slabs", {1, 2, 4}, "K-step: fragments along K, of 16 bytes of a row each"},
  };
}

std::vector<Rule> sub_byte_rules() {
  return {{"shared memory",
      "static shared memory is at most 48 KiB, for a step of both operands and a fragment of C for each warp",
      [](const Config& c) {
        const int row_bytes = 16 * c.at("slabs") + 16, warps = c.at("warps_m") * c.at("warps_n");
        return (block_m_of(c) + block_n_of(c)) * row_bytes + warps * kSide * kSide * 4 <= 48 * 1024;
      }}};
}

std::vector<Config> sub_byte_configs() {
  std::vector<Config> all;
  for (const int frags : {4, 2, 1}) {
    for (const int slabs : {4, 2})
      all.push_back(
          Config("wmma", {{"warps_m", 2}, {"warps_n", 4}, {"frags_m", frags}, {"frags_n", frags}, {"slabs", slabs}}));
  }
  return all;
}

LaunchSequence sub_byte_launches(const Config& config, const Problem& problem) {
  const Problem addressed = strides_in_bytes(problem);
  Launch launch;
  launch.grid.x = unsigned(((problem.m - 1) / block_m_of(config) + 1) * ((problem.n - 1) / block_n_of(config) + 1));
  launch.block.x = unsigned(config.at("warps_m") * config.at("warps_n") * 32);
  launch.a.row_stride = addressed.lda;
  launch.b.row_stride = addressed.ldb;
  launch.d.row_stride = addressed.ldc;
  return {{launch}, 0};
}

}  // namespace tilesmith::wmma
