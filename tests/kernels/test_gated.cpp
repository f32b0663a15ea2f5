// Which kernels gate pairs of columns, and what they are launched with.
#include <string>

#include "kernels/families/family.hpp"
#include "kernels/families/passes.hpp"
#include "kernels/shared/finish/paired_columns.cuh"
#include "tests/catch.hpp"
#include "tests/problem_of_text.hpp"

using namespace tilesmith;
using tests::problem_of_text;

namespace {

KernelTarget gated_target(const Problem& problem) { return {problem.signature(), *limits_for_arch("sm_90a")}; }

constexpr const char* kWgmma =
    "wgmma{block_m=128,block_n=256,block_k=64,stages=4,warpgroups=2,schedule=1,even=0,stagger=0,cluster_m=2,cluster_n=1,min_blocks=1,"
    "group_m=8,store_staged=1,store_tma=1,swap=0,split_k=1,reduction=0,pack=0,early_launch=1}";

std::string refusal_of(Config config, const Problem& problem) {
  const Family& family = *find_family(config.family());
  if (const auto illegal = illegal_because(family, config, gated_target(problem))) return *illegal;
  return refused_because(family, config, problem).value_or("");
}

}  // namespace

TEST_CASE("pairs are tiled by whole steps of 16 columns", "[gate]") {
  STATIC_REQUIRE(paired_columns(2) == 16);
  STATIC_REQUIRE(paired_columns(16) == 16);
  STATIC_REQUIRE(paired_columns(18) == 32);
  STATIC_REQUIRE(paired_columns(0) == 0);
  CHECK(tensor_core::tiled_columns(problem_of_text("f16f32 NT 8 18 8 epilogue=swiglu")) == 32);
  CHECK(tensor_core::tiled_columns(problem_of_text("f16f32 NT 8 18 8")) == 18);
}

TEST_CASE("simt, mma and wgmma gate pairs; families that store what they sum do not", "[gate]") {
  const KernelTarget target = gated_target(problem_of_text("bf16f32bf16 NT 64 64 64 epilogue=swiglu"));
  for (const char* family : {"simt", "mma", "wgmma"}) CHECK(find_family(family)->supports(target));
  for (const char* family : {"wmma", "gemv"}) CHECK_FALSE(find_family(family)->supports(target));
  CHECK_FALSE(find_family("ffma")->supports(gated_target(problem_of_text("f32f32 NT 64 64 64 epilogue=swiglu"))));
  CHECK(find_family("simt")->supports(gated_target(problem_of_text("f32f32 NT 64 64 64 epilogue=swiglu"))));
  CHECK_FALSE(illegal_because(*find_family("simt"), generic_config(target), target));
}

TEST_CASE("an unpacked B is brought by runs of either half, D is stored with half the columns", "[gate]") {
  const Config config = *Config::parse(kWgmma);
  for (const bool interleaved : {false, true}) {
    const Problem problem = problem_of_text(interleaved ? "bf16f32bf16 NT 512 1024 256 epilogue=swiglu_interleaved"
                                                        : "bf16f32bf16 NT 512 1024 256 epilogue=swiglu");
    REQUIRE(refusal_of(config, problem).empty());
    const LaunchSequence sequence = find_family("wgmma")->launches(config, problem);
    const TensorBoxes& boxes = *sequence.launches.front().boxes;
    CHECK(boxes.b.pairs == (interleaved ? PairedRows::interleaved : PairedRows::split));
    CHECK(boxes.b.matrix_rows == 1024);
    CHECK(boxes.b.rows == 128);
    CHECK(boxes.a.pairs == PairedRows::none);
    CHECK(boxes.d->matrix_cols == 512);
  }
}

TEST_CASE("why a kernel cannot gate pairs is said", "[gate]") {
  Config config = *Config::parse(kWgmma);
  config.set("store_tma", 0);
  CHECK(
      refusal_of(config, problem_of_text("bf16f32bf16 NT 512 1032 256 epilogue=swiglu")).find("by 8 of either half") !=
      std::string::npos);
  config.set("store_tma", 1);
  CHECK(refusal_of(config, problem_of_text("bf16f32bf16 NN 512 1024 256 epilogue=swiglu")).find("rows along K") !=
        std::string::npos);
  config.set("pack", 2);
  CHECK(refusal_of(config, problem_of_text("bf16f32bf16 NN 512 1024 256 epilogue=swiglu")).empty());
  CHECK(refusal_of(config, problem_of_text("bf16f32bf16 NT 512 1040 256 epilogue=swiglu")).empty());
  const Problem ragged = problem_of_text("bf16f32bf16 NN 512 1040 256 epilogue=swiglu");
  const LaunchSequence sequence = find_family("wgmma")->launches(config, ragged);
  REQUIRE(sequence.launches.size() == 2);
  CHECK(sequence.launches.back().boxes->b.matrix_rows == 1040);
  CHECK(sequence.launches.back().boxes->b.pairs == PairedRows::none);
  CHECK(std::int64_t(sequence.workspace_bytes) >= 1040 * 256 * 2);
  config.set("pack", 0);
  config.set("store_tma", 0);
  config.set("store_staged", 0);
  config.set("block_n", 72);
  config.set("cluster_m", 1);
  CHECK(refusal_of(config, problem_of_text("bf16f32bf16 NT 512 1024 256 epilogue=swiglu")).find("8 of x and 8 of y") !=
        std::string::npos);
}

TEST_CASE("first initial configs gate pairs however B lies", "[gate]") {
  for (const char* text :
      {"bf16f32bf16 NT 2048 4096 1024 epilogue=swiglu", "bf16f32bf16 NN 2048 4096 1024 epilogue=swiglu",
          "bf16f32bf16 NT 16 4096 1024 epilogue=bias_n+swiglu_interleaved",
          "bf16f32bf16 NT 512 1036 256 epilogue=swiglu"}) {
    INFO(text);
    const Problem problem = problem_of_text(text);
    for (const char* family : {"mma", "wgmma"}) {
      INFO(family);
      int run = 0;
      for (const Config& config : find_family(family)->initial_configs(gated_target(problem), problem))
        run += refusal_of(config, problem).empty();
      CHECK(run > 0);
    }
  }
}
