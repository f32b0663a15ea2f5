// PyTorch's TunableOp files as problems.
#include "tests/tuner/logs/lines.hpp"

using namespace tilesmith;
using namespace tilesmith::tuner;
using namespace tilesmith::tuner::toy;

namespace {

std::string problem_of(const std::string& line) { return problem_of_line(read_tunableop_line, line); }

}  // namespace

TEST_CASE("an operator of TunableOp and its parameters are a problem, its operands swapped") {
  CHECK(problem_of("GemmTunableOp_BFloat16_TN,tn_768_1024_64_ld_64_72_768") == "bf16f32bf16 NT 1024 768 64 lda=72");
  CHECK(problem_of("GemmTunableOp_float_NT,nt_25088_4096_64,Gemm_Hipblaslt_1219,1.262") ==
        "f32f32 TN 4096 25088 64");  // of PyTorch 2.2
  CHECK(problem_of("GemmTunableOp_tf32_NN,nn_64_32_16_ld_64_16_64") == "tf32f32 NN 32 64 16");
  CHECK(problem_of("GemmTunableOp_double_NN,nn_64_32_16_ld_64_16_64") == "f64f64 NN 32 64 16");
  CHECK(problem_of("GemmAndBiasTunableOp_Half_TN,tn_768_1024_768_ld_768_768_768") ==
        "f16f32f16 NT 1024 768 768 epilogue=bias_n");
  CHECK(problem_of("GemmStridedBatchedTunableOp_Half_TN,tn_128_127_64_B_96_ld_64_64_128") ==
        "f16f32f16 NT 127 128 64 batch=96 batch_mode=strided");
}

TEST_CASE("what BLAS_PARAMS adds is taken: beta, activation and strides") {
  const std::string rest = "alpha: 1.0000, beta: 1.0000, transA: n, transB: n, batch_count: 96 }";
  CHECK(problem_of(
            "GemmTunableOp_Half_NN,nn_64_32_16_ld_64_16_64,Default,0.1,BLAS_PARAMS: - { function: matmul, M: 64, " +
            rest) == "f16f32f16 NN 32 64 16 beta=any");
  CHECK(
      problem_of(
          "GemmAndBiasTunableOp_Half_NN,nn_64_32_16_ld_64_16_64,BLAS_PARAMS: - { function: matmul, activation: GELU, bias_type: f16_r }") ==
      "f16f32f16 NN 32 64 16 epilogue=bias_n+gelu_tanh");
  CHECK(
      problem_of(
          "GemmStridedBatchedTunableOp_Half_NN,nn_64_32_16_B_3_ld_64_16_64,BLAS_PARAMS: - { function: matmul, stride_a: 0, stride_b: 600, "
          "stride_c: 2048, stride_d: 2048, beta: 0.0000 }") ==
      "f16f32f16 NN 32 64 16 batch=3 stride_a=600 stride_b=0 batch_mode=strided");
}

TEST_CASE("D is of C's type, which BLAS_PARAMS tells, whatever d_type says") {
  const auto with = [](const std::string& signature, const std::string& more) {
    return problem_of(signature + ",Default,0.1,BLAS_PARAMS: - { function: matmul, " + more + " }");
  };
  const std::string batch = "GemmStridedBatchedTunableOp_BFloat16_NN,nn_64_128_127_B_96_ld_64_127_64";
  CHECK(with(batch, "a_type: bf16_r, b_type: bf16_r, c_type: f32_r, d_type: bf16_r") ==
        "bf16f32 NN 128 64 127 batch=96 batch_mode=strided");
  CHECK(with(batch, "c_type: f8_fnuz_r, d_type: bf16_r") == "left out: a combination of types that has no kernel here");
  CHECK(with("GemmAndBiasTunableOp_BFloat16_NN,nn_64_32_16_ld_64_16_64", "activation: RELU, bias_type: f32_r") ==
        "bf16f32bf16 NN 32 64 16 epilogue=bias_n_f32+relu");
  CHECK(with("GemmAndBiasTunableOp_BFloat16_NN,nn_64_32_16_ld_64_16_64", "activation: SILU") ==
        "left out: an epilogue that has no kernel here");
  CHECK(with("GemmTunableOp_float_NN,nn_64_32_16_ld_64_16_64", "compute_type: xf32_r") == "tf32f32 NN 32 64 16");
  CHECK(with("GemmTunableOp_c10::complex<float>_NN,nn_64_64_64_ld_64_64_64",
            "alpha: (1.0000, 0.0000), c_type: f32_r") == "left out: a combination of types that has no kernel here");
}

TEST_CASE("a leading dimension that PyTorch raises, since it is not used, is no error") {
  // m, n, k; lda, ldb, ldc
  CHECK(problem_of("GemmTunableOp_BFloat16_NN,nn_128_1_8_ld_128_1_1") == "bf16f32bf16 NN 1 128 8");
  CHECK(problem_of("GemmTunableOp_BFloat16_TT,tt_1_16_8_ld_1_16_1") == "bf16f32bf16 TT 16 1 8");
  CHECK(problem_of("GemmStridedBatchedTunableOp_BFloat16_NN,nn_128_1_8_B_4_ld_128_8_1") ==
        "bf16f32bf16 NN 1 128 8 batch=4 batch_mode=strided");
  CHECK(
      problem_of("GemmStridedBatchedTunableOp_BFloat16_NN,nn_128_1_8_B_4096_ld_524288_32768_1") ==
      problem_of(
          "GemmStridedBatchedTunableOp_BFloat16_NN,nn_128_1_8_B_4096_ld_524288_8_128,BLAS_PARAMS: - { stride_a: 128, stride_b: 8, stride_d: 128 }"));
  CHECK(
      problem_of("GemmTunableOp_BFloat16_NN,nn_128_2_8_ld_128_8_1") == "left out: arguments that cuBLAS has to judge");
}

TEST_CASE("scaled products of TunableOp carry their scales, on ROCm and CUDA") {
  const std::string pair = "ScaledGemmTunableOp_Float8_e4m3fn_Float8_e4m3fn_BFloat16_TN,tn_64_128_256_ld_256_256_64";
  CHECK(problem_of(pair + "_rw_0_bias_None") == "e4m3f32bf16 NT 128 64 256 epilogue=scale_m1+scale_n1");
  CHECK(problem_of(pair + "_rw_1_bias_BFloat16") == "e4m3f32bf16 NT 128 64 256 epilogue=scale_m+scale_n+bias_n");
  CHECK(problem_of(pair + "_rw_1_bias_None_swz_1_1") ==
        "left out: scales of a kind, or of a matrix, that has no kernel here");
  const std::string cuda = "_a_Float8_e4m3fn_b_Float8_e4m3fn_c_Half_as_Float_bs_Float_ast_0_bst_0_dscale_0_fast_";
  CHECK(problem_of(pair + cuda + "1_bias_None") == "e4m3f32f16 NT 128 64 256 epilogue=scale_m1+scale_n1");
  CHECK(problem_of(pair + cuda + "0_bias_None") == "left out: 8-bit floats without fast accumulation");
  CHECK(
      problem_of(
          pair +
          "_a_Float8_e4m3fn_b_Float8_e4m3fn_c_Half_as_Float8_e8m0fnu_bs_Float8_e8m0fnu_ast_3_bst_3_dscale_0_fast_0_bias_None") ==
      "left out: scales of a kind, or of a matrix, that has no kernel here");
}

TEST_CASE("what TunableOp has and no kernel serves is left out by reason") {
  CHECK(problem_of("GemmTunableOp_c10::complex<float>_NN,nn_64_64_64_ld_64_64_64") ==
        "left out: a combination of types that has no kernel here");
  CHECK(problem_of("GemmTunableOp_Float8_e4m3fnuz_NN,nn_64_64_64_ld_64_64_64") ==
        "left out: a combination of types that has no kernel here");
  CHECK(
      problem_of("GemmTunableOp_bfx9_NN,nn_64_64_64_ld_64_64_64_compute_bf16x9_r") == "left out: emulated f32 or f64");
  CHECK(problem_of("GemmTunableOp_Half_NN,nn_*_64_64_ld_*_64_*") == "left out: a size that is a wildcard");
  CHECK(problem_of("GroupedGemmTunableOp_Half_NN,whatever") == "left out: a kind of TunableOp that is no such product");
}

TEST_CASE("a line of TunableOp that is not whole is refused with what was expected") {
  const auto wrong = [](const char* line) { return wrong_with(read_tunableop_line, line); };
  CHECK(wrong("GemmTunableOp_Half_TN")
            .find("expected an operator and its parameters such as GemmTunableOp_Half_TN,tn_768") != std::string::npos);
  CHECK(wrong("GemmTunableOp_Whole_TN,tn_1_1_1") == "unknown type 'Whole', expected one of PyTorch's such as BFloat16");
  CHECK(wrong("GemmTunableOp_Half_TN,tn_1_x_1") == "n is 'x', expected an integer of at least 0");
  CHECK(
      wrong("GemmTunableOp_Half_TN,tn_1_1") == "'tn_1_1', expected parameters such as tn_768_1024_768_ld_768_768_768");
  CHECK(wrong("GemmTunableOp_Half_TN,tx_1_1_1") == "transpose is 'x', expected n, t or c");
  CHECK(wrong("GemmTunableOp_Half_TN,tn_1_1_1_1") == "'1' in 'tn_1_1_1_1', expected ld and leading dimensions");
  CHECK(wrong("GemmTunableOp_Half_TN,tn_1_1_1_ld_1_1") == "ld has '1_1', expected three leading dimensions");
  CHECK(wrong("GemmStridedBatchedTunableOp_Half_TN,tn_1_1_1_ld_1_1_1") ==
        "no B_ in 'tn_1_1_1_ld_1_1_1', expected the entries of a batch");
  CHECK(wrong("GemmTunableOp_Half_TN,nt_1_1_1_ld_1_1_1").find("expected the same transposes") != std::string::npos);
  CHECK(wrong("GemmTunableOp_Half_Half_TN,tn_1_1_1_ld_1_1_1").find("and a type, or three of a ScaledGemm") !=
        std::string::npos);
  CHECK(wrong("GemmTunableOp_Half_TN,tn_1_1_1_ld_1_1_1GemmTunableOp_Half_TN,tn_1_1_1") ==
        "two operators, expected one in a line");
  CHECK(wrong("GemmTunableOp_Half_TN,tn_64_1_1_ld_1_1_64,BLAS_PARAMS: - { M: 64, N: 2 }") ==
        "N is 2 in BLAS_PARAMS and 1 before it, expected one");
  CHECK(wrong("GemmTunableOp_Half_TN,tn_64_1_1_ld_1_1_64,BLAS_PARAMS: - { M: 64, bta: 1.0 }") ==
        "'bta: 1.0' in BLAS_PARAMS, expected a parameter and its value");
  CHECK(wrong("GemmTunableOp_Half_TN,tn_64_1_1_ld_1_1_64,BLAS_PARAMS: - { M: 64, N:") ==
        "BLAS_PARAMS has no end, expected { and }");
  CHECK(wrong("GemmTunableOp_Half_TN,tn_64_1_9223372036854775808_ld_1_1_64") ==
        "k is '9223372036854775808', expected an integer of 0 to 9223372036854775807");
  CHECK_FALSE(is_one(read_tunableop_line, "epoch 1 of GemmTunableOp_Half_TN"));
  CHECK(is_one(read_tunableop_line, "Validator,PT_VERSION,2.8.0"));
}
