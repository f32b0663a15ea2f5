// C stored by boxes from persistent blocks (family `wgmma`, box_store.cuh), where tiles of one K-step each follow each
// other at once: a tile writes its boxes while the accelerator still reads the last one's.
#include <memory>

#include "runtime/compile/compiler.hpp"
#include "runtime/plan/plan.hpp"
#include "tests/catch.hpp"
#include "tests/kernels/wgmma_configs.hpp"
#include "tuner/verify/verifier.hpp"

namespace tilesmith::test_box_store {

namespace {

struct Case {
  const char* type;
  int block_n;  // an odd number of boxes a warp, which has room for two: a tile begins in the place where the last one ended
};
constexpr Case kCases[] = {{"bf16f32bf16", 64}, {"bf16f32bf16", 192}, {"bf16f32", 96}};
constexpr int kTilesOfBlock = 16;

}  // namespace

TEST_CASE("a tile's first box is not written before the last tile's, in the same place, is read") {
  const runtime::Context context(0);
  tuner::Verifier verifier(context);
  for (const Case& one : kCases) {
    const KernelTarget target{{*find_type_pair(one.type), kTN}, context.info().limits};
    if (!wgmma_family().supports(target)) {
      WARN("this device has no wgmma: nothing was verified");
      return;
    }
    const Config config = config_with(target,
        {{"block_m", 128}, {"block_n", one.block_n}, {"block_k", 64}, {"stages", 4}, {"warpgroups", 2}, {"schedule", 1},
            {"cluster_m", 1}, {"cluster_n", 1}, {"store_staged", 1}, {"store_tma", 1}, {"swap", 0}, {"group_m", 1}});
    INFO(config.text());
    REQUIRE_FALSE(illegal_because(wgmma_family(), config, target));
    const db::KernelBuild built = runtime::compile(config, target);
    INFO(built.message);
    REQUIRE_FALSE(built.cubin.empty());
    const Problem problem =
        problem_of(target, 128, std::int64_t(one.block_n) * kTilesOfBlock * context.info().limits.sm_count, 8);
    const db::Outcome outcome =
        verifier.on_problem(runtime::Plan(std::make_shared<const runtime::Module>(built.cubin), config, problem));
    INFO(outcome.message);
    CHECK(outcome.status == db::Status::ok);
  }
}

}  // namespace tilesmith::test_box_store
