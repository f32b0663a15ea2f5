// Products with weights on the host: which families take them, what is refused, what is tried first.
#include <array>
#include <string>

#include "kernels/dequant/dequant.hpp"
#include "kernels/families/estimate.hpp"
#include "kernels/families/family.hpp"
#include "kernels/shared/multiply/codebook.cuh"
#include "kernels/wgmma/wgmma.hpp"
#include "tests/catch.hpp"

using namespace tilesmith;

namespace {

KernelTarget target_of(const char* arch, const char* signature) {
  std::string error;
  const auto parsed = parse_signature(signature, error);
  INFO(signature << ": " << error);
  REQUIRE(parsed);
  return {*parsed, *limits_for_arch(arch)};
}

std::vector<const char*> weighted_signatures() {
  return {"f16f32f16 NT weights=s4_g128", "bf16f32bf16 NT weights=u4_g32+zeros", "f16f32f16 NT weights=s8_column",
      "bf16f32bf16 NT epilogue=bias_n+silu weights=e4m3_g64", "bf16f32bf16 NT weights=e2m1_g32",
      "f16f32f16 NT weights=nf4_g64"};
}

}  // namespace

TEST_CASE(
    "weights are multiplied by dequant, by wgmma on Hopper, and by simt anywhere; by no family that does not know of them") {
  for (const char* signature : weighted_signatures()) {
    INFO(signature);
    for (const char* arch : {"sm_80", "sm_87", "sm_90a"}) {
      const KernelTarget target = target_of(arch, signature);
      CHECK(find_family("dequant")->supports(target));
      CHECK(find_family("simt")->supports(target));
      CHECK(find_family("wgmma")->supports(target) == (target.limits.arch == "sm_90a"));
      for (const char* other : {"mma", "wmma", "gemv", "ffma"}) CHECK_FALSE(find_family(other)->supports(target));
    }
  }
  CHECK_FALSE(find_family("dequant")->supports(target_of("sm_90a", "f16f32f16 NT")));
  CHECK_FALSE(find_family("dequant")->supports(target_of("sm_90a", "f16f32f16 TT weights=s4_g128")));
  // Scales of f32 would be rounded to A's type before they multiply numbers.
  CHECK_FALSE(find_family("wgmma")->supports(target_of("sm_90a", "f16f32f16 NT weights=s4_g128+f32")));
  CHECK(find_family("dequant")->supports(target_of("sm_90a", "f16f32f16 NT weights=s4_g128+f32")));
}

TEST_CASE("the first initial configs for weights are legal and run the problem, at any number of rows") {
  for (const char* arch : {"sm_80", "sm_87", "sm_90a"}) {
    for (const char* signature : weighted_signatures()) {
      const KernelTarget target = target_of(arch, signature);
      for (const auto& [m, n, k] : {std::array{1, 2, 128}, std::array{1, 4096, 4096}, std::array{16, 14336, 4096},
               std::array{70, 1000, 896}, std::array{512, 4096, 14336}, std::array{8192, 8192, 8192}}) {
        const Problem problem = packed_problem(target, m, n, k);
        std::size_t initial_configs = 0;
        for (const char* name : {"dequant", "wgmma"}) {
          const Family& family = *find_family(name);
          for (const Config& seed : family.initial_configs(target, problem)) {
            INFO(arch << " " << text(problem) << " " << seed.text());
            ++initial_configs;
            CHECK_FALSE(illegal_because(family, seed, target));
            CHECK_FALSE(refused_because(family, seed, problem));
            CHECK(estimate(seed, target, problem)->cycles > 0);
          }
        }
        INFO(arch << " " << text(problem));
        CHECK(initial_configs >= 3);
      }
    }
  }
}

TEST_CASE(
    "experts' weights are multiplied by dequant and simt, whose first initial configs are legal, know how many rows an expert has, and pass over no D") {
  std::string error;
  for (const char* arch : {"sm_80", "sm_87", "sm_90a"}) {
    for (const char* text : {"bf16f32bf16 NT 64 768 2048 batch=128 batch_mode=grouped weights=s4_g128",
             "f16f32f16 NT 1024 14336 4096 batch=8 batch_mode=grouped weights=u4_g32+zeros",
             "bf16f32bf16 NT 3 512 256 epilogue=bias_n+relu batch=8 batch_mode=grouped weights=s8_column+f32"}) {
      const auto problem = parse_problem(text, error);
      INFO(text << ": " << error);
      REQUIRE(problem);
      const KernelTarget target{*problem, *limits_for_arch(arch)};
      for (const char* other : {"mma", "wmma", "wgmma", "gemv", "ffma"})
        CHECK_FALSE(find_family(other)->supports(target));
      CHECK(find_family("simt")->supports(target));
      CHECK_FALSE(refused_because(*find_family("simt"), generic_config(target), *problem));
      const Family& family = *find_family("dequant");
      REQUIRE(family.supports(target));
      const std::vector<Config> initial_configs = family.initial_configs(target, *problem);
      REQUIRE(initial_configs.size() >= 3);
      CHECK((problem->m == 1024 ? initial_configs.front().at("block_m") >= 64
                                : initial_configs.front().at("block_m") == 8));
      for (const Config& seed : initial_configs) {
        INFO(arch << " " << seed.text());
        CHECK_FALSE(illegal_because(family, seed, target));
        CHECK_FALSE(refused_because(family, seed, *problem));
        const LaunchSequence sequence = family.launches(seed, *problem);
        REQUIRE(sequence.launches.size() == 1);
        CHECK(sequence.launches[0].b.entry_stride == problem->stride_b);
        CHECK(sequence.launches[0].grid.x == most_tile_rows(*problem, seed.at("block_m")) *
                                                 ((problem->n - 1) / seed.at("block_n") + 1) * seed.at("split_k"));
      }
    }
  }
}

TEST_CASE("what an expert costs are its weights, and those without rows cost nothing") {
  std::string error;
  const auto cycles = [&](const char* text) {
    const Problem problem = *parse_problem(text, error);
    const KernelTarget target{problem, *limits_for_arch("sm_87")};
    return estimate(find_family("dequant")->initial_configs(target, problem).front(), target, problem)->cycles;
  };
  const double eight = cycles("bf16f32bf16 NT 8 4096 4096 batch=8 batch_mode=grouped weights=s4_g128");
  CHECK(cycles("bf16f32bf16 NT 8 4096 4096 batch=128 batch_mode=grouped weights=s4_g128") < 1.05 * eight);
  CHECK(cycles("bf16f32bf16 NT 8 4096 4096 batch=4 batch_mode=grouped weights=s4_g128") < 0.7 * eight);
  CHECK(cycles("bf16f32bf16 NT 8 4096 4096 batch=8 batch_mode=grouped weights=s8_g128") > 1.5 * eight);
}

TEST_CASE(
    "slices of groups meet in a cluster, and no block asks ahead for weights of a group that it does not know yet") {
  const KernelTarget target = target_of("sm_90a", "f16f32f16 NT batch_mode=grouped weights=s4_g128");
  const Family& family = *find_family("dequant");
  Config config = family.initial_configs(target, ordinary_problem(target)).front();
  config.set("split_k", 2);
  config.set("cluster", 0);
  config.set("overlap", 1);
  CHECK(illegal_because(family, config, target).value_or("").starts_with("slices of groups"));
  config.set("cluster", 1);
  config.set("overlap", 0);
  config.set("early_launch", 1);
  config.set("ahead", 1);
  CHECK(illegal_because(family, config, target).value_or("").starts_with("ahead"));
  config.set("ahead", 0);
  CHECK_FALSE(illegal_because(family, config, target));
}

TEST_CASE(
    "gates of weights: halves are whole blocks, a tile has rows of both, slices meet in a cluster, and groups have gates with weights alone") {
  std::string error;
  const Family& family = *find_family("dequant");
  for (const char* arch : {"sm_87", "sm_90a"}) {
    for (const char* text : {"bf16f32bf16 NT 16 3072 2048 epilogue=swiglu weights=s4_g128",
             "f16f32f16 NT 16 3080 2048 epilogue=swiglu_interleaved weights=u4_g64+zeros",
             "bf16f32bf16 NT 64 1536 2048 epilogue=bias_n+swiglu batch=128 batch_mode=grouped weights=s4_g32"}) {
      const Problem problem = parse_problem(text, error).value();
      const KernelTarget target{problem, *limits_for_arch(arch)};
      const std::vector<Config> initial_configs = family.initial_configs(target, problem);
      REQUIRE(initial_configs.size() >= 3);
      for (const Config& seed : initial_configs) {
        INFO(arch << " " << text << " " << seed.text());
        CHECK_FALSE(illegal_because(family, seed, target));
        CHECK_FALSE(refused_because(family, seed, problem));
        CHECK(family.launches(seed, problem).launches.size() == 1);
      }
    }
  }
  const KernelTarget target = target_of("sm_90a", "f16f32f16 NT epilogue=swiglu weights=s4_g128");
  Config config = family.initial_configs(target, packed_problem(target, 16, 4096, 4096)).front();
  CHECK(refused_because(family, config, packed_problem(target, 16, 4104, 4096))
            .value_or("")
            .starts_with("half of N is 2052: both halves of a gate begin with 16 rows"));
  config.set("block_n", 16);
  config.set("warps_n", 1);
  config.set("warps_k", 4);
  CHECK(illegal_because(family, config, target).value_or("").starts_with("halves of a gate"));
  config = family.initial_configs(target, packed_problem(target, 16, 4096, 4096)).front();
  config.set("split_k", 2);
  config.set("cluster", 0);
  config.set("overlap", 1);
  CHECK(illegal_because(family, config, target).value_or("").starts_with("slices of pairs"));
  CHECK_FALSE(parse_problem("bf16f32bf16 NT 64 1536 2048 epilogue=swiglu batch=8 batch_mode=grouped", error));
  CHECK(error == "epilogue is swiglu: expected no gate of groups without weights");
}

TEST_CASE("batches of weights other than groups, and experts that lie apart, are refused in one line") {
  for (const auto& [text, says] : {std::pair{"f16f32f16 NT 8 16 128 batch=2 batch_mode=strided weights=s4_g128",
                                       "expected no batch_mode=strided, only grouped"},
           {"f16f32f16 NT 8 16 128 batch=2 batch_mode=pointers weights=s4_g128",
               "expected no batch_mode=pointers, only grouped"},
           {"f16f32f16 NT 8 16 128 batch=2 stride_b=0 batch_mode=grouped weights=s4_g128",
               "stride_b is 0: expected 2048"},
           {"f16f32f16 NT 8 17 128 batch=2 stride_b=2176 batch_mode=grouped weights=s4_g128",
               "stride_b is 2176: expected 4096"},
           {"f16f32f16 TT 8 16 128 batch=2 batch_mode=grouped weights=s4_g128", "expected NN or NT"}}) {
    std::string error;
    CHECK_FALSE(parse_problem(text, error));
    INFO(error);
    CHECK(error.find(says) != std::string::npos);
  }
}

TEST_CASE("a step of dequant has no fewer columns than its swizzle exchanges chunks of") {
  const KernelTarget target = target_of("sm_90a", "f16f32f16 NT weights=s8_g128");
  const Family& family = *find_family("dequant");
  Config config = family.initial_configs(target, packed_problem(target, 16, 4096, 4096)).front();
  config.set("warp_columns", 32);
  config.set("warps_n", 4);
  config.set("block_n", 64);
  const KernelTarget of_bytes = target_of("sm_90a", "s8s32f16 NT weights=s4_g128");
  for (const int warps_k : {1, 2, 4}) {
    config.set("warps_k", warps_k);
    INFO(config.text());
    CHECK(illegal_because(family, config, target).value_or("").starts_with("rows of a step") == (warps_k == 1));
    Config bytes = config;
    bytes.set("warp_columns", 64);  // of half as many bytes
    bytes.set("scale_sums", 1);
    CHECK(illegal_because(family, bytes, of_bytes).value_or("").starts_with("rows of a step") == (warps_k == 1));
  }
}

TEST_CASE("scales of f32, and those beside an A of 8 bits, multiply sums alone") {
  for (const char* signature : {"f16f32f16 NT weights=s4_g128+f32", "s8s32f16 NT weights=s4_g128"}) {
    const KernelTarget target = target_of("sm_87", signature);
    const Family& family = *find_family("dequant");
    const std::vector<Config> initial = family.initial_configs(target, packed_problem(target, 16, 4096, 4096));
    CHECK_FALSE(initial.empty());
    for (Config config : initial) {
      CHECK(config.at("scale_sums") == 1);
      config.set("scale_sums", 0);
      CHECK(illegal_because(family, config, target).value_or("").starts_with("scales of sums"));
    }
  }
}

TEST_CASE("dequant multiplies bytes where the device has the instruction") {
  const Family& family = *find_family("dequant");
  CHECK(family.supports(target_of("sm_87", "s8s32f16 NT weights=s4_g128")));
  CHECK(family.supports(target_of("sm_89", "e4m3f32f16 NT weights=s4_g128")));
  CHECK_FALSE(family.supports(target_of("sm_87", "e4m3f32f16 NT weights=s4_g128")));
  CHECK_FALSE(family.supports(target_of("sm_89", "e4m3f32f16 NT weights=nf4_g64")));
  CHECK_FALSE(family.supports(target_of("sm_89", "e4m3f32 NT weights=s4_g128")));
}

TEST_CASE("what dequant cannot copy is refused with its reason") {
  const KernelTarget target = target_of("sm_90a", "f16f32f16 NT weights=s4_g128");
  const Family& family = *find_family("dequant");
  const Config config = family.initial_configs(target, packed_problem(target, 16, 4096, 4096)).front();
  const auto refusal = [&](auto change) {
    Problem problem = packed_problem(target, 16, 256, 256);
    change(problem);
    return refused_because(family, config, problem).value_or("");
  };
  CHECK(refusal([](Problem&) {}).empty());
  CHECK(refusal([](Problem& p) { p.lda = 257; }) == "rows of A are aligned to 2 bytes; it is copied by 16 bytes");
  CHECK(refusal([](Problem& p) { p.align_bytes = 8; }).starts_with("rows of A are aligned to 8 bytes"));
  CHECK(refusal([](Problem& p) { p.m = 1, p.align_bytes = 8; }).find("copied by 16 bytes") != std::string::npos);
  CHECK(refusal([](Problem& p) { p.n = p.ldc = 255; }) == "N is 255: rows of scales of 16 bits are copied by 4 bytes");
  CHECK(refusal([](Problem& p) { p.lda = (1 << 25) + 8; }).starts_with("K or lda is beyond 33554432"));
}

TEST_CASE("what few rows cost is the weights' bytes: half as many bits take about half the time") {
  const auto fastest = [](const char* arch, const char* signature) {
    const KernelTarget target = target_of(arch, signature);
    const Problem problem = packed_problem(target, 8, 8192, 8192);
    return estimate(find_family("dequant")->initial_configs(target, problem).front(), target, problem)->cycles;
  };
  for (const char* arch : {"sm_87", "sm_90a"}) {
    const double ratio = fastest(arch, "f16f32f16 NT weights=s8_g128") / fastest(arch, "f16f32f16 NT weights=s4_g128");
    INFO(arch);
    CHECK(ratio > 1.4);
    CHECK(ratio < 2.1);
  }
}

TEST_CASE("codebooks have no zeros, by text and by value, and a flag of their own") {
  std::string error;
  for (const char* weights : {"e2m1_g32", "nf4_g64", "nf4_column+f32"}) {
    CHECK(name(*parse_weights(weights)) == weights);
    const std::string source = find_family("dequant")->source(
        find_family("dequant")
            ->initial_configs(target_of("sm_90a", (std::string("f16f32f16 NT weights=") + weights).c_str()))
            .at(0),
        target_of("sm_90a", (std::string("f16f32f16 NT weights=") + weights).c_str()));
    CHECK(source.find("constexpr bool kWeightIsCodebook = true;\n") != std::string::npos);
    CHECK(source.find("constexpr int kWeightBits = 4;") != std::string::npos);
  }
  CHECK_FALSE(parse_weights("e2m1_g32+zeros"));
  CHECK_FALSE(parse_weights("nf4_column+zeros+f32"));
  CHECK_FALSE(parse_signature("f16f32f16 NT weights=nf4_g64+zeros", error));
  CHECK(error.find("+zeros (not of e2m1, nf4)") != std::string::npos);
  Problem problem = packed_problem(target_of("sm_90a", "f16f32f16 NT weights=nf4_g64"), 16, 64, 128);
  CHECK_FALSE(problem_error(problem));
  problem.weights.zeros = true;
  CHECK(problem_error(problem) == "weights are nf4_g64+zeros: expected no zeros of e2m1 and nf4");
}

TEST_CASE("nf4's table is the published one, rounded to f16 and bf16 to nearest") {
  constexpr unsigned kF16[] = {0xbc00, 0xb992, 0xb833, 0xb652, 0xb48d, 0xb1ea, 0xadd4, 0x0000, 0x2d18, 0x3126, 0x33e0,
      0x3568, 0x370d, 0x3880, 0x39c9, 0x3c00};
  constexpr unsigned kBf16[] = {0xbf80, 0xbf32, 0xbf06, 0xbeca, 0xbe92, 0xbe3d, 0xbdba, 0x0000, 0x3da3, 0x3e25, 0x3e7c,
      0x3ead, 0x3ee2, 0x3f10, 0x3f39, 0x3f80};
  for (int code = 0; code < 16; ++code) {
    CHECK(nf4_bits(code, false) == kF16[code]);
    CHECK(nf4_bits(code, true) == kBf16[code]);
    CHECK(nf4_value(code) == double(float(nf4_value(code))));
    CHECK((nf4_bytes(code / 4 * 4, 1, true) >> code % 4 * 8 & 255) == kBf16[code] >> 8);
  }
}
