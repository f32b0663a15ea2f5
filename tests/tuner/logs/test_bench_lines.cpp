// Lines of hipblaslt-bench and rocblas-bench as problems.
#include "tests/tuner/logs/lines.hpp"

using namespace tilesmith;
using namespace tilesmith::tuner;
using namespace tilesmith::tuner::toy;

namespace {

constexpr const char* kTypes =
    " --a_type f16_r --b_type f16_r --c_type f16_r --d_type f16_r --scale_type f32_r --bias_type f32_r --compute_type f32_r";

std::string hip(const std::string& more, const std::string& types = kTypes) {
  return problem_of_line(
      read_bench_line, "hipblaslt-bench --api_method c -m 64 -n 32 -k 16 --alpha 1.000000 " + more + types);
}

std::string roc(const std::string& line) { return problem_of_line(read_bench_line, "./rocblas-bench " + line); }

}  // namespace

TEST_CASE("a line of hipblaslt-bench is a problem, its operands swapped") {
  CHECK(hip("--lda 64 --ldb 16 --ldc 64 --ldd 64 --beta 0.000000 --transA N --transB N --batch_count 1") ==
        "f16f32f16 NN 32 64 16");
  CHECK(hip("--lda 24 --ldb 16 --ldc 64 --ldd 64 --beta 1.000000 --transA T --transB N") ==
        "f16f32f16 NT 32 64 16 ldb=24 beta=any");
  CHECK(
      hip("--beta 0 --transA N --transB N --batch_count 3 --stride_a 2048 --stride_b 0 --stride_c 2048 --stride_d 2048") ==
      "f16f32f16 NN 32 64 16 batch=3 stride_a=0 stride_b=2048 batch_mode=strided");
  CHECK(hip("--beta 0 --bias_vector --bias_source d --activation_type gelu",
            std::string(kTypes).replace(std::string(kTypes).find("bias_type f32"), 13, "bias_type f16")) ==
        "f16f32f16 NN 32 64 16 epilogue=bias_n+gelu_tanh");
  const std::string bytes =
      " --a_type f8_r --b_type f8_r --c_type bf16_r --d_type bf16_r --scale_type f32_r --compute_type f32_r";
  CHECK(hip("--beta 0 --scaleA 1 --scaleB 1", bytes) == "e4m3f32bf16 NN 32 64 16 epilogue=scale_m1+scale_n1");
  CHECK(hip("--beta 0 --scaleA 2 --scaleB 2", bytes) == "e4m3f32bf16 NN 32 64 16 epilogue=scale_m+scale_n");
  CHECK(hip("--beta 0 --scaleA 3 --scaleB 3", bytes) ==
        "left out: scales of a kind, or of a matrix, that has no kernel here");
  CHECK(hip("--beta 0 --activation_type swish") == "left out: an epilogue that has no kernel here");
  CHECK(hip("--beta 0 --use_e --lde 64") == "left out: an epilogue that has no kernel here");
  CHECK(hip("--beta 0 --grouped_gemm 1") == "left out: a layout, order or batch mode that has no kernel here");
}

TEST_CASE("a line of rocblas-bench is a problem, by its function and types") {
  const std::string sizes =
      " --transposeA N --transposeB T -m 64 -n 32 -k 16 --alpha 1 --lda 64 --ldb 32 --beta 0 --ldc 64";
  CHECK(roc("-f gemm -r f32_r" + sizes) == "f32f32 TN 32 64 16");
  CHECK(roc("-f gemm -r f16_r" + sizes) == "f16f16 TN 32 64 16");
  CHECK(roc("-f gemm -r d" + sizes) == "f64f64 TN 32 64 16");
  CHECK(roc("-f gemm_ex --a_type i8_r --b_type i8_r --c_type i32_r --d_type i32_r --compute_type i32_r" + sizes) ==
        "s8s32 TN 32 64 16");
  CHECK(roc("-f gemm_batched_ex --a_type h --b_type h --c_type h --d_type h --compute_type s --batch_count 7" +
            sizes) == "f16f32f16 TN 32 64 16 align=2 batch=7 batch_mode=pointers");
  CHECK(roc("-f gemm -r f32_c" + sizes) == "left out: a combination of types that has no kernel here");
  CHECK(roc("-f gemv -r f32_r -m 64 -n 32") == "left out: a function of rocBLAS that is no such product");
}

TEST_CASE("what changes a product of hipblaslt-bench or rocblas-bench is not passed over") {
  CHECK(hip("--beta 0 --scaleAlpha_vector") == "left out: scales of a kind, or of a matrix, that has no kernel here");
  CHECK(hip("--beta 0 --swizzleA") == "left out: a layout, order or batch mode that has no kernel here");
  CHECK(hip("--beta 0 --bias_vector --bias_source a") == "left out: an epilogue that has no kernel here");
  CHECK(hip("--beta 0 --compute_input_typeA f8_r") == "left out: a combination of types that has no kernel here");
  CHECK(hip("--beta 0 --scaleA s --scaleB s") == "f16f32f16 NN 32 64 16 epilogue=scale_m1+scale_n1");
  CHECK(hip("--beta 0 --batch_count 3 --batch_mode 1") == "f16f32f16 NN 32 64 16 align=2 batch=3 batch_mode=pointers");
  CHECK(hip("--beta 1 --ldc 72") == "f16f32f16 NN 32 64 16 ldc=72 beta=any");
  CHECK(hip("--beta 1 --ldc 72 --ldd 64") == "left out: a layout, order or batch mode that has no kernel here");
  const std::string sizes = " -m 64 -n 32 -k 16 --lda 64 --ldb 16 --beta 0 --ldc 64",
                    bytes = " --a_type i8_r --b_type i8_r --c_type i_r32 --d_type i_r32";
  CHECK(roc("--api 1 -f gemm_ex" + bytes + " --compute_type i_r32 --flags 2" + sizes) == "s8s32 NN 32 64 16");
  CHECK(roc("-f gemm_ex" + bytes + " --compute_type i_r32 --flags 1" + sizes) ==
        "left out: a layout, order or batch mode that has no kernel here");
}

TEST_CASE("a bench line that was cut, or of which an option is damaged, has no defaults") {
  const auto wrong = [](const std::string& line) { return wrong_with(read_bench_line, line); };
  CHECK(wrong("hipblaslt-bench --api_method c -m 64 -n 64 -k 6") == "no --a_type in the line, expected one, or -r");
  CHECK(wrong("hipblaslt-bench -m 8 -n 8 -k 8 --a_type f16_r --b_type f16_r --c_type f16_r --d_type f16_r") ==
        "no --compute_type in the line, expected one, or -r");
  CHECK(wrong("./rocblas-bench -f gemm -r f32_r --transposeA N --transposeB N -m 64 -n 64 -k 6") ==
        "no --lda in the line, expected one");
  CHECK(
      wrong(
          "./rocblas-bench -f gemm_batched -r f32_r --transposeA N --transposeB N -m 8 -n 8 -k 8 --lda 8 --ldb 8 --ldc 8") ==
      "no --batch_count in the line, expected one");
  CHECK(wrong("hipblaslt-bench -r f16_r -m 8 -n 8 -k 8 --trnsA T") ==
        "unknown option 'trnsA', expected one of the program's");
  CHECK(wrong("hipblaslt-bench -r f16_r -m 8 -n 8 -k 8 -m 9") == "-m twice, expected one product a line");
  CHECK(wrong("hipblaslt-bench -r f16_r -m 8 -n 8 -k 8 --lda 8--ldb 8") == "'8--ldb', expected a space before --");
  CHECK(wrong("hipblaslt-bench -r f16_r -m 8 -n 8 -k 8 --") == "'--', expected an option such as -m or --transA");
  CHECK(wrong("hipblaslt-bench -r f16_r -m 8 -n 8 -k 8 --batch_count 9223372036854775808") ==
        "batch_count is '9223372036854775808', expected an integer of 0 to 9223372036854775807");
  CHECK(wrong("9999999999999 hipblaslt-bench -r f16_r -m 8 -n 8 -k 8") ==
        "the number of calls is '9999999999999', expected an integer of 1 to 1000000000000");
}

TEST_CASE("a number before a bench line counts its calls") {
  Calls calls;
  CHECK(read_bench_line("    50 ./rocblas-bench -f gemm -r s -m 8 -n 8 -k 8", calls));
  CHECK(calls.count() == 50);
  CHECK(calls.problems()[0].calls == 50);
}

TEST_CASE("a bench line that is not whole is refused with what was expected") {
  const auto wrong = [](const char* line) { return wrong_with(read_bench_line, line); };
  CHECK(wrong("hipblaslt-bench -m 8 -n 8") == "no -k in the line, expected -m, -n and -k");
  CHECK(wrong("hipblaslt-bench -m 8 -n 8 -k eight") == "k is 'eight', expected an integer of at least 0");
  CHECK(wrong("hipblaslt-bench -m 8 8 -n 8 -k 8") == "'8', expected an option such as -m or --transA");
  CHECK(wrong("rocblas-bench -f gemm -m 8 -n 8 -k 8 --transposeA X") == "transpose is 'X', expected N, T or C");
  CHECK(wrong("rocblas-bench -f gemm -m 8 -n 8 -k 8 --beta x") == "beta is 'x', expected a number");
  CHECK_FALSE(is_one(read_bench_line, "rocBLAS info: maximum library size per device"));
  CHECK_FALSE(is_one(read_bench_line, "rocblas-bench INFO: lda < min_lda, set lda = 64"));
}
