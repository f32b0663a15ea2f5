// GGUF's Q4_K and Q6_K on the host: which families multiply them, and what is refused of them.
#include <algorithm>
#include <string>
#include <vector>

#include "kernels/families/family.hpp"
#include "kernels/problem/operand.hpp"
#include "kernels/shared/multiply/k_quants_layout.cuh"
#include "tests/catch.hpp"

using namespace tilesmith;

namespace {

KernelTarget kernel_target(const char* arch, const std::string& signature) {
  std::string error;
  const auto parsed = parse_signature(signature, error);
  INFO(signature << ": " << error);
  REQUIRE(parsed);
  return {*parsed, *limits_for_arch(arch)};
}

}  // namespace

TEST_CASE("K-quants are multiplied by dequant, whose scales multiply sums alone, and by simt") {
  for (const char* arch : {"sm_80", "sm_87", "sm_90a"}) {
    for (const std::string signature : {"f16f32f16 NT weights=q4_k", "bf16f32bf16 NT epilogue=swiglu weights=q4_k",
             "bf16f32bf16 NT batch_mode=grouped weights=q4_k", "bf16f32bf16 NT weights=q6_k",
             "f16f32f16 NT epilogue=swiglu weights=q6_k", "bf16f32bf16 NT batch_mode=grouped weights=q6_k"}) {
      const KernelTarget target = kernel_target(arch, signature);
      INFO(arch << " " << signature);
      CHECK(find_family("simt")->supports(target));
      CHECK(find_family("dequant")->supports(target));
      for (const char* other : {"wgmma", "mma", "wmma", "gemv", "ffma"})
        CHECK_FALSE(find_family(other)->supports(target));
      for (const std::int64_t m : {1, 16, 500}) {
        Problem problem = packed_problem(target, m, 4096, 4096);
        if (target.batch_mode == BatchMode::grouped) problem = grouped(problem, 8);
        const std::vector<Config> configs = find_family("dequant")->initial_configs(target, problem);
        CHECK(configs.size() >= 3);
        for (Config config : configs) {
          CHECK_FALSE(illegal_because(*find_family("dequant"), config, target));
          CHECK_FALSE(refused_because(*find_family("dequant"), config, problem));
          config.set("scale_sums", 0);
          CHECK(illegal_because(*find_family("dequant"), config, target).value_or("").starts_with("scales of sums"));
        }
      }
    }
  }
  for (const auto& [weights, bits] : {std::pair{"q4_k", 4.625}, {"q6_k", 6.5625}}) {
    const KernelTarget target = kernel_target("sm_90a", std::string("f16f32f16 NT weights=") + weights);
    const Problem problem = packed_problem(target, 16, 4096, 4096);
    CHECK(text(problem) == std::string("f16f32f16 NT 16 4096 4096 weights=") + weights);
    double bytes = 0;
    for (const OperandRole role : {OperandRole::b, OperandRole::weight_scales, OperandRole::weight_zeros})
      bytes += operand(problem, role).element_bytes();
    CHECK(bytes * 8 == bits * 4096 * 4096);
  }
}

TEST_CASE("the parts of each code of 6 bits have a place of their own, and the upper ones lead back to the code") {
  const std::int64_t n = 40, k = 512;
  std::vector<int> used(std::size_t(all_code_bytes(6, n, k) * 4));  // pairs of bits
  for (std::int64_t row = 0; row < 48; ++row) {
    for (std::int64_t column = 0; column < k; ++column) {
      const auto [lower, upper] = six_bit_place(row, column, k);
      const CodeAt at =
          upper_bits_at(upper.byte / kSixBitBlockBytes, int(upper.byte % kSixBitBlockBytes), upper.shift, k);
      REQUIRE((at.n == row && at.k == column));
      for (const std::int64_t pair :
          {lower.byte * 4 + lower.shift / 2, lower.byte * 4 + lower.shift / 2 + 1, upper.byte * 4 + upper.shift / 2})
        REQUIRE(used.at(std::size_t(pair))++ == 0);
    }
  }
  CHECK(std::ranges::count(used, 1) == std::ptrdiff_t(used.size()));
}

TEST_CASE("K-quants beside another A, in another K, or with other options, is refused in one line") {
  std::string error;
  for (const char* weights : {"q4_k_g32", "q4_k+zeros", "q4_k+f32", "q4_g32", "q4_", "Q4_K", "q6_k_g16", "q5_k"}) {
    CHECK_FALSE(parse_weights(weights));
    CHECK_FALSE(parse_signature(std::string("f16f32f16 NT weights=") + weights, error));
    CHECK(error.ends_with("or q4_k or q6_k)"));
  }
  for (const auto& [text, says] : {std::pair{"f16f32f16 NT 8 16 128 weights=q4_k",
                                       "K is 128: expected a multiple of 256, the blocks of weights=q4_k"},
           {"s8s32bf16 NT 8 16 256 weights=q4_k", "weights are q4_k: expected type f16f32f16 or bf16f32bf16, or of"},
           {"e4m3f32bf16 NT 8 16 256 weights=q4_k", "weights are q4_k: expected type f16f32f16 or bf16f32bf16, or of"},
           {"f16f32f16 NN 8 16 256 weights=q4_k", "weights are q4_k: expected transposes NT or TT"},
           {"f16f32f16 NT 8 16 320 weights=q6_k", "K is 320: expected a multiple of 256, the blocks of weights=q6_k"},
           {"s8s32f16 NT 8 16 256 weights=q6_k", "weights are q6_k: expected type f16f32f16 or bf16f32bf16, or of"},
           {"f16f32f16 NN 8 16 256 weights=q6_k", "weights are q6_k: expected transposes NT or TT"}}) {
    CHECK_FALSE(parse_problem(text, error));
    INFO(error);
    CHECK(error.find(says) != std::string::npos);
  }
  Problem problem = packed_problem(kernel_target("sm_90a", "f16f32f16 NT weights=q4_k"), 16, 64, 256);
  CHECK_FALSE(problem_error(problem));
  problem.weights.group = 64;
  CHECK(problem_error(problem) == "weights are q4_k: expected groups of 32 with zeros, and no +f32");
  problem.weights.type = WeightType::q6_k;
  CHECK(problem_error(problem) == "weights are q6_k: expected groups of 16 with zeros, and no +f32");
}
