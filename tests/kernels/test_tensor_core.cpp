// What the families on tensor cores share on the host: ranking of first guesses, memory of a block, launches of split K.
#include "kernels/tensor_core/block_memory.cuh"
#include "kernels/tensor_core/passes.hpp"
#include "kernels/tensor_core/rules.hpp"
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

TEST_CASE("lanes that store nothing of a narrow tile read behind its scratch, and no further than the block's memory goes") {
  const auto reads = [](const char* type, int columns, int warps) {
    const Config unsplit("any", {{"split_k", 1}, {"reduction", 0}});
    return staged_reads_end(unsplit, *find_type_pair(type), columns, warps);
  };
  const auto scratch = [](int columns, int warps) { return warps * scratch_elements(columns) * 4; };
  CHECK(reads("f16f32", 64, 4) == scratch(64, 4));                             // 16 lanes a row: 2 rows of 8
  CHECK(reads("f16f32", 16, 4) == scratch(16, 4));                             // 4 lanes a row: all 8
  CHECK(reads("f16f32", 72, 1) == scratch(72, 1));                             // 16 rows of 16 elements: behind those of 8, not of 64
  CHECK(reads("f16f32f16", 16, 1) == (15 * 24 + 16) * 4);                      // 2 lanes a row: 16 of them
  CHECK(reads("f16f32f16", 16, 4) == scratch(16, 3) + (15 * 24 + 16) * 4);     // the last warp's
  CHECK(reads("f16f32f16", 8, 1) == (31 * 16 + 8) * 4);                        // a lane a row

  // Legal but for it, this one would read 224 bytes behind its block's memory.
  const KernelTarget target{*find_type_pair("f16f32f16"), {}, *limits_for_arch("sm_90a")};
  Config config = *Config::parse(
      "mma{inst_k=16,block_m=256,block_n=96,warp_m=128,warp_n=48,block_k=64,stages=2,slice_k=1,frag_buffers=1,min_blocks=1,"
      "group_m=1,persistent=1,store_staged=1,split_k=1,reduction=0,copy_bytes=16,tma=0,pack=0,overlap=0}");
  const Family& mma = *find_family("mma");
  CHECK(illegal_because(mma, config, target)->find("reads of a staged store") != std::string::npos);
  config.set("persistent", 0);  // then the ring's memory lies behind
  CHECK_FALSE(illegal_because(mma, config, target));
  config.set("persistent", 1);
  config.set("store_staged", 0);
  CHECK_FALSE(illegal_because(mma, config, target));
}

TEST_CASE("staged tiles of wgmma are wide enough for its lanes to read none but their scratch") {
  for (const TypePair& type : type_pairs()) {
    const Family& wgmma = *find_family("wgmma");
    const KernelTarget target{type, {}, *limits_for_arch("sm_90a")};
    if (!wgmma.supports(target)) continue;
    for (const Parameter& parameter : wgmma.parameters(target)) {
      if (parameter.name != "block_n") continue;
      for (const int columns : parameter.values) {
        if (columns < 32) continue;  // those are rows of swapped operands, which are not staged by warps
        for (const int split_k : {1, 2}) {
          const Config config("any", {{"split_k", split_k}, {"reduction", 0}});
          INFO(type.name << " " << columns << " " << split_k);
          CHECK(staged_reads_end(config, type, columns, 1) == scratch_elements(columns) * int(size_bytes(type.accumulator)));
        }
      }
    }
  }
}

TEST_CASE("many slices are added by as many blocks more as threads share a run of sums") {
  const TypePair type = *find_type_pair("f16f32");
  const Problem problem = packed_problem(type, {}, 100, 60, 4096);  // 100 rows of 15 runs
  const auto sums = [&](int split_k) {
    const Config config("any", {{"split_k", split_k}, {"reduction", through_workspace}, {"pack", 0}});
    const LaunchSequence sequence = with_passes({}, config, problem, packed_as_stored(problem), false);
    REQUIRE(sequence.launches.size() == 2);
    CHECK(sequence.launches[1].entry == "sum_slices");
    CHECK(sequence.workspace_bytes == std::size_t(split_k) * 100 * 64 * 4);
    return sequence.launches[1].grid.x;
  };
  CHECK(sums(4) == (1500 + 127) / 128);
  CHECK(sums(16) == (1500 + 31) / 32);
}
