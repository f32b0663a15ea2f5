// Family `wgmma` on the host, for few rows or few columns of C: tiles as small, K-steps of 512 bytes.
#include <optional>
#include <string>

#include "tests/catch.hpp"
#include "tests/kernels/wgmma_configs.hpp"

using namespace tilesmith;

TEST_CASE(
    "K-steps of 512 bytes are for swapped tiles of few rows or for few columns, and are copied 256 rows at a time at most") {
  const auto skinny = [](const char* pair, Transposes trans, int rows, int swap, int pack) {
    const KernelTarget target = target_of(pair, trans);
    const Config config =
        config_with(target, {{"block_m", rows}, {"block_n", 64}, {"block_k", 512 / int(size_bytes(target.type.a))},
                                {"stages", 3}, {"warpgroups", 1}, {"schedule", 0}, {"cluster_m", 1}, {"cluster_n", 1},
                                {"group_m", 1}, {"store_staged", 0}, {"store_tma", 0}, {"swap", swap}, {"pack", pack}});
    const std::optional<std::string> reason = illegal_because(wgmma_family(), config, target);
    if (reason) {
      CHECK(reason->find("long K-steps") != std::string::npos);
    } else {
      const Launch launch = wgmma_family().launches(config, problem_of(target, 16, 4096, 4096)).launches.back();
      REQUIRE(launch.boxes);
      CHECK(launch.boxes->a.rows <= 256);
      CHECK(launch.boxes->b.rows <= 256);
    }
    return !reason;
  };
  for (const Transposes trans : kAllTransposes) {
    INFO(name(trans));
    CHECK(skinny("f16f32", trans, 16, 1, 0));
    CHECK(skinny("f16f32", trans, 32, 1, 0));
    CHECK_FALSE(skinny("f16f32", trans, 64, 1, 0));
    CHECK_FALSE(skinny("f16f32", trans, 64, 0, 0));
  }
  CHECK(skinny("s8s32", kNT, 16, 1, 0));
  CHECK_FALSE(skinny("s8s32", kNN, 16, 1, 0));  // rows of B along K, 512 of them
  CHECK(skinny("s8s32", kNN, 16, 1, 2));
}

TEST_CASE("few rows of C are listed to be fastest by long K-steps") {
  for (const char* pair : {"f16f16", "bf16f32bf16"}) {
    for (const Transposes trans : {kNN, kNT}) {
      const KernelTarget target = target_of(pair, trans);
      const Config first = wgmma_family().initial_configs(target, problem_of(target, 16, 4096, 4096)).at(0);
      INFO(first.text());
      CHECK(first.at("swap") == 1);
      CHECK(first.at("block_k") == 256);
    }
  }
}

namespace {

/// What is wrong with a tile of few columns for each warpgroup's 64 rows, empty if nothing is.
std::optional<std::string> wrong_with(const KernelTarget& target, int columns, int groups,
    std::initializer_list<std::pair<const char*, int>> values = {}) {
  const bool packs_b = size_bytes(target.type.a) != 2 && !target.trans.b;
  Config config = config_with(target,
      {{"block_m", 64 * groups}, {"block_n", columns}, {"warpgroups", groups}, {"stages", 4},
          {"block_k", 256 / int(size_bytes(target.type.a))}, {"schedule", 0}, {"cluster_m", 1}, {"cluster_n", 1},
          {"group_m", 1}, {"store_staged", 0}, {"store_tma", 0}, {"swap", 0}, {"pack", packs_b ? 2 : 0}});
  for (const auto& [name, value] : values) config.set(name, value);
  return illegal_because(wgmma_family(), config, target);
}

}  // namespace

TEST_CASE("tiles of 8 and 16 columns are for one tile a block, of 64 rows for each of its warpgroups") {
  for (const char* pair : {"f16f32", "f16f16", "bf16f32bf16", "tf32f32", "s8s32", "e4m3f32bf16"}) {
    for (const Transposes trans : kAllTransposes) {
      const KernelTarget target = target_of(pair, trans);
      for (const int columns : {8, 16}) {
        for (const int groups : {1, 2}) {
          INFO(pair << " " << name(trans) << " 64·" << groups << "×" << columns);
          for (const int staged : {0, 1}) CHECK_FALSE(wrong_with(target, columns, groups, {{"store_staged", staged}}));
          CHECK_FALSE(wrong_with(target, columns, groups, {{"cluster_m", 2}}));
          CHECK_FALSE(wrong_with(target, columns, groups, {{"split_k", 4}, {"reduction", 2}}));
          CHECK(wrong_with(target, columns, groups, {{"cluster_n", 2}})->find("few columns") != std::string::npos);
          CHECK(wrong_with(target, columns, groups, {{"schedule", 1}})->find("few columns") != std::string::npos);
          CHECK(wrong_with(target, columns, groups, {{"block_m", 64 * groups * 2}})->find("few columns") !=
                std::string::npos);
          CHECK(wrong_with(target, columns, groups, {{"store_staged", 1}, {"store_tma", 1}}));
        }
      }
      CHECK(wrong_with(target, 16, 3)->find("few columns") != std::string::npos);
      CHECK_FALSE(wrong_with(target, 32, 1, {{"cluster_n", 2}}));
    }
  }
}

TEST_CASE("one warpgroup on few columns takes K-steps of 512 bytes, two do not") {
  const KernelTarget target = target_of("f16f16", kNT);
  CHECK_FALSE(wrong_with(target, 8, 1, {{"block_k", 256}, {"stages", 6}}));
  CHECK_FALSE(wrong_with(target, 16, 1, {{"block_k", 256}, {"stages", 5}}));
  CHECK(wrong_with(target, 16, 2, {{"block_k", 256}, {"stages", 3}})->find("long K-steps") != std::string::npos);
  CHECK(wrong_with(target, 32, 1, {{"block_k", 256}, {"stages", 4}})->find("long K-steps") != std::string::npos);
  CHECK_FALSE(wrong_with(target_of("s8s32", kNT), 16, 1, {{"block_k", 512}, {"stages", 5}}));
  // Rows of A along K, 512 of them.
  CHECK(wrong_with(target_of("s8s32", kTT), 16, 1, {{"block_k", 512}, {"stages", 3}})->find("long K-steps") !=
        std::string::npos);
}

TEST_CASE("few columns of C are listed to be fastest by tiles of no more") {
  for (const char* pair : {"f16f32", "bf16f32bf16", "s8s32"}) {
    const KernelTarget target = target_of(pair, kNT);
    const Config first = wgmma_family().initial_configs(target, problem_of(target, 4096, 16, 4096)).at(0);
    INFO(first.text());
    CHECK(first.at("swap") == 0);
    CHECK(first.at("block_n") <= 16);
  }
}

TEST_CASE("tiles of few columns are dominated where C has more") {
  const KernelTarget target = target_of("f16f32", kNT);
  const Config of_8 = config_with(target, {{"block_m", 64}, {"block_n", 8}, {"warpgroups", 1}, {"schedule", 0}});
  const Config of_32 = config_with(target, {{"block_m", 64}, {"block_n", 32}, {"warpgroups", 1}, {"schedule", 0}});
  CHECK_FALSE(wgmma_family().dominated(of_8, problem_of(target, 4096, 8, 4096)));
  CHECK(wgmma_family().dominated(of_8, problem_of(target, 4096, 9, 4096)));
  CHECK_FALSE(wgmma_family().dominated(of_32, problem_of(target, 4096, 4096, 4096)));
  CHECK_FALSE(wgmma_family().refusal(of_8, problem_of(target, 4096, 4096, 4096)));  // it would be right
}
