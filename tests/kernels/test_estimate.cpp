// The analytic prior: its parts, by hand.
#include "kernels/families/estimate.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "tests/catch.hpp"

using namespace tilesmith;

namespace {

Estimate of_first_seed(const char* family, const KernelTarget& target, const Problem& problem, Config& config) {
  config = find_family(family)->initial_configs(target, problem).at(0);
  return *estimate(config, target, problem);
}

}  // namespace

TEST_CASE("an estimate counts blocks, what an SM has room for, waves, and what bounds the time") {
  const Problem cube = packed_problem({*find_type_pair("f16f32"), {}}, 4096, 4096, 4096);
  const Problem row = packed_problem({*find_type_pair("f16f32"), {}}, 16, 4096, 4096);
  for (const auto& [family, arch] :
      {std::pair{"mma", "sm_87"}, std::pair{"mma", "sm_90a"}, std::pair{"wgmma", "sm_90a"}}) {
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

TEST_CASE("families without an estimate make none, and simt none of a single problem") {
  for (const Problem& single : {packed_problem({*find_type_pair("f16f32"), {}}, 64, 64, 64),
           packed_problem({*find_type_pair("f32f32"), {}}, 16, 16, 16)}) {
    const KernelTarget target{single, *limits_for_arch("sm_87")};
    CHECK_FALSE(estimate(generic_config(target), target, single));
  }
}

namespace {

Config small_entries(int extent, int block_k, int thread_m, int thread_n, int entries) {
  return Config("simt", {{"block_m", extent}, {"block_n", extent}, {"block_k", block_k}, {"thread_m", thread_m},
                            {"thread_n", thread_n}, {"entries", entries}});
}

}  // namespace

TEST_CASE("simt's estimate of small entries is near what an H100 took") {
  struct Measured {
    const char* type;
    int extent, batch;
    Config config;
    double us;
  };
  const Measured measured[] = {{"f32f32", 8, 262144, small_entries(8, 8, 4, 2, 16), 119.2},
      {"f16f32f16", 16, 65536, small_entries(16, 8, 4, 2, 1), 118.1},
      {"f16f32f16", 16, 65536, small_entries(16, 8, 4, 2, 2), 105.4},
      {"f32f32", 16, 65536, small_entries(16, 8, 4, 2, 1), 112.4},
      {"f32f32", 16, 65536, small_entries(16, 8, 4, 2, 2), 113.5},
      {"f32f32", 16, 65536, small_entries(16, 8, 4, 2, 16), 135.3}};
  for (const Measured& one : measured) {
    INFO(one.type << " " << one.extent << " " << one.config.text());
    const Problem batch =
        batched(packed_problem({*find_type_pair(one.type), {}}, one.extent, one.extent, one.extent), one.batch);
    const KernelTarget target{batch, *limits_for_arch("sm_90a")};
    CHECK(estimate(one.config, target, batch)->cycles / target.limits.rates.mhz == Approx(one.us).epsilon(0.13));
  }
}

TEST_CASE("simt's estimate of a batch counts blocks of entries, how fast they start, and products") {
  const KernelSignature f32{*find_type_pair("f32f32"), {}};
  const DeviceLimits limits = *limits_for_arch("sm_90a");
  const Problem tiny = batched(packed_problem(f32, 8, 8, 8), 262144);
  const KernelTarget target{tiny, limits};
  const Estimate one = *estimate(small_entries(8, 8, 2, 1, 1), target, tiny),
                 four = *estimate(small_entries(8, 8, 2, 1, 4), target, tiny);
  CHECK(one.blocks == 262144);
  CHECK(four.blocks == 65536);
  CHECK(one.bound_by() == "latency");  // no more blocks start
  CHECK(one.cycles > 1.5 * four.cycles);
  CHECK(four.dram > 0);
  // All entries read one B: a third of the bytes less.
  Problem broadcast = tiny;
  broadcast.stride_b = 0;
  CHECK(estimate(small_entries(8, 8, 2, 1, 4), target, broadcast)->dram < 0.7 * four.dram);
  // Large entries are products; pointers cost a load more.
  const Problem large = batched(packed_problem(f32, 512, 512, 512), 64);
  const Estimate products = *estimate(small_entries(64, 16, 8, 8, 1), {large, limits}, large);
  CHECK(products.multiplying > products.dram);
  CHECK(products.multiplying <= products.cycles);
  const Problem pointed = by_pointers(packed_problem(f32, 8, 8, 8), 262144);
  CHECK(estimate(small_entries(8, 8, 2, 1, 4), {pointed, limits}, pointed)->cycles > four.cycles);
  // A group's share of the rows is an entry.
  const Problem groups = grouped(packed_problem(f32, 4096, 512, 512), 8);
  CHECK(estimate(generic_config({groups, limits}), {groups, limits}, groups)->blocks == 8 * 8 * 8);
}

TEST_CASE("simt's first configs for a batch hold its entries, and several where they are small") {
  for (const char* type : {"f32f32", "f64f64", "s8s32", "f16f32f16"}) {
    for (const int extent : {4, 8, 16, 32, 64, 128, 256}) {
      INFO(type << " " << extent);
      const Problem batch = batched(packed_problem({*find_type_pair(type), {}}, extent, extent, extent), 16384);
      const KernelTarget target{batch, *limits_for_arch("sm_87")};
      const Family& simt = *find_family("simt");
      const std::vector<Config> initial_configs = simt.initial_configs(target, batch);
      REQUIRE(initial_configs.size() >= 4);
      for (const Config& config : initial_configs) CHECK_FALSE(illegal_because(simt, config, target));
      CHECK(initial_configs.front().at("block_m") <= std::max(8, std::min(extent, 128)));
      if (extent <= 8) CHECK(initial_configs.front().at("entries") > 1);
      CHECK(std::find(initial_configs.begin(), initial_configs.end(), generic_config(target)) != initial_configs.end());
      for (std::size_t i = 1; i < 4; ++i)
        CHECK(estimate(initial_configs[i - 1], target, batch)->cycles <=
              estimate(initial_configs[i], target, batch)->cycles);
    }
  }
}

TEST_CASE("mma's estimate counts the lines of the L2 that rows of any length are read in") {
  const auto problem_of = [](std::int64_t k) {
    return packed_problem({*find_type_pair("f64f64"), {false, true}}, 1000, 1000, k);
  };
  const KernelTarget target{problem_of(512), *limits_for_arch("sm_90a")};
  Config config = find_family("mma")->initial_configs(target, problem_of(512)).at(0);
  const auto l2_of = [&](std::int64_t k) { return estimate(config, target, problem_of(k))->l2; };
  REQUIRE(config.at("block_k") == 16);  // pieces of 128 bytes
  config.set("pack", 0);
  CHECK(l2_of(510) == Approx(l2_of(512) * (1 + 112.0 / 128)));  // seven of eight rows start within a line
  config.set("pack", 3);
  CHECK(l2_of(510) == Approx(l2_of(512)));
}

TEST_CASE("f64 whose rows are odd is first tried in narrow copies that split K, and in some that stage their stores") {
  const Problem problem = packed_problem({*find_type_pair("f64f64"), {}}, 3333, 77, 777);
  const KernelTarget target{problem, *limits_for_arch("sm_90a")};
  const auto configs = find_family("mma")->initial_configs(target, problem);
  const auto any = [&](const char* parameter, int more_than) {
    return std::ranges::any_of(
        configs, [&](const Config& c) { return c.at("copy_bytes") == 8 && c.at(parameter) > more_than; });
  };
  CHECK(any("split_k", 1));
  CHECK(any("store_staged", 0));
  CHECK(any("stages", 4));
}
