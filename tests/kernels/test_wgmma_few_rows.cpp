// Family `wgmma` on the host, for few rows of C: K-steps of 512 bytes.
#include <optional>
#include <string>

#include "tests/catch.hpp"
#include "tests/kernels/wgmma_configs.hpp"

using namespace tilesmith;

TEST_CASE("K-steps of 512 bytes are for swapped tiles of few rows and are copied 256 rows at a time at most") {
  const auto skinny = [](const char* pair, Transposes trans, int rows, int swap, int pack) {
    const KernelTarget target = target_of(pair, trans);
    const Config config = config_with(target, {{"block_m", rows},
                                               {"block_n", 64},
                                               {"block_k", 512 / int(size_bytes(target.type.operand))},
                                               {"stages", 3},
                                               {"warpgroups", 1},
                                               {"schedule", 0},
                                               {"cluster_m", 1},
                                               {"cluster_n", 1},
                                               {"group_m", 1},
                                               {"store_staged", 0},
                                               {"store_tma", 0},
                                               {"swap", swap},
                                               {"pack", pack}});
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

TEST_CASE("few rows of C are guessed to be fastest by long K-steps") {
  for (const char* pair : {"f16f16", "bf16f32bf16"}) {
    for (const Transposes trans : {kNN, kNT}) {
      const KernelTarget target = target_of(pair, trans);
      const Config first = wgmma_family().seeds(target, problem_of(target, 16, 4096, 4096)).at(0);
      INFO(first.text());
      CHECK(first.at("swap") == 1);
      CHECK(first.at("block_k") == 256);
    }
  }
}
