// Family `mma` on the host: which launches solve a problem, what is not worth trying, and what is tried first.
#include <algorithm>
#include <array>

#include "kernels/families/family.hpp"
#include "kernels/mma/mma.hpp"
#include "tests/catch.hpp"

using namespace tilesmith;

namespace {

const Family& mma_family() { return *find_family("mma"); }

KernelTarget target_of(const char* pair, const char* arch, Transposes trans = {}) {
  return {{*find_type_pair(pair), trans}, *limits_for_arch(arch)};
}

Problem mma_problem(const KernelTarget& target, std::int64_t m, std::int64_t n, std::int64_t k) {
  return packed_problem(target, m, n, k);
}

/// The first seed with this value of a parameter.
Config seed_with(const KernelTarget& target, const Problem& problem, const char* parameter, int value) {
  for (const Config& config : mma_family().initial_configs(target, problem)) {
    if (config.at(parameter) == value) return config;
  }
  FAIL("no seed with " << parameter << "=" << value);
  return {};
}

}  // namespace

TEST_CASE("packing is a launch of its own with workspace for what it packs, and none where K is 0") {
  const KernelTarget target = target_of("f16f32", "sm_87");
  const Problem odd = mma_problem(target, 1023, 1025, 1027);
  const Config config = seed_with(target, odd, "pack", 3);
  const LaunchSequence sequence = mma_family().launches(config, odd);
  REQUIRE(sequence.launches.size() == 2);
  CHECK(sequence.launches[0].entry == "pack");
  CHECK(sequence.launches[1].a.from_workspace);
  CHECK(sequence.launches[1].b.offset_bytes >= std::size_t(1023 * 1027 * 2));
  CHECK(sequence.workspace_bytes >= std::size_t(1023 * 1027 * 2 + 1027 * 1025 * 2));
  CHECK(sequence.launches[1].a.row_stride % 64 == 0);
  const LaunchSequence nothing = mma_family().launches(config, mma_problem(target, 48, 36, 0));
  REQUIRE(nothing.launches.size() == 1);
  CHECK(nothing.launches[0].entry == "gemm");
}

TEST_CASE("launches that follow each other overlap on sm_90, the first as the config says, and on no older device") {
  for (const char* arch : {"sm_87", "sm_90a"}) {
    const KernelTarget target = target_of("f16f32", arch);
    for (const auto& [m, n, k] :
        {std::array{1023, 1025, 1027}, std::array{256, 256, 65536}, std::array{512, 512, 512}}) {
      const Problem problem = mma_problem(target, m, n, k);
      for (Config config : mma_family().initial_configs(target, problem)) {
        for (const int early : {0, 1}) {
          config.set("early_launch", early);
          const bool hopper = target.limits.sm >= 90;
          INFO(config.text());
          CHECK(illegal_because(mma_family(), config, target).has_value() == (early == 1 && !hopper));
          if (early == 1 && !hopper) continue;
          const std::vector<Launch> launches = mma_family().launches(config, problem).launches;
          for (std::size_t i = 0; i < launches.size(); ++i)
            CHECK(launches[i].overlaps_previous == (i > 0 ? hopper : early == 1));
        }
      }
    }
  }
}

TEST_CASE("the copying warp comes on top of those that multiply, with three more where registers are traded") {
  const KernelTarget target = target_of("f16f32", "sm_90a", {false, true}),
                     plain = target_of("f16f32", "sm_90", {false, true});
  const Problem problem = mma_problem(target, 4096, 4096, 4096);
  Config config = seed_with(target, problem, "tma", 1);
  config.set("block_m", 128);
  config.set("block_n", 256);
  config.set("warp_m", 64);
  config.set("warp_n", 64);
  config.set("min_blocks", 1);
  config.set("persistent", 0);
  REQUIRE_FALSE(illegal_because(mma_family(), config, target));
  CHECK(illegal_because(mma_family(), config, plain)->find("registers of an SM") != std::string::npos);
  CHECK(mma_family().launches(config, problem).launches.at(0).block.x == (8 + 4) * 32);
  config.set("warp_n", 32);
  config.set("block_n", 128);
  REQUIRE_FALSE(illegal_because(mma_family(), config, plain));
  CHECK(mma_family().launches(config, problem).launches.at(0).block.x == (8 + 1) * 32);
}

TEST_CASE("tensor copies move boxes of at most 128 bytes a row that cover the tiles") {
  for (const Transposes trans : kAllTransposes) {
    const KernelTarget target = target_of("f16f32", "sm_90a", trans);
    const Problem problem = mma_problem(target, 4096, 4096, 4096);
    const Config config = seed_with(target, problem, "tma", 1);
    const Launch launch = mma_family().launches(config, problem).launches.at(0);
    REQUIRE(launch.boxes);
    const int block_m = config.at("block_m"), block_n = config.at("block_n"), block_k = config.at("block_k");
    CHECK(launch.boxes->a.cols == 64);
    CHECK(launch.boxes->a.rows == (trans.a ? block_k : block_m));
    CHECK(launch.boxes->b.cols == 64);
    CHECK(launch.boxes->b.rows == (trans.b ? block_n : block_k));
  }
}

TEST_CASE("tensor copies are for sm_90, and for operands that they swizzle as the fragment loads expect") {
  for (const char* arch : {"sm_80", "sm_87", "sm_89"}) {
    const KernelTarget target = target_of("f16f32", arch);
    for (const Config& config : mma_family().initial_configs(target, mma_problem(target, 4096, 4096, 4096)))
      CHECK(config.at("tma") == 0);
  }
  const KernelTarget nn = target_of("s8s32", "sm_90a"), nt = target_of("s8s32", "sm_90a", {false, true});
  Config config = seed_with(nt, mma_problem(nt, 4096, 4096, 4096), "tma", 1);
  CHECK_FALSE(illegal_because(mma_family(), config, nt));
  CHECK(illegal_because(mma_family(), config, nn)->find("tensor copies") != std::string::npos);
  for (const Transposes trans : kAllTransposes) {
    const KernelTarget words = target_of("tf32f32", "sm_90a", trans);
    CHECK_FALSE(illegal_because(mma_family(), seed_with(words, mma_problem(words, 4096, 4096, 4096), "tma", 1), words));
  }
}

TEST_CASE("8-bit floats are multiplied on Ada alone") {
  for (const char* type : {"e4m3f32", "e4m3f32bf16", "e5m2f32", "e4m3f32e4m3"}) {
    INFO(type);
    for (const char* arch : {"sm_87", "sm_90", "sm_90a"}) CHECK_FALSE(mma_family().supports(target_of(type, arch)));
    for (const Transposes trans : kAllTransposes) {
      const KernelTarget ada = target_of(type, "sm_89", trans);
      REQUIRE(mma_family().supports(ada));
      const std::vector<Config> initial_configs = mma_family().initial_configs(ada, mma_problem(ada, 4096, 4096, 4096));
      REQUIRE_FALSE(initial_configs.empty());
      for (const Config& config : initial_configs) CHECK_FALSE(illegal_because(mma_family(), config, ada));
    }
  }
}

TEST_CASE("scales of blocks of K are for 8-bit floats on Ada and for s8 anywhere, where all threads copy") {
  for (const auto& [text, arch] : {std::pair{"e4m3f32bf16 NT epilogue=scale_m_1x128+scale_n_128x128", "sm_89"},
           {"e5m2f32f16 TN epilogue=scale_m_128x128+scale_n_1x128+bias_n+silu", "sm_89"},
           {"s8s32f16 NN epilogue=scale_m_1x128+scale_n_1x128", "sm_87"},
           {"s8s32bf16 NT epilogue=scale_m_1x128+scale_n_128x128 batch_mode=grouped", "sm_90a"}}) {
    INFO(text << " on " << arch);
    std::string error;
    const KernelTarget target{parse_signature(text, error).value(), *limits_for_arch(arch)};
    REQUIRE(mma_family().supports(target));
    CHECK_FALSE(
        find_family(target.limits.features.wgmma && !is_fp8(target.type.a) ? "wgmma" : "ffma")->supports(target));
    const Problem problem = ordinary_problem(target);
    const std::vector<Config> configs = mma_family().initial_configs(target, problem);
    REQUIRE(configs.size() >= 3);
    for (const Config& config : configs) {
      INFO(config.text());
      CHECK_FALSE(illegal_because(mma_family(), config, target));
      CHECK((config.at("tma") == 0 && config.at("persistent") == 0));
      // A part of the sums beside them, and a stage of scales more than there are stages.
      KernelTarget plain = target;
      plain.epilogue.scale_m = plain.epilogue.scale_n = Scaling::none;
      const mma::Geometry g(config, target), of_plain(config, plain);
      CHECK(g.split_registers > g.accumulator_registers);
      CHECK(g.smem_bytes - of_plain.smem_bytes == 4 * (config.at("stages") + 1) * (g.block_m + g.block_n));
      CHECK(mma::estimate(config, target, problem).cycles > mma::estimate(config, plain, problem).cycles);
    }
    KernelTarget gated = target;
    gated.epilogue.activation = Activation::swiglu;
    CHECK_FALSE(mma_family().supports(gated));
  }
}

TEST_CASE("operands of tf32 change places where B alone lies along N, and nowhere else") {
  const KernelTarget nn = target_of("tf32f32", "sm_87");
  const Problem large = mma_problem(nn, 4096, 4096, 4096);
  CHECK(mma_family().initial_configs(nn, large).front().at("swap") == 1);
  Config swapped = seed_with(nn, large, "swap", 1);
  CHECK_FALSE(illegal_because(mma_family(), swapped, nn));
  for (const Transposes trans : kAllTransposes) {
    if (trans == nn.trans) continue;
    const KernelTarget other = target_of("tf32f32", "sm_87", trans);
    CHECK(illegal_because(mma_family(), swapped, other)->find("swapped operands") != std::string::npos);
  }
  const KernelTarget tn = target_of("tf32f32", "sm_90a", {true, false});
  const Config packed = seed_with(tn, mma_problem(tn, 4096, 4096, 4096), "swap", 1);
  CHECK_FALSE(illegal_because(mma_family(), packed, tn));
  CHECK(packed.at("pack") == 1);
  CHECK(packed.at("pack_k_major") == 1);
  const KernelTarget halves = target_of("f16f32", "sm_87");
  Config of_halves = seed_with(halves, mma_problem(halves, 4096, 4096, 4096), "swap", 0);
  CHECK_FALSE(illegal_because(mma_family(), of_halves, halves));
  of_halves.set("swap", 1);
  CHECK(illegal_because(mma_family(), of_halves, halves)->find("swap") != std::string::npos);
  swapped.set("store_staged", 1);
  CHECK(illegal_because(mma_family(), swapped, nn)->find("swapped operands") != std::string::npos);
}

TEST_CASE("operands of bytes and words that lie along M or N are turned K-major by packing, and copied as such") {
  const KernelTarget tn = target_of("s8s32", "sm_90a", {true, false});
  const Problem large = mma_problem(tn, 4096, 4096, 4096), small = mma_problem(tn, 512, 768, 1024);
  const Config turned = seed_with(tn, large, "pack_k_major", 1);
  CHECK(turned.at("pack") == 3);
  CHECK_FALSE(mma_family().dominated(turned, large));
  const LaunchSequence sequence = mma_family().launches(turned, small);
  REQUIRE(sequence.launches.size() == 2);
  CHECK(sequence.launches[0].grid.x == 1024 / 128 * (512 / 128 + 768 / 128));
  const Launch& gemm = sequence.launches[1];
  CHECK(gemm.a.row_stride == 1024);
  CHECK(gemm.b.row_stride == 1024);
  CHECK(gemm.b.offset_bytes == 512 * 1024);
  CHECK(sequence.workspace_bytes == (512 + 768) * 1024);
  REQUIRE(gemm.boxes);
  CHECK(gemm.boxes->a.matrix_rows == 512);
  CHECK(gemm.boxes->b.matrix_rows == 768);
  CHECK(gemm.boxes->b.matrix_cols == 1024);
  CHECK(gemm.boxes->b.rows == turned.at("block_n"));

  Config as_stored = turned;
  as_stored.set("pack_k_major", 0);
  as_stored.set("tma", 0);
  as_stored.set("persistent", 0);
  CHECK(mma_family().dominated(as_stored, large));
  CHECK(mma_family().launches(as_stored, small).launches[1].a.row_stride == 512);
  CHECK(illegal_because(mma_family(), turned, target_of("s8s32", "sm_90a", {false, true}))->find("packing K-major") !=
        std::string::npos);

  const KernelTarget halves = target_of("f16f32", "sm_90a");
  const Problem odd = mma_problem(halves, 1023, 1153, 1027);
  const Config of_halves = seed_with(halves, odd, "pack_k_major", 1);
  CHECK_FALSE(mma_family().dominated(of_halves, odd));
  Config of_b = of_halves;
  of_b.set("pack", 2);
  CHECK(mma_family().dominated(of_b, mma_problem(halves, 1024, 1024, 1024)));
  const KernelTarget nn = target_of("s8s32", "sm_90a");
  const Problem aligned = mma_problem(nn, 4096, 4096, 4096);
  Config of_bytes = seed_with(nn, aligned, "pack_k_major", 1);
  CHECK(of_bytes.at("pack") == 2);
  CHECK_FALSE(mma_family().dominated(of_bytes, aligned));
  of_bytes.set("pack", 3);
  CHECK(mma_family().dominated(of_bytes, aligned));
  // A lies along K: only B is turned.
  CHECK(mma_family().launches(of_halves, odd).launches[1].a.row_stride == 1088);
  CHECK(mma_family().launches(of_halves, odd).launches[1].b.row_stride == 1088);
  CHECK(mma_family().launches(seed_with(halves, odd, "pack_k_major", 0), odd).launches[1].b.row_stride == 1216);
}

TEST_CASE("bands of tiles are as tall as what an SM each computes is wide, or nearly") {
  const auto band = [](const char* pair, const char* arch) {
    const KernelTarget target = target_of(pair, arch);
    return seed_with(target, mma_problem(target, 8192, 8192, 8192), "split_k", 1);
  };
  const Config orin = band("f16f32", "sm_87"), h200 = band("f64f64", "sm_90a");
  INFO(orin.text() << " " << h200.text());
  CHECK(orin.at("group_m") == 4);
  CHECK(h200.at("group_m") >= 8);
  Config tall = orin;
  tall.set("group_m", 16);
  tall.set("block_m", 256);
  tall.set("block_n", 64);
  CHECK(illegal_because(mma_family(), tall, target_of("f16f32", "sm_87"))->find("bands of tiles") != std::string::npos);
}

TEST_CASE("there are initial configs where K has fewer steps than a pipeline has stages") {
  for (const char* arch : {"sm_87", "sm_90a"}) {
    for (const int k : {1, 8, 64}) {
      const KernelTarget target = target_of("f16f32", arch);
      CHECK_FALSE(mma_family().initial_configs(target, mma_problem(target, 512, 512, k)).empty());
    }
  }
}

TEST_CASE("small entries with rows at any element are copied as they lie, their rows a chunk longer in shared memory") {
  const KernelTarget target = target_of("bf16f32bf16", "sm_90a");
  const Problem small = batched(mma_problem(target, 65, 65, 65), 500);
  const KernelTarget of_batch{small, target.limits};
  const Config first = mma_family().initial_configs(of_batch, small).front();
  CHECK(mma::skewed(first));
  CHECK(first.at("pack") == 0);
  CHECK(first.at("store_staged") == 1);  // rows of C start anywhere, too
  Config aligned = first;
  aligned.set("copy_bytes", 16);
  const int rows = first.at("block_m") + first.at("block_k");  // of a stage: of A along K, of B along N
  CHECK(mma::Geometry(first, of_batch).stage_bytes == mma::Geometry(aligned, of_batch).stage_bytes + 16 * rows);
  CHECK_FALSE(mma_family().refusal(first, small));
  Problem far = mma_problem(target, 65, 65, 65);
  far.ldb = std::int64_t{1} << 26;  // offsets within a tile are 32 bits
  CHECK(mma_family().refusal(first, far));
}

TEST_CASE("what runs but cannot win is dominated, not refused") {
  const KernelTarget target = target_of("f16f32", "sm_87");
  const Problem aligned = mma_problem(target, 1024, 1024, 1024), odd = mma_problem(target, 1023, 1025, 1027);
  const Config packing = seed_with(target, odd, "pack", 3), plain = seed_with(target, aligned, "pack", 0);
  CHECK_FALSE(mma_family().refusal(packing, aligned));
  CHECK(mma_family().dominated(packing, aligned));
  CHECK_FALSE(mma_family().dominated(packing, odd));
  CHECK_FALSE(mma_family().dominated(plain, aligned));
  CHECK(mma_family().refusal(plain, odd));
  Config narrow = plain;
  narrow.set("copy_bytes", 4);
  CHECK(mma_family().dominated(narrow, aligned));
}

TEST_CASE("initial_configs are legal configs that the problem takes, of several tiles, the shortest estimate first") {
  const std::int64_t shapes[][3] = {
      {4096, 4096, 4096}, {1023, 1025, 1027}, {16, 4096, 4096}, {256, 256, 65536}, {100, 300, 500}};
  for (const char* arch : {"sm_87", "sm_90a"}) {
    for (const char* pair : {"f16f32", "s8s32", "f64f64"}) {
      const KernelTarget target = target_of(pair, arch);
      for (const auto& [m, n, k] : shapes) {
        const Problem problem = mma_problem(target, m, n, k);
        const std::vector<Config> initial_configs = mma_family().initial_configs(target, problem);
        INFO(arch << " " << text(problem));
        REQUIRE(initial_configs.size() >= 3);
        CHECK(initial_configs.size() <= 32);
        double last = 0;
        for (const Config& seed : initial_configs) {
          INFO(seed.text());
          CHECK_FALSE(illegal_because(mma_family(), seed, target));
          CHECK_FALSE(mma_family().refusal(seed, problem));
          CHECK_FALSE(mma_family().dominated(seed, problem));
          const double cycles = mma::estimate(seed, target, problem).cycles;
          CHECK(cycles >= last);
          last = cycles;
        }
      }
    }
  }
}

TEST_CASE(
    "the first initial configs suit the shape: large tiles for large problems, narrow ones and slices of K for narrow ones") {
  const KernelTarget target = target_of("f16f32", "sm_90a");
  const Config large = mma_family().initial_configs(target, mma_problem(target, 4096, 4096, 4096)).front();
  CHECK(large.at("block_m") * large.at("block_n") >= 128 * 128);
  CHECK(large.at("split_k") == 1);
  const Config narrow = mma_family().initial_configs(target, mma_problem(target, 16, 4096, 4096)).front();
  CHECK(narrow.at("block_m") == 16);
  const std::vector<Config> of_narrow = mma_family().initial_configs(target, mma_problem(target, 16, 4096, 4096));
  REQUIRE(of_narrow.size() >= 5);
  CHECK(std::any_of(of_narrow.begin(), of_narrow.begin() + 5, [](const Config& c) { return c.at("split_k") > 1; }));
  const Config deep = mma_family().initial_configs(target, mma_problem(target, 256, 256, 65536)).front();
  CHECK(deep.at("split_k") >= 8);
}
