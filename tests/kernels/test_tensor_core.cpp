// What the families on tensor cores share on the host: ranking of first initial configs, memory of a block, launches of
// split K.
#include "kernels/families/family.hpp"
#include "kernels/families/passes.hpp"
#include "kernels/families/shared_rules.hpp"
#include "kernels/shared/store/block_memory.cuh"
#include "tests/catch.hpp"

using namespace tilesmith;
using namespace tilesmith::tensor_core;

TEST_CASE("a ranking keeps the shortest of each tile, and orders all") {
  const auto config = [](int id) { return Config("any", {{"id", id}}); };
  Ranking ranking(2);
  ranking.add_tile({{5, config(5)}, {1, config(1)}, {4, config(4)}});
  ranking.add_tile({{3, config(3)}, {2, config(2)}});
  const auto ids = [](const std::vector<Config>& configs) {
    std::vector<int> found;
    for (const Config& one : configs) found.push_back(one.at("id"));
    return found;
  };
  Ranking same = ranking;
  CHECK(ids(std::move(same).shortest(10)) == std::vector<int>{1, 2, 3, 4});
  CHECK(ids(std::move(ranking).shortest(3)) == std::vector<int>{1, 2, 3});
}

TEST_CASE("what the epilogue needs lies in the ring's place unless copies are under way then") {
  const BlockMemory alone = block_memory(1000, 300, 48, false), beside = block_memory(1000, 300, 48, true);
  CHECK(alone.epilogue_at == 0);
  CHECK(alone.barriers_at == 1000);
  CHECK(alone.bytes == 1048);
  CHECK(block_memory(1000, 3000, 48, false).bytes == 3048);
  CHECK(beside.epilogue_at == 1000);
  CHECK(beside.barriers_at == 1300);
  CHECK(beside.bytes == 1348);
}

TEST_CASE("a warp's columns are staged by the largest powers of two that fit") {
  CHECK(staged_columns(256) == 64);
  CHECK(staged_columns(72 - 64) == 8);
  CHECK(staged_columns(48) == 32);
  CHECK(staged_columns(112 - 64) == 32);
}

TEST_CASE("many slices are added by as many blocks more as threads share a run of sums") {
  const TypePair type = *find_type_pair("f16f32");
  const Problem problem = packed_problem({type, {}}, 100, 60, 4096);  // 100 rows of 15 runs
  const auto sums = [&](int split_k) {
    const Config config(
        "any", {{"split_k", split_k}, {"reduction", through_workspace}, {"pack", 0}, {"early_launch", 0}});
    const LaunchSequence sequence = with_passes({}, config, problem, packed_operands(problem, true, false), false);
    REQUIRE(sequence.launches.size() == 2);
    CHECK(sequence.launches[1].entry == "sum_slices");
    CHECK(sequence.workspace_bytes == std::size_t(split_k) * 100 * 64 * 4);
    return sequence.launches[1].grid.x;
  };
  CHECK(sums(4) == (1500 + 127) / 128);
  CHECK(sums(16) == (1500 + 31) / 32);
}

TEST_CASE("of a sequence that launches early the first launch comes so, whichever that is") {
  const TypePair type = *find_type_pair("f16f32");
  const Problem problem = packed_problem({type, {}}, 100, 60, 4096);
  struct Case {
    int split_k, reduction, pack;
    const char* first;
  };
  for (const Case& one : {Case{1, through_workspace, 0, "gemm"}, Case{1, through_workspace, pack_a, "pack"},
           Case{2, atomic, 0, "scale_c"}, Case{2, through_workspace, 0, "gemm"}}) {
    for (const int early : {0, 1}) {
      const Config config(
          "any", {{"split_k", one.split_k}, {"reduction", one.reduction}, {"pack", one.pack}, {"early_launch", early}});
      const std::vector<Launch> launches =
          with_passes({}, config, problem, packed_operands(problem, true, false), true).launches;
      CHECK(launches[0].entry == one.first);
      CHECK(launches[0].overlaps_previous == (early == 1));
      for (std::size_t i = 1; i < launches.size(); ++i) CHECK(launches[i].overlaps_previous);
    }
  }
}

TEST_CASE(
    "neighbours of a GEMM that overlaps the launch before are placed in pairs, where it has pairs of blocks of one tile each") {
  const TypePair type = *find_type_pair("f16f32");
  const Problem problem = packed_problem({type, {}}, 100, 60, 4096);
  const auto neighbours = [&](const Launch& gemm, int pack, int early, bool overlap = true) {
    const Config config(
        "any", {{"split_k", 1}, {"reduction", through_workspace}, {"pack", pack}, {"early_launch", early}});
    const std::vector<Launch> launches =
        with_passes(gemm, config, problem, packed_operands(problem, true, false), overlap).launches;
    if (pack != 0) CHECK(launches[0].neighbours == 1);
    return launches.back().neighbours;
  };
  Launch gemm;
  gemm.grid.x = 120;
  CHECK(neighbours(gemm, 0, 0) == 1);
  CHECK(neighbours(gemm, 0, 1) == 2);
  CHECK(neighbours(gemm, pack_a, 0) == 2);
  CHECK(neighbours(gemm, pack_a, 1) == 2);
  CHECK(neighbours(gemm, pack_a, 0, false) == 1);
  gemm.grid.x = 121;
  CHECK(neighbours(gemm, 0, 1) == 1);
  gemm.grid.x = 120;
  gemm.resident_blocks_per_sm = 1;
  CHECK(neighbours(gemm, 0, 1) == 1);
  gemm.resident_blocks_per_sm = 0;
  gemm.cluster.x = 4;
  CHECK(neighbours(gemm, 0, 1) == 1);
}

TEST_CASE("copies of 16 bytes take a matrix of one row however odd its stride, and nothing of it is packed") {
  for (const char* name : {"wgmma", "mma"}) {
    const Family& family = *find_family(name);
    const KernelTarget target{{*find_type_pair("f16f32"), {}}, *limits_for_arch("sm_90a")};
    const auto problem_of = [&](std::int64_t m, std::int64_t n, std::int64_t k) {
      return packed_problem(target, m, n, k);
    };
    const Problem odd = problem_of(1, 4096, 4095);
    Config config = family.initial_configs(target, problem_of(64, 4096, 4096)).front();
    for (const auto& [pack, taken] : {std::pair{0, true}, {1, false}}) {
      config.set("pack", pack);
      INFO(config.text());
      CHECK_FALSE(refused_because(family, config, odd));
      CHECK(eligible(family, config, odd) == taken);
    }
    config.set("pack", 0);
    CHECK(refused_because(family, config, problem_of(2, 4096, 4095)));
    CHECK(refused_because(family, config, problem_of(1, 4095, 4095)));
  }
}
