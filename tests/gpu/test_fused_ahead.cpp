// What epilogues read, brought to registers before and while a block multiplies (family `wgmma`, ahead.cuh), where a
// block does several tiles: the suite's problems have fewer tiles than there are blocks.
#include <memory>
#include <string>
#include <vector>

#include "runtime/compile/compiler.hpp"
#include "runtime/plan/plan.hpp"
#include "tests/catch.hpp"
#include "tests/gpu/family_sample.hpp"
#include "tests/gpu/planted_bug.hpp"
#include "tests/kernels/wgmma_configs.hpp"
#include "tuner/verify/verifier.hpp"

namespace tilesmith::test_fused_ahead {

namespace {

struct Tile {
  const char* name;
  int block_m, block_n, warpgroups, schedule, stagger, store_tma;
};
constexpr Tile kTiles[] = {{"one group, boxes", 64, 128, 1, 1, 0, 1},
    {"two groups, one behind the other", 128, 256, 2, 1, 3, 0}, {"in turns", 128, 128, 2, 2, 0, 1}};

Config config_of(const KernelTarget& target, const Tile& tile) {
  return config_with(target,
      {{"block_m", tile.block_m}, {"block_n", tile.block_n}, {"block_k", 64}, {"stages", 4},
          {"warpgroups", tile.warpgroups}, {"schedule", tile.schedule}, {"stagger", tile.stagger}, {"cluster_m", 1},
          {"cluster_n", 1}, {"min_blocks", 1}, {"store_staged", tile.store_tma}, {"store_tma", tile.store_tma},
          {"swap", 0}, {"split_k", 1}, {"reduction", 0}, {"pack", 0}, {"group_m", 1}});
}

/// For two and a half tiles a block, side by side by twos; the last row and column are not whole.
Problem problem_for(const KernelTarget& target, const Tile& tile, std::int64_t k) {
  const std::int64_t rows = std::int64_t(target.limits.sm_count) * 5 / 4;
  Problem problem = problem_of(target, rows * tile.block_m - 9, 2 * tile.block_n - 24, k);
  problem.beta = BetaClass::any;
  return problem;
}

}  // namespace

TEST_CASE("blocks that do several tiles bring each tile's bias, scales and C", "[gpu][epilogue][ahead]") {
  const runtime::Context context(0);
  tuner::Verifier verifier(context);
  for (const char* signature : {"bf16f32bf16 NT epilogue=c_apart", "bf16f32bf16 NT epilogue=bias_n+silu",
           "f16f32f16 NN epilogue=scale_m+scale_n+bias_m_f32"}) {
    const KernelTarget target{{test::signature_of(signature)}, context.info().limits};
    if (!wgmma_family().supports(target)) {
      WARN("this device has no wgmma: nothing was verified");
      return;
    }
    for (const Tile& tile : kTiles) {
      const Config config = config_of(target, tile);
      INFO(signature << ", " << tile.name << ": " << config.text());
      REQUIRE_FALSE(illegal_because(wgmma_family(), config, target));
      const db::KernelBuild built = runtime::compile(config, target);
      INFO(built.message);
      REQUIRE_FALSE(built.cubin.empty());
      const auto module = std::make_shared<const runtime::Module>(built.cubin);
      for (const std::int64_t k : {96, 640}) {  // fewer steps than C is brought in, and more
        const Problem problem = problem_for(target, tile, k);
        const db::Outcome outcome = verifier.on_problem(runtime::Plan(module, config, problem));
        INFO(text(problem) << ": " << outcome.message);
        CHECK(outcome.status == db::Status::ok);
      }
    }
  }
}

TEST_CASE("a block that keeps what its first tile brought is caught on the tuned problem", "[gpu][epilogue][ahead]") {
  const runtime::Context context(0);
  for (const char* epilogue : {"c_apart", "bias_m"}) {
    const KernelTarget target{
        {test::signature_of(std::string("bf16f32bf16 NT epilogue=") + epilogue)}, context.info().limits};
    if (!wgmma_family().supports(target)) return;
    const Config config = config_of(target, kTiles[0]);
    const std::string text_of_config = config.text();
    const planted::Bug bug{"", "wgmma", 0, "bf16f32bf16", kNT,
        {{"finish.fetch(work);", "if (item == cluster.first) finish.fetch(work);"}}, text_of_config.c_str(), epilogue};
    const runtime::SourceBuild built = runtime::compile_source(
        planted::planted_source(bug, target), "planted.cu", "gemm", runtime::compiler_options(target));
    INFO(epilogue << ": " << built.log);
    REQUIRE(built.ok);
    const runtime::Plan plan(
        std::make_shared<const runtime::Module>(built.cubin), config, problem_for(target, kTiles[0], 96));
    const db::Outcome outcome = tuner::Verifier(context).on_problem(plan);
    INFO(outcome.message);
    CHECK(outcome.status == db::Status::mismatch);
  }
}

}  // namespace tilesmith::test_fused_ahead
