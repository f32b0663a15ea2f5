// Groups of rows on the host: their text, which families have kernels for them, launches, estimates and first initial
// configs.
#include <algorithm>
#include <string>

#include "kernels/families/estimate.hpp"
#include "kernels/problem/group_ends.hpp"
#include "kernels/problem/operand.hpp"
#include "tests/catch.hpp"

using namespace tilesmith;

namespace {

Problem groups_of(const char* text) {
  std::string error;
  const auto read = parse_problem(text, error);
  INFO(error);
  REQUIRE(read);
  return *read;
}

KernelTarget groups_target(const Problem& of, const char* arch = "sm_90a") { return {of, *limits_for_arch(arch)}; }

}  // namespace

TEST_CASE("groups are written and read, share one A and one D, and count each row once") {
  const Problem split = groups_of("bf16f32bf16 NN 100 24 32 batch=5 batch_mode=grouped");
  CHECK(text(split) == "bf16f32bf16 NN 100 24 32 batch=5 batch_mode=grouped");
  CHECK(split == grouped(packed_problem({split.type, {}}, 100, 24, 32), 5));
  CHECK(text(groups_of("f16f32 NT 8 8 8 batch=3 stride_b=0 batch_mode=grouped")) ==
        "f16f32 NT 8 8 8 batch=3 stride_b=0 batch_mode=grouped");
  CHECK(split.flop() == 2.0 * 100 * 24 * 32);
  CHECK(operand(split, OperandRole::a).matrices() == 1);
  CHECK(operand(split, OperandRole::b).matrices() == 5);
  CHECK(operand(split, OperandRole::d).matrices() == 1);
  CHECK(operand(split, OperandRole::offsets).bytes() == 20);
  CHECK(std::ranges::count(operands(split), OperandRole::offsets, &OperandMatrix::role) == 1);
  CHECK(std::ranges::count(
            operands(packed_problem({split.type, {}}, 8, 8, 8)), OperandRole::offsets, &OperandMatrix::role) == 0);
}

TEST_CASE("groups that there are not are refused in one line") {
  for (const auto& [wrong, says] : {std::pair{"f16f32 TN 64 64 64 batch=2 batch_mode=grouped", "expected NN or NT"},
           {"f16f32 NN 64 64 64 batch=65537 batch_mode=grouped", "expected 0 to 65536"},
           {"f16f32 NN 64 64 64 batch=2 stride_a=4096 batch_mode=grouped", "stride_a is 4096: expected none"},
           {"f16f32 NN 64 64 64 batch=2 stride_c=4096 batch_mode=grouped", "stride_c is 4096: expected none"},
           {"f16f32 NN 64 64 64 batch=2 stride_b=-64 batch_mode=grouped", "stride_b is -64: expected 0 to"}}) {
    std::string error;
    CHECK_FALSE(parse_problem(wrong, error));
    INFO(error);
    CHECK(error.find(says) != std::string::npos);
  }
}

TEST_CASE("no split of the rows makes more tiles than most_tile_rows() says, and some split makes as many") {
  for (const std::int64_t m : {1, 5, 64, 65, 300}) {
    for (const std::int64_t count : {1, 2, 7, 400}) {
      const Problem split = grouped(packed_problem({*find_type_pair("f16f32"), {}}, m, 8, 8), count);
      for (const std::int64_t tile : {1, 8, 64, 128}) {
        std::int64_t most = 0;
        // All groups but the last have one row: each wastes all but one of a tile's.
        for (std::int64_t ones = 0; ones < std::min(count, m); ++ones)
          most = std::max(most, ones + (m - ones + tile - 1) / tile);
        INFO(m << " rows, " << count << " groups, tiles of " << tile);
        CHECK(most <= most_tile_rows(split, tile));
        CHECK(most + 1 >= most_tile_rows(split, tile));
      }
    }
  }
}

TEST_CASE("ends that decrease or lie outside cut groups, and are wrong") {
  const auto ends_of = [](const std::vector<std::int32_t>& ends) {
    std::vector<std::int64_t> found;
    for (const GroupRows& rows : rows_of_groups(ends, 10)) found.push_back(rows.end - rows.begin);
    return found;
  };
  CHECK(ends_of({3, 3, 9}) == std::vector<std::int64_t>{3, 0, 6});
  CHECK(ends_of({5, 2, 7}) == std::vector<std::int64_t>{5, 0, 2});
  CHECK(ends_of({-4, 12, 8}) == std::vector<std::int64_t>{0, 10, 0});
  CHECK_FALSE(are_wrong({0, 3, 3, 9}, 10));
  for (const std::vector<std::int32_t>& wrong : {std::vector<std::int32_t>{5, 2}, {-1, 2}, {5, 11}})
    CHECK(are_wrong(wrong, 10));
  CHECK(even_ends(10, 4) == std::vector<std::int32_t>{2, 5, 7, 10});
}

TEST_CASE(
    "simt, mma and wgmma have kernels for groups, ffma for those of f32, the first initial configs are legal, and none passes over D") {
  for (const char* text : {"bf16f32bf16 NN 4096 14336 4096 batch=8 batch_mode=grouped",
           "bf16f32bf16 NT 1024 1536 2048 batch=128 batch_mode=grouped",
           "f16f32 NN 77 129 65 batch=9 epilogue=bias_n+relu batch_mode=grouped",
           "s8s32 NN 16 4096 4096 batch=8 batch_mode=grouped", "f32f32 NN 1024 512 512 batch=8 batch_mode=grouped"}) {
    const Problem split = groups_of(text);
    for (const auto& family : families()) {
      const std::string name(family->name());
      INFO(name << " " << text);
      CHECK(family->supports(groups_target(split)) == (split.type.a == Scalar::f32
                                                              ? name == "simt" || name == "ffma"
                                                              : name == "simt" || name == "mma" || name == "wgmma"));
      if (!family->supports(groups_target(split))) continue;
      for (const Config& config : family->initial_configs(groups_target(split), as_planned(split))) {
        INFO(config.text());
        CHECK_FALSE(illegal_because(*family, config, groups_target(split)));
        if (refused_because(*family, config, split)) continue;
        for (const Launch& launch : family->launches(config, as_planned(split)).launches)
          CHECK((launch.entry == "gemm" || launch.entry == "pack"));
      }
    }
  }
}

TEST_CASE("a grid has blocks for the most tiles that groups can make, and maps have the groups' B") {
  const Problem split = groups_of("bf16f32bf16 NN 100 72 64 batch=9 batch_mode=grouped");
  for (const char* family : {"mma", "wgmma"}) {
    for (const Config& config : find_family(family)->initial_configs(groups_target(split), as_planned(split))) {
      if (config.at("pack") != 0) continue;
      const LaunchSequence sequence = find_family(family)->launches(config, as_planned(split));
      INFO(config.text());
      REQUIRE(sequence.launches.size() == 1);
      const Launch& gemm = sequence.launches[0];
      CHECK(std::int64_t(gemm.grid.x) >=
            most_tile_rows(split, config.at("block_m")) * ((72 - 1) / config.at("block_n") + 1));
      CHECK(gemm.grid.y == 1);
      CHECK(gemm.b.entry_stride == split.stride_b);
      if (!gemm.boxes) continue;
      CHECK(gemm.boxes->a.matrices == 1);
      CHECK(gemm.boxes->b.matrices == 9);
      if (gemm.boxes->d) CHECK(gemm.boxes->d->matrices == 1);
    }
  }
  const Launch plain = find_family("simt")->launches(generic_config(groups_target(split)), split).launches.at(0);
  CHECK(plain.grid.x == unsigned(2 * most_tile_rows(split, 64)));
  CHECK(plain.grid.y == 1);
}

TEST_CASE("first initial configs know how many rows a group has") {
  for (const char* family : {"mma", "wgmma"}) {
    INFO(family);
    const auto first = [&](const char* text) {
      return find_family(family)->initial_configs(groups_target(groups_of(text)), as_planned(groups_of(text))).at(0);
    };
    CHECK(first("bf16f32bf16 NN 1024 1536 2048 batch=128 batch_mode=grouped").at("block_m") <= 16);
    CHECK(first("bf16f32bf16 NN 65536 1536 2048 batch=128 batch_mode=grouped").at("block_m") >= 128);
  }
  const Problem split = groups_of("bf16f32bf16 NN 4096 1536 2048 batch=8 batch_mode=grouped");
  const Config config = find_family("wgmma")->initial_configs(groups_target(split), split).at(0);
  const Problem strided = batched(packed_problem({split.type, {}}, 512, 1536, 2048), 8);
  CHECK(
      estimate(config, groups_target(split), split)->cycles == estimate(config, groups_target(split), strided)->cycles);
}
