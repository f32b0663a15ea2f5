// Columns dealt evenly among the tiles of persistent blocks (family `wgmma`).
#include <algorithm>
#include <random>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "kernels/families/estimate.hpp"
#include "kernels/wgmma/even_tiles.cuh"
#include "kernels/wgmma/wgmma.hpp"
#include "tests/catch.hpp"
#include "tests/kernels/wgmma_configs.hpp"

using namespace tilesmith;

namespace {

/// What the block that multiplies most columns multiplies, where each takes every `blocks`-th tile.
int most_columns(const EvenTiles& tiles, int width, unsigned blocks) {
  std::vector<int> columns(blocks);
  for (unsigned i = 0; i < tiles.count(); ++i) {
    const EvenTile tile = tiles.at(i);
    columns[i % blocks] += tile.last - tile.first <= width - kEvenStep ? width - kEvenStep : width;
  }
  return *std::max_element(columns.begin(), columns.end());
}

bool contains(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("even tiles cover each row's columns once, take no more rounds than equal ones and are no wider") {
  std::mt19937 random(1);
  const auto any = [&](int least, int most) { return std::uniform_int_distribution(least, most)(random); };
  for (int trial = 0; trial < 20000; ++trial) {
    const int rows = any(1, 70), n = any(1, 9000), width = 16 * any(2, 16), group = 1 << any(0, 4);
    const unsigned blocks = unsigned(any(1, 150));
    const EvenTiles tiles(rows, n, width, group, blocks);
    const unsigned equal = unsigned(rows) * unsigned((n - 1) / width + 1);
    std::vector<std::vector<std::pair<int, int>>> columns(static_cast<std::size_t>(rows));
    bool right = tiles.count() >= equal && (tiles.count() - 1) / blocks == (equal - 1) / blocks;
    for (unsigned i = 0; i < tiles.count() && right; ++i) {
      const EvenTile tile = tiles.at(i);
      right = tile.row >= 0 && tile.row < rows && tile.first < tile.last && tile.last - tile.first <= width &&
              tile.first % kEvenStep == 0;
      if (right) columns[std::size_t(tile.row)].emplace_back(tile.first, tile.last);
    }
    for (auto& of_row : columns) {
      std::sort(of_row.begin(), of_row.end());
      int end = 0;
      for (const auto& [first, last] : of_row) {
        right = right && first == end;
        end = last;
      }
      right = right && end == n;
    }
    INFO(rows << " rows, " << n << " columns by " << width << " in bands of " << group << ", " << blocks << " blocks");
    REQUIRE(right);
  }
}

TEST_CASE("where equal tiles leave blocks idle in the last round, all multiply less") {
  for (const int group : {4, 8, 16}) {
    CHECK(most_columns({32, 4096, 256, group, 132}, 256, 132) == 1008);   // of 1024
    CHECK(most_columns({16, 14336, 256, group, 132}, 256, 132) == 1760);  // of 1792
    CHECK(most_columns({40, 5120, 256, group, 132}, 256, 132) <= 1680);   // of 1792
  }
  CHECK(most_columns({33, 4096, 256, 8, 132}, 256, 132) == 1024);  // all have four tiles
  // Two rounds are a band's tiles, so that some blocks have wide ones alone. Dealt otherwise it could be 3984.
  CHECK(most_columns({64, 8192, 256, 8, 132}, 256, 132) == 4096);
}

TEST_CASE("persistent blocks of large tiles may deal columns evenly, and multiply the narrow ones as such") {
  const KernelTarget target = target_of("f16f32");
  const Config even =
      config_with(target, {{"block_m", 128}, {"block_n", 256}, {"stages", 4}, {"schedule", 1}, {"even", 1},
                              {"cluster_m", 1}, {"cluster_n", 1}, {"store_tma", 0}, {"swap", 0}});
  REQUIRE_FALSE(illegal_because(wgmma_family(), even, target));
  for (const auto& [name, value] : {std::pair{"schedule", 0}, {"cluster_n", 2}, {"store_tma", 1}}) {
    Config other = even;
    other.set(name, value);
    CHECK(illegal_because(wgmma_family(), other, target));
  }
  Config equal = even;
  equal.set("even", 0);
  CHECK(contains(wgmma_family().source(even, target), "m64n240k16"));
  CHECK(contains(wgmma_family().source(even, target), "m64n256k16"));
  CHECK_FALSE(contains(wgmma_family().source(equal, target), "m64n240k16"));
  const Problem problem = problem_of(target, 5120, 5120, 5120);
  CHECK(estimate(even, target, problem)->cycles < estimate(equal, target, problem)->cycles);
  // The last round has room for 8 tiles, and some block has two wide ones.
  const Problem full = problem_of(target, 2048, 4096, 4096);
  CHECK(estimate(even, target, full)->cycles >= estimate(equal, target, full)->cycles);
  KernelTarget small = target;
  small.limits.sm_count = 1;
  CHECK(estimate(even, small, problem)->cycles > 0);
}

TEST_CASE(
    "swapped persistent tiles deal rows evenly, for a B that lies along N beside an A that does not lie along M") {
  const auto swapped = [](const KernelTarget& target) {
    return config_with(target, {{"block_m", 176}, {"block_n", 128}, {"block_k", 64}, {"stages", 5}, {"warpgroups", 2},
                                   {"schedule", 2}, {"even", 1}, {"cluster_m", 1}, {"cluster_n", 2},
                                   {"store_staged", 0}, {"store_tma", 0}, {"swap", 1}, {"pack", 0}});
  };
  for (const auto& [trans, legal] : {std::pair{kNN, true}, {kNT, false}, {kTN, false}, {kTT, false}}) {
    const KernelTarget target = target_of("bf16f32", trans);
    CHECK(illegal_because(wgmma_family(), swapped(target), target).has_value() == !legal);
  }
  const KernelTarget target = target_of("f16f32");
  const Config even = swapped(target);
  for (const auto& [name, value] : {std::pair{"cluster_m", 2}, {"store_staged", 1}, {"block_m", 112}}) {
    Config other = even;
    other.set(name, value);
    if (other.at("cluster_m") == 2) other.set("cluster_n", 1);
    CHECK(illegal_because(wgmma_family(), other, target));
  }
  CHECK(contains(wgmma_family().source(even, target), "m64n160k16"));
  CHECK(contains(wgmma_family().source(even, target), "m64n176k16"));
  // 4096 columns are 16 clusters' tiles across, 4096 rows at least 24 tiles of 176.
  const Problem problem = problem_of(target, 4096, 4096, 4096);
  Config equal = even;
  equal.set("even", 0);
  CHECK(estimate(even, target, problem)->cycles < estimate(equal, target, problem)->cycles);
  const std::vector<Config> initial_configs = wgmma_family().initial_configs(target, problem);
  CHECK(std::any_of(initial_configs.begin(), initial_configs.end(), [](const Config& guess) {
    return guess.at("swap") == 1 && guess.at("even") == 1 && guess.at("block_m") == 176;
  }));
}

TEST_CASE("the host counts swapped tiles as the device does") {
  const KernelTarget target = target_of("f16f32");
  const Config even =
      config_with(target, {{"block_m", 176}, {"block_n", 128}, {"block_k", 64}, {"stages", 5}, {"warpgroups", 2},
                              {"schedule", 2}, {"even", 1}, {"cluster_m", 1}, {"cluster_n", 2}, {"store_staged", 0},
                              {"store_tma", 0}, {"swap", 1}, {"group_m", 8}, {"pack", 0}});
  const wgmma::Geometry g(even, target.type, target.trans);
  const Problem problem = problem_of(target, 1000, 4000, 64);
  const EvenTiles tiles = g.even_tiles(problem, 8, 66), same(16, 1000, 176, 8, 66);  // 4000 columns by clusters of 256
  REQUIRE(tiles.count() == same.count());
  CHECK(tiles.at(tiles.count() - 1).last == same.at(same.count() - 1).last);
}

TEST_CASE("columns dealt evenly are listed where the busiest block multiplies less by them, and only there") {
  const KernelTarget target = target_of("f16f32");
  const auto dealt = [&](std::int64_t m, std::int64_t n) {
    const std::vector<Config> initial_configs = wgmma_family().initial_configs(target, problem_of(target, m, n, 4096));
    return std::count_if(
        initial_configs.begin(), initial_configs.end(), [](const Config& config) { return config.at("even") == 1; });
  };
  CHECK(dealt(4096, 4096) > 0);
  CHECK(dealt(5120, 5120) > 0);
  CHECK(dealt(1024, 1024) == 0);
}

TEST_CASE("weights are in no staggered even tiles whose sums leave them too few registers", "[wgmma]") {
  const auto reason = [](const char* weights, int block_m, int block_k, int stagger) {
    std::string error;
    const KernelTarget target{
        *parse_signature(std::string("bf16f32bf16 NT weights=") + weights, error), *limits_for_arch("sm_90a")};
    const std::string text =
        "wgmma{block_m=" + std::to_string(block_m) + ",block_n=128,block_k=" + std::to_string(block_k) +
        ",stages=3,warpgroups=2,schedule=1,even=1,stagger=" + std::to_string(stagger) +
        ",cluster_m=1,cluster_n=2,min_blocks=1,group_m=4,store_staged=0,store_tma=0,swap=1,split_k=1,reduction=0,pack=0,early_launch=0}";
    return illegal_because(wgmma_family(), Config::parse(text).value(), target).value_or("");
  };
  for (const auto& [weights, block_m, block_k, legal] :
      std::vector<std::tuple<const char*, int, int, bool>>{{"s8_g64", 160, 64, false}, {"s4_g128", 160, 64, false},
          {"s8_g64", 144, 64, true}, {"s8_g64", 192, 64, true}, {"e4m3_g32", 256, 64, false},
          {"s4_g128", 256, 64, true}, {"s4_g128", 256, 128, false}}) {
    INFO(weights << " " << block_m << " " << block_k);
    CHECK(reason(weights, block_m, block_k, 3).starts_with("weights beside staggered even tiles") == !legal);
    CHECK_FALSE(reason(weights, block_m, block_k, 0).starts_with("weights beside"));
  }
}
