// The analytic prior: its parts, by hand.
#include "kernels/estimate.hpp"

#include <cmath>
#include <utility>

#include "tests/catch.hpp"

using namespace tilesmith;

namespace {

Estimate of_first_seed(const char* family, const KernelTarget& target, const Problem& problem, Config& config) {
  config = find_family(family)->seeds(target, problem).at(0);
  return *estimate(config, target, problem);
}

}  // namespace

TEST_CASE("an estimate counts blocks, what an SM has room for, waves, and what bounds the time") {
  const Problem cube = packed_problem({*find_type_pair("f16f32"), {}}, 4096, 4096, 4096);
  const Problem row = packed_problem({*find_type_pair("f16f32"), {}}, 16, 4096, 4096);
  for (const auto& [family, arch] : {std::pair{"mma", "sm_87"}, std::pair{"mma", "sm_90a"}, std::pair{"wgmma", "sm_90a"}}) {
    INFO(family << " " << arch);
    const KernelTarget target{{cube.type, {}}, *limits_for_arch(arch)};
    Config config("simt", {});
    const Estimate made = of_first_seed(family, target, cube, config);
    const double tiles = std::ceil(4096.0 / config.at("block_m")) * std::ceil(4096.0 / config.at("block_n"));
    CHECK(made.blocks >= tiles * config.at("split_k"));  // clusters are whole
    CHECK(made.sms <= target.limits.sm_count);
    CHECK(made.resident >= made.compiled_for);
    CHECK(made.room_by_shared_memory >= made.compiled_for);
    CHECK(made.waves == Approx(made.blocks / (made.sms * made.resident)));
    CHECK((made.bound_by() == "multiplying" || made.bound_by() == "shared memory"));
    CHECK(made.cycles >= made.multiplying);
    CHECK(made.cycles >= made.dram + made.passes);
    CHECK(made.passes > 0);
    const Estimate thin = of_first_seed(family, target, row, config);
    CHECK(thin.dram > thin.multiplying);  // 32 MiB of B for 16 rows
  }
}

TEST_CASE("families without an estimate make none") {
  const Problem cube = packed_problem({*find_type_pair("f16f32"), {}}, 64, 64, 64);
  const KernelTarget target{{cube.type, {}}, *limits_for_arch("sm_87")};
  CHECK_FALSE(estimate(generic_config(target), target, cube));
}
