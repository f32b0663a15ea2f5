// Good logs, damaged at every place: no damage refuses a log, and none makes a problem of a log that has no such one,
// where this can be told.
#include <fmt/format.h>

#include <fstream>
#include <set>

#include "tests/tuner/logs/lines.hpp"

using namespace tilesmith;
using namespace tilesmith::tuner;
using namespace tilesmith::tuner::toy;

namespace {

std::string fixture_text(const std::string& name) {
  std::ifstream in(std::string(TILESMITH_SOURCE_DIR) + "/tests/tuner/logs/" + name);
  return {std::istreambuf_iterator<char>(in), {}};
}

const std::string kTorch =
    "GemmTunableOp_Half_TN,tn_768_1024_512_ld_512_520_768\nGemmAndBiasTunableOp_BFloat16_NT,nt_640_16_30_ld_640_16_640\n"
    "GemmStridedBatchedTunableOp_float_NN,nn_128_127_64_B_9_ld_128_64_128\n"
    "ScaledGemmTunableOp_Float8_e4m3fn_Float8_e4m3fn_BFloat16_TN,tn_64_1288_2048_ld_2048_2048_64_rw_1_bias_None\n";
const std::string kTorchSolutions =
    "Validator,PT_VERSION,2.6.0\nGemmTunableOp_float_NT,nt_258_496_64,Gemm_Hipblaslt_1219,1.262\n"
    "GemmTunableOp_tf32_NT,nt_250_409_64,Gemm_Rocblas_1216,0.033\n";
const std::string kTorchResults =
    "Validator,PT_VERSION,2.8.0\n"
    "GemmStridedBatchedTunableOp_BFloat16_NN,nn_64_128_127_B_96_ld_64_127_64,Default,0.1,BLAS_PARAMS: - { function: matmul, M: 64, N: 128, K: 127, lda: 64, "
    "ldb: 127, ldc: 64, ldd: 64, stride_a: 8128, stride_b: 16256, stride_c: 8192, stride_d: 8192, alpha: 1.0000, beta: 1.0000, transA: n, transB: n, "
    "batch_count: 96, a_type: bf16_r, b_type: bf16_r, c_type: f32_r, d_type: bf16_r, scale_type: f32_r, compute_type: f32_r }\n"
    "GemmAndBiasTunableOp_BFloat16_TN,tn_372_16_768_ld_768_768_372,Gemm_Hipblaslt_220580,0.0103395,BLAS_PARAMS: - { function: matmul, M: 372, N: 16, "
    "K: 768, lda: 768, ldb: 768, ldc: 372, ldd: 372, alpha: 1.0000, transA: t, transB: n, batch_count: 1, a_type: bf16_r, b_type: bf16_r, c_type: bf16_r, "
    "d_type: bf16_r, activation: GELU, bias_type: bf16_r, scale_type: f32_r, compute_type: f32_r }\n";
const std::string kHip =
    "hipblaslt-bench --api_method c -m 1024 -n 1024 -k 1024 --lda 1024 --ldb 1024 --ldc 1024 --ldd 1024  --stride_a 0 --stride_b 0 --stride_c 0 "
    "--stride_d 0  --alpha 1.000000 --beta 1.000000 --transA T --transB N --batch_count 1 --scaleA 0 --scaleB 0 --bias_vector --bias_source d --a_type "
    "f16_r --b_type f16_r --c_type f16_r --d_type f16_r --scale_type f32_r --bias_type f32_r   --compute_type f32_r --algo_method index "
    "--solution_index 56073 --activation_type gelu  --any_stride --rotating 0 --cold_iters 0 --iters 0 \n"
    "hipblaslt-bench --api_method c -m 640 -n 30 -k 50 --lda 640 --ldb 64 --ldc 640 --ldd 640  --stride_a 32000 --stride_b 0 --stride_c 19200 "
    "--stride_d 19200  --alpha 1.000000 --beta 0.000000 --transA N --transB N --batch_count 7 --scaleA 0 --scaleB 0 --a_type bf16_r --b_type bf16_r "
    "--c_type f32_r --d_type f32_r --scale_type f32_r --bias_type    --compute_type f32_r --algo_method index --solution_index 1 --activation_type none "
    "--any_stride --rotating 0 --cold_iters 0 --iters 0 \n"
    "hipblaslt-bench -m 64 -n 64 -k 64 --a_type bf16_r --b_type bf16_r --c_type bf16_r --d_type bf16_r --compute_type f32_r\n";
const std::string kRocblas =
    "     50 ./rocblas-bench -f gemm_ex --transposeA N --transposeB N -m 1024 -n 96 -k 512 --alpha 1 --a_type f16_r --lda 1024 --b_type f16_r --ldb 512 "
    "--beta 0 --c_type f32_r --ldc 1024 --d_type f32_r --ldd 1024 --compute_type f32_r --algo 0 --solution_index 0 --flags 0\n"
    "./rocblas-bench -f gemm_strided_batched_ex --transposeA N --transposeB T -m 104 -n 208 -k 512 --alpha 1 --a_type h --lda 104 --stride_a 0 --b_type h "
    "--ldb 208 --stride_b 106496 --beta 1 --c_type s --ldc 104 --stride_c 21632 --d_type s --ldd 104 --stride_d 21632 --batch_count 5 --compute_type s "
    "--algo 0\n"
    "./rocblas-bench -f gemm -r f32_r --transposeA N --transposeB T -m 400 -n 300 -k 200 --alpha 1 --lda 400 --ldb 300 --beta 0 --ldc 400\n"
    "./rocblas-bench -f gemm_batched -r f64_r --transposeA T --transposeB T -m 40 -n 30 -k 20 --alpha 1 --lda 20 --ldb 30 --beta 0 --ldc 40 --batch_count 8\n";

std::vector<std::string> good_logs() {
  return {fixture_text("cublaslt12.log"), fixture_text("cublaslt13.log"), kTorch, kTorchSolutions, kTorchResults, kHip,
      kRocblas};
}

/// The bytes: some are no problem that the library accepts, and have no text.
std::string words_of(const cublas::ProblemKey& key) { return {reinterpret_cast<const char*>(&key), sizeof key}; }

std::set<std::string> problems_of_log(const std::string& text) {
  std::istringstream in(text);
  const ReadLog log = read_log(in, "x.log");
  std::set<std::string> problems;
  for (const auto& one : log.calls.problems()) problems.insert(words_of(one.key));
  return problems;
}

/// A good log twice, then damaged, so that most lines are right.
class Damages {
 public:
  explicit Damages(const std::string& good) : good_(good), right_(problems_of_log(good)) { REQUIRE(right_.size() > 1); }

  /// The problems that a damage has made and the log has not.
  std::set<std::string> made_by(const std::string& damaged) const {
    std::set<std::string> made;
    INFO(damaged);
    try {
      for (const std::string& problem : problems_of_log(good_ + good_ + damaged)) {
        if (right_.count(problem) == 0) made.insert(problem);
      }
    } catch (const LogError& error) {
      FAIL_CHECK(error.what());
    }
    return made;
  }

 private:
  const std::string good_;
  const std::set<std::string> right_;
};

/// Whether a log without this byte may say another thing that is as good: a shorter number, f16_r for bf16_r, R_16F for
/// R_16BF, f32_r for xf32_r.
bool tells_otherwise_without(const std::string& text, std::size_t at) {
  const std::string before = text.substr(at > 0 ? at - 1 : 0, 1), two = text.substr(at, 2);
  return (text[at] >= '0' && text[at] <= '9') || two == "bf" || two == "xf" || two == "BF" ||
         (text[at] == '.' && before >= "0" && before <= "9");
}

}  // namespace

TEST_CASE("a log without one of its bytes is read, and says nothing that is not so") {
  for (const std::string& good : good_logs()) {
    const Damages damages(good);
    for (std::size_t at = 0; at < good.size(); ++at) {
      const std::string damaged = good.substr(0, at) + good.substr(at + 1);
      const std::set<std::string> made = damages.made_by(damaged);
      if (tells_otherwise_without(good, at)) continue;
      INFO("without byte " << at << " behind " << good.substr(at > 60 ? at - 60 : 0, at > 60 ? 60 : at));
      CHECK(made == std::set<std::string>{});
    }
  }
}

TEST_CASE("a log that ends at any byte is read up to its last whole line") {
  for (const std::string& good : good_logs()) {
    const Damages damages(good);
    for (std::size_t at = 0; at < good.size(); ++at)
      CHECK(damages.made_by(good.substr(0, at)) == std::set<std::string>{});
  }
}

TEST_CASE("a line that was wrapped, at any column, is no shorter line") {
  for (const std::string& good : good_logs()) {
    const Damages damages(good);
    for (std::size_t at = 0; at < good.size(); ++at) {
      INFO("wrapped at " << at << " behind " << good.substr(at > 60 ? at - 60 : 0, at > 60 ? 60 : at));
      CHECK(damages.made_by(good.substr(0, at) + "\n" + good.substr(at)) == std::set<std::string>{});
    }
  }
}

TEST_CASE("two lines in one, the first whole or cut at any column, are no third") {
  for (const std::string& good : good_logs()) {
    const Damages damages(good);
    std::size_t start = 0;
    for (std::size_t end = good.find('\n'); end != std::string::npos; start = end + 1, end = good.find('\n', start)) {
      for (std::size_t at = start; at <= end; ++at) {
        INFO("cut at " << at << " behind " << good.substr(start, at - start));
        CHECK(damages.made_by(good.substr(start, at - start) + good) == std::set<std::string>{});
        if (at == end) CHECK(damages.made_by(good.substr(start, at - start) + " " + good) == std::set<std::string>{});
      }
    }
  }
}
