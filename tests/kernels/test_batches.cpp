// Strided batches on the host: which families have kernels for them, their launches, estimates and first initial
// configs.
#include <algorithm>
#include <cmath>
#include <string>

#include "kernels/families/estimate.hpp"
#include "kernels/families/launch.hpp"
#include "kernels/families/plan_hash.hpp"
#include "kernels/problem/operand.hpp"
#include "kernels/shared/load/pass_layout.cuh"
#include "tests/catch.hpp"
#include "tests/problem_of_text.hpp"

using namespace tilesmith;
using tests::problem_of_text;

namespace {

KernelTarget batch_target(const Problem& of, const char* arch = "sm_90a") { return {of, *limits_for_arch(arch)}; }

/// A legal config like one of the family's first initial configs.
Config batch_guess(const char* family, const Problem& of, const char* arch = "sm_90a") {
  return find_family(family)->initial_configs(batch_target(of, arch), as_planned(of)).at(0);
}

}  // namespace

TEST_CASE("all families but wmma have kernels for batches, ffma for those of f32, with epilogues too") {
  for (const char* text : {"f16f32 NN 64 64 64 batch=3 batch_mode=strided",
           "bf16f32bf16 NT 64 64 64 batch=3 epilogue=bias_n+relu batch_mode=strided"}) {
    for (const auto& family : families()) {
      const std::string name(family->name());
      INFO(name << " " << text);
      CHECK(family->supports(batch_target(problem_of_text(text))) ==
            (name == "simt" || name == "mma" || name == "wgmma" || name == "gemv"));
    }
  }
  for (const char* text :
      {"f32f32 NN 64 64 64 batch=3 batch_mode=strided", "f32f32 TT 64 64 64 batch=3 batch_mode=pointers",
          "f32f32 NT 64 64 64 batch=3 epilogue=bias_n+relu batch_mode=grouped"}) {
    const Problem of = problem_of_text(text);
    for (const auto& family : families()) {
      const std::string name(family->name());
      INFO(name << " " << text);
      CHECK(family->supports(batch_target(of)) ==
            (name == "simt" || name == "ffma" || (name == "gemv" && of.batch_mode != BatchMode::grouped)));
    }
  }
  CHECK_FALSE(find_family("wgmma")->supports(
      batch_target(problem_of_text("f16f32 NN 64 64 64 batch=3 batch_mode=strided"), "sm_87")));
}

TEST_CASE("a grid has slices of y and z for as many entries as there are, and few more") {
  for (const std::int64_t entries :
      {std::int64_t{1}, std::int64_t{65535}, std::int64_t{65536}, std::int64_t{131071}, kMaxBatch}) {
    Extent3 grid;
    add_entries(grid, entries);
    INFO(entries);
    CHECK(grid.y <= 65535);
    CHECK(std::int64_t(grid.y) * grid.z >= entries);
    CHECK(std::int64_t(grid.y) * grid.z < entries + grid.z);
  }
}

TEST_CASE("blocks are there for the tiles of all entries, and maps have a coordinate for them") {
  for (const auto& [family, type] : {std::pair{"mma", "bf16f32bf16"}, {"wgmma", "bf16f32bf16"}, {"ffma", "f32f32"}}) {
    const Problem batch = problem_of_text(std::string(type) + " NN 100 72 64 batch=9 stride_b=0 batch_mode=strided");
    for (const Config& config : find_family(family)->initial_configs(batch_target(batch), as_planned(batch))) {
      const LaunchSequence sequence = find_family(family)->launches(config, as_planned(batch));
      const LaunchSequence single = find_family(family)->launches(config, as_planned(entry_of(batch)));
      INFO(config.text());
      REQUIRE(sequence.launches.size() == single.launches.size());
      for (std::size_t i = 0; i < single.launches.size(); ++i) {
        const Launch& launch = sequence.launches[i];
        if (launch.entry != "gemm") {
          CHECK(launch.grid.x == single.launches[i].grid.x);
          CHECK(launch.grid.y == 9);
          continue;
        }
        CHECK(launch.grid.x == 9 * single.launches[i].grid.x);
        CHECK(launch.a.entry_stride == batch.stride_a);
        CHECK(launch.b.entry_stride == 0);
        CHECK(launch.d.entry_stride == batch.stride_c);
        if (!launch.boxes) continue;
        CHECK(launch.boxes->a.matrices == 9);
        CHECK(launch.boxes->b.matrices == 1);
        if (launch.boxes->d) CHECK(launch.boxes->d->matrices == 9);
      }
    }
  }
  const Problem batch = problem_of_text("bf16f32bf16 NN 100 72 64 batch=9 stride_b=0 batch_mode=strided");
  const LaunchSequence plain = find_family("simt")->launches(generic_config(batch_target(batch)), batch);
  CHECK(plain.launches.at(0).grid.x == 4);
  CHECK(plain.launches.at(0).grid.y == 9);
}

TEST_CASE("what all entries read is packed once, other operands and partial sums for each") {
  const Problem odd = problem_of_text("f16f32 NN 70 71 65 batch=4 stride_b=0 batch_mode=strided");
  Config config = batch_guess("mma", odd);
  for (const auto& [name, value] :
      {std::pair{"pack", 3}, {"split_k", 1}, {"reduction", 0}, {"copy_bytes", 16}, {"pack_k_major", 0}})
    config.set(name, value);
  const LaunchSequence packed = find_family("mma")->launches(config, as_planned(odd));
  const std::int64_t a = packed_bytes(70, 65, 2), b = packed_bytes(65, 71, 2);
  const Launch& gemm = packed.launches.at(1);
  CHECK(gemm.a.entry_stride == a / 2);
  CHECK(gemm.a.offset_bytes == 0);
  CHECK(gemm.b.entry_stride == 0);
  CHECK(gemm.b.offset_bytes == std::size_t(4 * a));
  CHECK(packed.workspace_bytes >= std::size_t(4 * a + b));
  CHECK(packed.workspace_bytes < std::size_t(4 * a + b + 256));
  config.set("pack", 0);
  config.set("split_k", 4);
  CHECK(find_family("mma")->launches(config, as_planned(odd)).workspace_bytes ==
        std::size_t(4 * 4 * 70 * partial_stride(71) * 4));
}

TEST_CASE("rows of a batch whose strides are odd are not copied as they lie") {
  Problem batch = problem_of_text("bf16f32bf16 NN 64 64 64 batch=4 batch_mode=strided");
  const Config config = batch_guess("wgmma", batch);
  CHECK(config.at("pack") == 0);
  CHECK_FALSE(refused_because(*find_family("wgmma"), config, batch));
  batch.stride_a += 1;
  CHECK(refused_because(*find_family("wgmma"), config, batch)->find("rows of A are aligned to 2 bytes") !=
        std::string::npos);
  batch.batch = 1;
  CHECK_FALSE(refused_because(*find_family("wgmma"), config, batch));
}

TEST_CASE("more tiles than a grid has blocks are refused") {
  const Problem most = problem_of_text("f16f32 NN 1024 1024 16 batch=1048576 batch_mode=strided");
  Config config = batch_guess("mma", problem_of_text("f16f32 NN 1024 1024 16 batch=2 batch_mode=strided"));
  for (const char* side : {"block_m", "block_n"}) config.set(side, 16);
  CHECK(refused_because(*find_family("mma"), config, most)->find("more tiles of C than a grid has blocks") !=
        std::string::npos);
}

TEST_CASE(
    "estimates and first initial configs know how many entries there are: a batch of small problems fills the device without slices") {
  for (const auto& [family, type] : {std::pair{"mma", "bf16f32bf16"}, {"wgmma", "bf16f32bf16"}, {"ffma", "f32f32"}}) {
    const Problem one = problem_of_text(std::string(type) + " NN 128 128 128 batch=1 batch_mode=strided");
    INFO(family);
    double before = 0;
    for (const std::int64_t entries : {1, 64, 256, 1024}) {
      const Problem batch = batched(one, entries);
      const Config config = batch_guess(family, batch);
      const double cycles = estimate(config, batch_target(batch), batch)->cycles;
      CHECK(cycles >= before);
      before = cycles;
      if (entries < 256) continue;
      CHECK(config.at("split_k") == 1);
      CHECK(config.at("block_m") * config.at("block_n") >= 64 * 64);
    }
    const Problem shared = [&] {
      Problem batch = batched(one, 1024);
      batch.stride_b = 0;
      return batch;
    }();
    const Config config = batch_guess(family, shared);
    CHECK(estimate(config, batch_target(shared), shared)->dram <
          estimate(config, batch_target(shared), batched(one, 1024))->dram);
  }
}

TEST_CASE("plans of a batch differ by entries and strides, and from those of one problem") {
  const std::string options = compiler_options_text(batch_target(problem_of_text("f16f32 NN 64 64 64")));
  const Config config = batch_guess("wgmma", problem_of_text("f16f32 NN 64 64 64 batch=4 batch_mode=strided"));
  std::vector<std::string> hashes;
  for (const char* text : {"f16f32 NN 64 64 64", "f16f32 NN 64 64 64 batch=4 batch_mode=strided",
           "f16f32 NN 64 64 64 batch=5 batch_mode=strided", "f16f32 NN 64 64 64 batch=4 stride_a=0 batch_mode=strided",
           "f16f32 NN 64 64 64 batch=4 stride_c=8192 batch_mode=strided"}) {
    hashes.push_back(plan_hash(config, problem_of_text(text), options));
    CHECK_FALSE(hashes.back().empty());
  }
  std::ranges::sort(hashes);
  CHECK(std::ranges::adjacent_find(hashes) == hashes.end());
}

TEST_CASE("a batch by pointers has a count and no strides, and its kernels are told so") {
  const Problem batch = problem_of_text("f16f32 NT 100 72 64 lda=80 batch=9 batch_mode=pointers");
  CHECK(text(batch) == "f16f32 NT 100 72 64 lda=80 batch=9 batch_mode=pointers");
  CHECK(by_pointers(entry_of(batch), 9) == batch);
  CHECK(batch.stride_a == 8000);  // where the tuner's own lie
  CHECK(entry_stride_for_kernels(batch, OperandRole::a) == kByPointers);
  std::string error;
  CHECK_FALSE(parse_problem("f16f32 NT 100 72 64 batch=9 stride_a=0 batch_mode=pointers", error));
  CHECK(error.find("expected none, each entry has a pointer of its own") != std::string::npos);
  for (const auto& family : families()) {
    const std::string name(family->name());
    INFO(name);
    REQUIRE(family->supports(batch_target(batch)) ==
            (name == "simt" || name == "mma" || name == "wgmma" || name == "gemv"));
    if (!family->supports(batch_target(batch))) continue;
    for (const Config& config : family->initial_configs(batch_target(batch), as_planned(batch))) {
      INFO(config.text());
      CHECK_FALSE(illegal_because(*family, config, batch_target(batch)));
      for (const Launch& launch : family->launches(config, as_planned(batch)).launches) {
        CHECK(launch.a.from_workspace == (launch.a.entry_stride != kByPointers));
        CHECK(launch.b.from_workspace == (launch.b.entry_stride != kByPointers));
        CHECK(launch.d.entry_stride == kByPointers);
        if (launch.boxes) CHECK((launch.a.from_workspace && launch.b.from_workspace && !launch.boxes->d));
      }
    }
  }
}

TEST_CASE("gemv has a slice of the grid and sums of slices for each entry, and reads a shared matrix once") {
  const Family& gemv = *find_family("gemv");
  for (const char* text :
      {"f16f32 NN 1 300 264 batch=70000 batch_mode=strided", "f32f32 NT 1 300 264 batch=9 batch_mode=pointers",
          "f32f32 TT 300 1 264 batch=9 stride_b=0 batch_mode=strided",
          "bf16f32bf16 NN 1 300 264 batch=9 stride_b=0 batch_mode=strided epilogue=bias_n+silu"}) {
    const Problem batch = problem_of_text(text);
    for (const Config& config : gemv.initial_configs(batch_target(batch), as_planned(batch))) {
      if (refused_because(gemv, config, batch)) continue;
      INFO(text << " " << config.text());
      CHECK_FALSE(illegal_because(gemv, config, batch_target(batch)));
      const LaunchSequence sequence = gemv.launches(config, as_planned(batch)),
                           single = gemv.launches(config, as_planned(entry_of(batch)));
      REQUIRE(sequence.launches.size() == single.launches.size());
      CHECK(sequence.workspace_bytes == std::size_t(batch.batch) * single.workspace_bytes);
      for (std::size_t i = 0; i < single.launches.size(); ++i) {
        CHECK(sequence.launches[i].grid.x == single.launches[i].grid.x);
        CHECK(std::int64_t(sequence.launches[i].grid.y) * sequence.launches[i].grid.z >= batch.batch);
        CHECK(sequence.launches[i].b.entry_stride == entry_stride_for_kernels(batch, OperandRole::b));
      }
      CHECK(estimate(config, batch_target(batch), batch)->blocks ==
            Approx(double(batch.batch) * estimate(config, batch_target(entry_of(batch)), entry_of(batch))->blocks));
    }
  }
  const Problem apart = problem_of_text("bf16f32bf16 NN 1 4096 4096 batch=16 batch_mode=strided"),
                shared = problem_of_text("bf16f32bf16 NN 1 4096 4096 batch=16 stride_b=0 batch_mode=strided");
  const Config config = batch_guess("gemv", apart);
  CHECK(estimate(config, batch_target(apart), apart)->dram ==
        Approx(16 * estimate(config, batch_target(shared), shared)->dram));
}

TEST_CASE("gemv's unshifted chunks need all entries aligned, and its shifted ones serve any") {
  const Family& gemv = *find_family("gemv");
  Problem batch = problem_of_text("f16f32 NT 1 64 64 batch=4 batch_mode=strided");
  Config config = batch_guess("gemv", batch);
  REQUIRE(config.at("shifted") == 0);
  CHECK_FALSE(refused_because(gemv, config, batch));
  batch.stride_b += 1;
  CHECK(refused_because(gemv, config, batch)->find("rows of B are aligned to 2 bytes") != std::string::npos);
  config.set("shifted", 1);
  CHECK_FALSE(refused_because(gemv, config, batch));
  CHECK_FALSE(gemv.dominated(config, as_planned(batch)));
  CHECK(refused_because(gemv, config, problem_of_text("f16f32 NT 2 64 64 batch=4 batch_mode=strided")));
}
