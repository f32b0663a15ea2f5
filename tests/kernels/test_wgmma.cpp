// Family `wgmma` on the host: who copies and who multiplies, what is packed, how clusters share, what is tried first.
#include <algorithm>

#include "kernels/wgmma/wgmma.hpp"
#include "tests/catch.hpp"
#include "tests/kernels/wgmma_configs.hpp"

using namespace tilesmith;

TEST_CASE("wgmma is for sm_90a alone, and not for f64") {
  for (const char* arch : {"sm_80", "sm_87", "sm_89", "sm_90"})
    CHECK_FALSE(wgmma_family().supports(target_of("f16f32", kNN, arch)));
  for (const char* pair : {"f16f32", "bf16f32bf16", "f16f16", "tf32f32", "s8s32", "u8s32"})
    CHECK(wgmma_family().supports(target_of(pair)));
  CHECK_FALSE(wgmma_family().supports(target_of("f64f64")));
}

TEST_CASE("the copying warp comes with three more where sums fill the registers") {
  const KernelTarget target = target_of("f16f32");
  const Problem problem = problem_of(target, 4096, 4096, 4096);
  const Config large = config_with(target, {{"block_m", 128}, {"block_n", 256}, {"warpgroups", 2}, {"schedule", 1}});
  REQUIRE_FALSE(illegal_because(wgmma_family(), large, target));
  CHECK(wgmma_family().launches(large, problem).launches.at(0).block.x == 2 * 128 + 128);
  const Config small = config_with(
      target, {{"block_m", 64}, {"block_n", 64}, {"warpgroups", 1}, {"schedule", 0}, {"group_m", 1}, {"stages", 4}});
  REQUIRE_FALSE(illegal_because(wgmma_family(), small, target));
  CHECK(wgmma_family().launches(small, problem).launches.at(0).block.x == 128 + 32);
}

TEST_CASE("two warpgroups on a large tile may go apart, by no more steps than the ring holds") {
  const KernelTarget target = target_of("f16f32");
  Config config = config_with(target, {{"block_m", 128}, {"block_n", 256}, {"stages", 3}, {"warpgroups", 2},
                                          {"schedule", 0}, {"stagger", 3}, {"store_staged", 1}});
  CHECK_FALSE(illegal_because(wgmma_family(), config, target));
  // The first group stores while the second still reads the ring: the one is not kept in the other's place.
  Config together = config;
  together.set("stagger", 0);
  const Problem problem = problem_of(target, 4096, 4096, 4096);
  const auto shared_bytes = [&](const Config& of) {
    return wgmma_family().launches(of, problem).launches.at(0).dynamic_smem_bytes;
  };
  CHECK(shared_bytes(config) > shared_bytes(together));
  const auto legal_with = [&](const char* parameter, int value) {
    Config changed = config;
    changed.set(parameter, value);
    return !illegal_because(wgmma_family(), changed, target);
  };
  CHECK_FALSE(legal_with("stagger", 4));
  CHECK_FALSE(legal_with("block_n", 64));
  CHECK(legal_with("schedule", 1));
  CHECK_FALSE(legal_with("schedule", 2));
  Config one_group = config;
  one_group.set("block_m", 64);
  one_group.set("warpgroups", 1);
  CHECK(illegal_because(wgmma_family(), one_group, target));
}

TEST_CASE("blocks of a cluster copy parts of what they share, and a grid is made of whole clusters") {
  for (const Transposes trans : kAllTransposes) {
    const KernelTarget target = target_of("f16f32", trans);
    const Config config =
        config_with(target, {{"block_m", 128}, {"block_n", 256}, {"block_k", 64}, {"stages", 4}, {"warpgroups", 2},
                                {"schedule", 0}, {"cluster_m", 2}, {"cluster_n", 1}});
    REQUIRE_FALSE(illegal_because(wgmma_family(), config, target));
    const Launch launch = wgmma_family().launches(config, problem_of(target, 129, 300, 512)).launches.at(0);
    CHECK(launch.cluster.x == 2);
    CHECK(launch.grid.x == 1 * 2 * 2);  // 256 rows × 256 columns of C a cluster
    REQUIRE(launch.boxes);
    CHECK(launch.boxes->a.cols == 64);
    CHECK(launch.boxes->a.rows == (trans.a ? 64 : 128));  // A is not shared along M
    CHECK(launch.boxes->b.cols == 64);
    CHECK(launch.boxes->b.rows == (trans.b ? 256 : 64) / 2);
  }
}

TEST_CASE("of 8- and 32-bit operands the left one may lie MN-major, the right one is packed") {
  const struct {
    Transposes trans;
    int swap, pack;
  } cases[] = {{kNN, 0, 2}, {kNN, 1, 0}, {kNT, 0, 0}, {kTN, 0, 2}, {kTN, 1, 1}, {kTT, 0, 0}, {kTT, 1, 1}};
  for (const char* pair : {"tf32f32", "s8s32", "u8s32", "e4m3f32", "e5m2f32bf16"}) {
    for (const auto& [trans, swap, pack] : cases) {
      const KernelTarget target = target_of(pair, trans);
      Config config = config_with(target, {{"block_m", swap == 1 ? 256 : 128}, {"block_n", swap == 1 ? 128 : 256},
                                              {"block_k", 128 / int(size_bytes(target.type.a))}, {"stages", 4},
                                              {"warpgroups", 2}, {"schedule", 1}, {"cluster_m", 1}, {"cluster_n", 1},
                                              {"store_staged", 0}, {"store_tma", 0}, {"swap", swap}, {"pack", pack}});
      INFO(pair << " " << config.text());
      // A swapped tile of several waves is for a B from registers.
      const bool legal = swap == 0 || !trans.b;
      CHECK(illegal_because(wgmma_family(), config, target).has_value() == !legal);
      config.set("pack", pack & (swap == 1 ? 2 : 1));
      if (config.at("pack") != pack) CHECK(illegal_because(wgmma_family(), config, target));
    }
  }
}

TEST_CASE("C is stored by boxes where its rows begin and end with whole chunks") {
  const KernelTarget target = target_of("f16f32");
  const Config config = config_with(target, {{"block_m", 128}, {"block_n", 256}, {"stages", 4}, {"warpgroups", 2},
                                                {"schedule", 1}, {"store_staged", 1}, {"store_tma", 1}});
  REQUIRE_FALSE(illegal_because(wgmma_family(), config, target));
  const Problem whole = problem_of(target, 1000, 1000, 1024);
  CHECK_FALSE(wgmma_family().refusal(config, whole));
  const Launch launch = wgmma_family().launches(config, whole).launches.at(0);
  REQUIRE(launch.boxes);
  REQUIRE(launch.boxes->d);
  CHECK(launch.boxes->d->matrix_rows == 1000);
  CHECK(launch.boxes->d->matrix_cols == 1000);
  CHECK(launch.boxes->d->rows == 16);
  CHECK(launch.boxes->d->cols == 32);
  Problem ends_within = whole;
  ends_within.n = 998;
  CHECK(wgmma_family().refusal(config, ends_within));
  Problem begins_within = whole;
  begins_within.ldc = 1002;
  CHECK(wgmma_family().refusal(config, begins_within));
}

TEST_CASE("of two 8-bit operands that lie MN-major one is packed K-major, and one alone is copied as it lies") {
  const struct {
    Transposes trans;
    bool packs;
  } cases[] = {{kNT, false}, {kNN, false}, {kTN, true}, {kTT, false}};
  for (const auto& [trans, packs] : cases) {
    const KernelTarget target = target_of("s8s32", trans);
    const Problem problem = problem_of(target, 4096, 2048, 1024);
    const std::vector<Config> initial_configs = wgmma_family().initial_configs(target, problem);
    const auto least = std::min_element(initial_configs.begin(), initial_configs.end(),
        [](const Config& one, const Config& other) { return one.at("pack") < other.at("pack"); });
    REQUIRE(least != initial_configs.end());
    const Config& config = *least;
    INFO(config.text());
    const int pack = config.at("pack");
    CHECK((packs ? pack == 1 || pack == 2 : pack == 0));
    CHECK(std::none_of(
        initial_configs.begin(), initial_configs.end(), [](const Config& seed) { return seed.at("pack") == 3; }));
    const LaunchSequence sequence = wgmma_family().launches(config, problem);
    CHECK(sequence.launches.size() == (packs ? 2 : 1));
    const Launch& gemm = sequence.launches.back();
    REQUIRE(gemm.boxes);
    const bool a_k_major = !trans.a || (pack & 1) != 0, b_k_major = trans.b || (pack & 2) != 0;
    CHECK(gemm.boxes->a.matrix_rows == (a_k_major ? 4096 : 1024));
    CHECK(gemm.boxes->a.matrix_cols == (a_k_major ? 1024 : 4096));
    CHECK(gemm.boxes->b.matrix_rows == (b_k_major ? 2048 : 1024));
    CHECK(gemm.boxes->b.matrix_cols == (b_k_major ? 1024 : 2048));
    if (packs) {
      Config without = config;
      without.set("pack", 0);
      const std::vector<Rule> rules = wgmma_family().rules(target);
      const auto packing = std::find_if(rules.begin(), rules.end(), [](const Rule& r) { return r.name == "packing"; });
      REQUIRE(packing != rules.end());
      CHECK_FALSE(packing->holds(without));
    }
  }
}

TEST_CASE("rows that the tensor memory accelerator cannot copy are packed or refused") {
  const KernelTarget target = target_of("f16f32");
  const Problem odd = problem_of(target, 1023, 1025, 1027), even = problem_of(target, 1024, 1024, 1024);
  const Config packing = wgmma_family().initial_configs(target, odd).at(0),
               plain = wgmma_family().initial_configs(target, even).at(0);
  CHECK(packing.at("pack") == 3);
  CHECK(plain.at("pack") == 0);
  CHECK(wgmma_family().refusal(plain, odd));
  CHECK_FALSE(wgmma_family().refusal(packing, even));
  CHECK(wgmma_family().dominated(packing, even));
  CHECK(wgmma_family().launches(packing, odd).launches.at(0).entry == "pack");
  // What is packed lies K-major, however it was stored.
  const std::optional<TensorBoxes> boxes = wgmma_family().launches(packing, odd).launches.at(1).boxes;
  REQUIRE(boxes);
  CHECK(boxes->b.matrix_rows == 1025);
  CHECK(boxes->b.matrix_cols == 1027);
  CHECK(wgmma_family().launches(packing, problem_of(target, 33, 35, 0)).launches.size() == 1);
}

TEST_CASE("of the last panel of an MN-major operand less than all may be used") {
  const auto smem = [](const char* pair, Transposes trans, int block_m, int block_n) {
    const KernelTarget target = target_of(pair, trans);
    const Config config = config_with(
        target, {{"block_m", block_m}, {"block_n", block_n}, {"block_k", 128 / int(size_bytes(target.type.a))},
                    {"stages", 3}, {"warpgroups", block_m / 64}, {"schedule", 0}, {"cluster_m", 1}, {"cluster_n", 1},
                    {"store_staged", 0}, {"store_tma", 0}, {"swap", 0}});
    CHECK_FALSE(illegal_because(wgmma_family(), config, target));
    return wgmma_family().launches(config, problem_of(target, 1024, 1024, 1024)).launches.at(0).dynamic_smem_bytes;
  };
  CHECK(smem("f16f32", kNN, 128, 72) == smem("f16f32", kNN, 128, 128));
  CHECK(smem("f16f32", kNT, 128, 72) < smem("f16f32", kNT, 128, 128));
  // A panel of bytes is 128 of M.
  CHECK(smem("s8s32", kTT, 64, 128) == smem("s8s32", kTT, 128, 128));
  CHECK(smem("s8s32", kNT, 64, 128) < smem("s8s32", kNT, 128, 128));
}

TEST_CASE("an instruction of 8-bit floats has 72 columns too, as one of 16 bits has, of 8-bit integers it has not") {
  for (const Transposes trans : kAllTransposes) {
    for (const auto& [pair, legal] : {std::pair{"f16f32", true}, {"tf32f32", true}, {"e4m3f32", true},
             {"e5m2f32bf16", true}, {"s8s32", false}, {"u8s32", false}}) {
      const KernelTarget target = target_of(pair, trans);
      const Config config =
          config_with(target, {{"block_m", 128}, {"block_n", 72}, {"store_tma", 0}, {"schedule", 1}, {"swap", 0},
                                  {"cluster_m", 1}, {"cluster_n", 1}, {"pack", trans.b ? 0 : 2}});
      const std::optional<std::string> reason = illegal_because(wgmma_family(), config, target);
      INFO(pair << " " << name(trans) << " " << config.text() << ": " << reason.value_or("legal"));
      CHECK(!reason == legal);
      if (reason) CHECK(reason->find("columns of an instruction") != std::string::npos);
      if (legal) CHECK(wgmma_family().source(config, target).find("m64n72k") != std::string::npos);
    }
  }
}

TEST_CASE("the instruction names its columns, its types and which operands lie MN-major") {
  const auto text = [](const KernelTarget& target, std::initializer_list<std::pair<const char*, int>> values) {
    return wgmma::instruction_source(config_with(target, values), target);
  };
  CHECK(text(target_of("f16f32", kNN), {{"block_n", 256}, {"swap", 0}}).find("m64n256k16.f32.f16.f16 ") !=
        std::string::npos);
  CHECK(text(target_of("f16f32", kNN), {}).find("p, 1, 1, 0, 1;") != std::string::npos);
  CHECK(text(target_of("bf16f32", kTN), {}).find("p, 1, 1, 1, 1;") != std::string::npos);
  CHECK(text(target_of("s8s32", kTN), {{"block_n", 128}, {"swap", 0}}).find("m64n128k32.s32.s8.s8 ") !=
        std::string::npos);
  CHECK(text(target_of("tf32f32", kNT), {{"block_n", 192}}).find("m64n192k8.f32.tf32.tf32 ") != std::string::npos);
  // From registers, the left operand is four words; which lie MN-major is told of 16 bits only.
  CHECK(text(target_of("u8s32", kTT), {{"block_n", 128}, {"swap", 0}}).find("{%64, %65, %66, %67}, %68, p; }") !=
        std::string::npos);
  CHECK(
      text(target_of("e4m3f32", kTT), {{"block_n", 128}, {"swap", 0}}).find("{%64, %65, %66, %67}, %68, p, 1, 1; }") !=
      std::string::npos);
  CHECK(text(target_of("s8s32", kNT), {{"block_n", 128}, {"swap", 0}}).find("}, %64, %65, p; }") != std::string::npos);
  // Swapped, B is the left operand, and an instruction's columns are C's rows.
  CHECK(text(target_of("f16f32", kNN), {{"block_m", 16}, {"swap", 1}}).find("m64n16k16") != std::string::npos);
  CHECK(text(target_of("f16f32", kNN), {{"block_m", 16}, {"swap", 1}}).find("p, 1, 1, 1, 0;") != std::string::npos);
}

TEST_CASE("wgmma's initial configs are legal configs that the problem takes, of several tiles") {
  const std::int64_t shapes[][3] = {{4096, 4096, 4096}, {1023, 1025, 1027}, {16, 4096, 4096}, {1, 128, 8},
      {256, 256, 65536}, {100, 300, 500}, {8192, 64, 8192}};
  for (const char* pair : {"f16f32", "bf16f32bf16", "s8s32", "e4m3f32bf16", "tf32f32"}) {
    for (const Transposes trans : kAllTransposes) {
      const KernelTarget target = target_of(pair, trans);
      const Legality legality(wgmma_family(), target);
      for (const auto& [m, n, k] : shapes) {
        const Problem problem = problem_of(target, m, n, k);
        const std::vector<Config> initial_configs = wgmma_family().initial_configs(target, problem);
        INFO(text(problem));
        REQUIRE(initial_configs.size() >= 4);
        for (const Config& config : initial_configs) {
          INFO(config.text());
          CHECK_FALSE(legality.illegal_because(config));
          CHECK_FALSE(wgmma_family().refusal(config, problem));
          CHECK_FALSE(wgmma_family().dominated(config, problem));
        }
      }
    }
  }
}
