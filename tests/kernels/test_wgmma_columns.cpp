// Family `wgmma` on the host, tiles of more columns than an instruction has.
#include <optional>
#include <string>

#include "kernels/wgmma/columns.cuh"
#include "tests/catch.hpp"
#include "tests/kernels/wgmma_configs.hpp"

using namespace tilesmith;

namespace {

/// 128×320, or 320×128 with swapped operands, in clusters of two that share the 320.
Config wide(const KernelTarget& target, int swap, std::initializer_list<std::pair<const char*, int>> values = {}) {
  Config config = config_with(
      target, {{"block_m", swap == 1 ? 320 : 128}, {"block_n", swap == 1 ? 128 : 320},
                  {"block_k", 128 / int(size_bytes(target.type.a))}, {"stages", 3}, {"warpgroups", 2}, {"schedule", 1},
                  {"cluster_m", swap == 1 ? 1 : 2}, {"cluster_n", swap == 1 ? 2 : 1}, {"min_blocks", 1}, {"group_m", 8},
                  {"store_staged", 0}, {"store_tma", 0}, {"swap", swap}, {"split_k", 1}, {"pack", 0}});
  for (const auto& [name, value] : values) config.set(name, value);
  return config;
}

std::optional<std::string> wrong_with(
    const KernelTarget& target, int swap, std::initializer_list<std::pair<const char*, int>> values = {}) {
  return illegal_because(wgmma_family(), wide(target, swap, values), target);
}

bool names_rule(const std::optional<std::string>& reason) {
  return reason && reason->find("columns of two instructions") != std::string::npos;
}

}  // namespace

TEST_CASE("320 columns are two instructions', of two warpgroups, and a copy has up to 256 rows") {
  const KernelTarget nt = target_of("f16f32", kNT), nn = target_of("f16f32", kNN);
  CHECK_FALSE(wrong_with(nt, 0));
  CHECK_FALSE(wrong_with(nt, 0, {{"stages", 4}, {"even", 1}, {"stagger", 4}}));
  CHECK_FALSE(wrong_with(nt, 0, {{"schedule", 0}}));
  // B along K alone by one block would be a copy of 320 rows; along N it comes by panels of 64.
  CHECK(names_rule(wrong_with(nt, 0, {{"cluster_m", 1}})));
  CHECK_FALSE(wrong_with(nn, 0, {{"cluster_m", 1}}));
  CHECK(names_rule(wrong_with(nt, 0, {{"cluster_m", 1}, {"cluster_n", 2}})));
  CHECK_FALSE(wrong_with(nn, 1));
  CHECK(names_rule(wrong_with(nn, 1, {{"cluster_n", 1}})));
  CHECK(names_rule(wrong_with(nt, 0, {{"schedule", 2}, {"block_m", 64}})));
  CHECK(names_rule(wrong_with(nt, 0, {{"block_m", 64}, {"warpgroups", 1}})));
  // 320 rows of the left operand are five instructions' where two suffice, and a copy of all.
  CHECK(names_rule(wrong_with(nt, 0, {{"block_m", 320}, {"block_n", 64}, {"warpgroups", 1}, {"cluster_m", 1}})));
  for (const char* pair : {"bf16f32bf16", "tf32f32", "s8s32", "u8s32", "e4m3f32"})
    CHECK_FALSE(wrong_with(target_of(pair, kNT), 0));
}

TEST_CASE("a copy of 320 shared rows has half of them") {
  const KernelTarget target = target_of("f16f32", kNT);
  const Launch launch = wgmma_family().launches(wide(target, 0), problem_of(target, 4096, 4096, 4096)).launches.back();
  REQUIRE(launch.boxes);
  CHECK(launch.boxes->b.rows == 160);
}

TEST_CASE(
    "the first of two instructions takes whole panels, the second the rest, narrower where columns are dealt evenly") {
  CHECK(first_columns(256) == 256);
  CHECK(first_columns(320) % 64 == 0);
  CHECK(320 - first_columns(320) <= 256);
  const auto count = [](const std::string& text, const std::string& part) {
    std::size_t found = 0;
    for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
    return found;
  };
  const KernelTarget target = target_of("s8s32", kNT);
  const std::string equal = wgmma_family().source(wide(target, 0), target);
  CHECK(count(equal, "wgmma.mma_async.sync.aligned.m64n192k32") == 1);
  CHECK(count(equal, "wgmma.mma_async.sync.aligned.m64n128k32") == 1);
  // The second's sums begin where the first's end, and its columns at a descriptor of their own.
  CHECK(count(equal, "\"+r\"(sums[95])") == 1);
  CHECK(count(equal, "\"+r\"(sums[96])") == 1);
  CHECK(count(equal, "\"+r\"(sums[159])") == 1);
  CHECK(count(equal, "\"l\"(beyond)") == 1);
  const std::string even = wgmma_family().source(wide(target, 0, {{"even", 1}}), target);
  CHECK(count(even, "m64n192k32") == 2);
  CHECK(count(even, "m64n128k32") == 1);
  CHECK(count(even, "m64n112k32") == 1);
}

TEST_CASE("stages are up to 16, where so many fit") {
  const KernelTarget target = target_of("f16f32", kNT);
  const auto wrong = [&](int columns) {
    return illegal_because(wgmma_family(),
        config_with(target,
            {{"block_m", 64}, {"block_n", columns}, {"block_k", 64}, {"stages", 16}, {"warpgroups", 1}, {"schedule", 0},
                {"cluster_m", 1}, {"cluster_n", 1}, {"group_m", 1}, {"store_staged", 0}, {"store_tma", 0}}),
        target);
  };
  CHECK_FALSE(wrong(8));
  CHECK_FALSE(wrong(32));
  CHECK(wrong(64)->find("shared memory") != std::string::npos);
}
