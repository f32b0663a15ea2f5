// Random lines as hipBLASLt's and rocBLAS's logs have them, and as one types them: each is the call that it was made
// of, or left out for its reason.
#include <random>

#include "tests/tuner/logs/lines.hpp"
#include "tuner/workload.hpp"

using namespace tilesmith;
using namespace tilesmith::tuner;
using namespace tilesmith::tuner::toy;

namespace {

using namespace cublas;

struct TypeName {
  const char* name;
  int type;
};
struct TypesOfProduct {
  TypeName a, d, scale;
  const char* compute;
  int compute_type;
};
constexpr TypeName kHalf = {"f16_r", kF16}, kBrain = {"bf16_r", kBf16}, kSingle = {"f32_r", kF32},
                   kDouble = {"f64_r", kF64}, kByte = {"i8_r", kS8}, kInt = {"i32_r", kS32}, kFloat8 = {"f8_r", kE4m3},
                   kOtherFloat8 = {"bf8_r", kE5m2};
constexpr TypesOfProduct kProducts[] = {{kHalf, kHalf, kSingle, "f32_r", kCompute32F},
    {kBrain, kBrain, kSingle, "f32_r", kCompute32F}, {kHalf, kSingle, kSingle, "f32_r", kCompute32F},
    {kSingle, kSingle, kSingle, "f32_r", kCompute32F}, {kByte, kInt, kInt, "i32_r", kCompute32I},
    {kSingle, kSingle, kSingle, "xf32_r", kCompute32FFastTf32}, {kByte, kByte, kSingle, "i32_r", kCompute32I},
    {kSingle, kSingle, kSingle, "f32_bf16_r", kCompute32FFast16BF}, {kFloat8, kBrain, kSingle, "f32_r", kCompute32F},
    {kDouble, kDouble, kDouble, "f64_r", kCompute64F}, {kOtherFloat8, kHalf, kSingle, "f32_r", kCompute32F}};

/// What a log may say, and the call that it means. `why`: nothing may be made of it, for this reason; empty: the call
/// is to be judged.
struct Drawn {
  GemmCall call = call_of_a_log();
  TypesOfProduct types = kProducts[0];
  std::int64_t ldc = 0, stride_c = 0;
  bool is_beta_zero = true;
  std::string why;
};

class Dice {
 public:
  explicit Dice(unsigned seed) : bits_(seed) {}
  std::int64_t of(std::int64_t least, std::int64_t most) {
    return std::uniform_int_distribution<std::int64_t>(least, most)(bits_);
  }
  bool one_in(int n) { return of(1, n) == 1; }
  std::int64_t size() {
    return one_in(8) ? of(0, 1) : one_in(3) ? 16 * of(1, 300) : one_in(20) ? of(1, std::int64_t{1} << 30) : of(1, 5000);
  }
  std::int64_t stride(std::int64_t packed) { return one_in(4) ? 0 : one_in(4) ? packed + of(-100, 5000) : packed; }
  const auto& among(const auto& list) { return list[std::size_t(of(0, std::int64_t(std::size(list)) - 1))]; }

 private:
  std::mt19937 bits_;
};

Drawn draw(Dice& dice, BatchKind kind) {
  Drawn drawn;
  GemmCall& call = drawn.call;
  call.m = dice.size();
  call.n = dice.size();
  call.k = dice.size();
  call.op_a = dice.one_in(2) ? kOpN : kOpT;
  call.op_b = dice.one_in(2) ? kOpN : kOpT;
  const bool ta = call.op_a != kOpN, tb = call.op_b != kOpN;
  const auto padding = [&] { return dice.one_in(3) ? dice.of(0, 64) : 0; };
  call.lda = (ta ? call.k : call.m) + padding();
  call.ldb = (tb ? call.n : call.k) + padding();
  call.ldd = call.m + padding();
  call.batch_kind = kind;
  if (kind != BatchKind::single) call.batch = dice.one_in(5) ? dice.of(0, 1) : dice.of(2, 100);
  call.stride_a = dice.stride(call.lda * (ta ? call.m : call.k));
  call.stride_b = dice.stride(call.ldb * (tb ? call.k : call.n));
  call.stride_d = dice.stride(call.ldd * call.n);
  drawn.types = dice.among(kProducts);
  call.type_a = call.type_b = drawn.types.a.type;
  call.type_d = drawn.types.d.type;
  call.compute = drawn.types.compute_type;
  call.scale_type = drawn.types.scale.type;
  call.fast_accum = true;
  drawn.is_beta_zero = dice.one_in(2);
  call.beta = scalar_of_a_log(drawn.is_beta_zero);
  drawn.ldc = dice.one_in(20) ? call.ldd + 8 : call.ldd;
  drawn.stride_c = dice.one_in(20) ? call.stride_d + 8 : call.stride_d;
  const bool is_apart = drawn.ldc != call.ldd || (kind == BatchKind::strided && drawn.stride_c != call.stride_d);
  if (is_apart && !drawn.is_beta_zero) drawn.why = text(Reason::layout);
  return drawn;
}

std::string letter(int op) { return op == kOpN ? "N" : "T"; }
std::string option(const char* name, std::int64_t value) {
  return std::string(" --") + name + " " + std::to_string(value);
}

std::string sizes(const GemmCall& call) {
  return " -m " + std::to_string(call.m) + " -n " + std::to_string(call.n) + " -k " + std::to_string(call.k);
}

/// Scales, bias and activation as `version` prints them: 0 is of 2024, 1 of 2025, 2 of 2026.
std::string epilogue(Dice& dice, Drawn& drawn, int version, std::string& activation) {
  GemmCall& call = drawn.call;
  const auto leave_out = [&](Reason why) {
    if (drawn.why.empty()) drawn.why = text(why);
  };
  std::string line;
  // In the order in which they are judged.
  const int kind = dice.one_in(2) ? 0 : int(dice.of(1, 4));
  activation = kind == 1 ? "relu" : kind == 2 ? "gelu" : kind == 3 && version > 0 ? "swish" : "none";
  const bool is_gradient = dice.one_in(15), uses_e = dice.one_in(15), is_biased = dice.one_in(3);
  const char source = is_biased && dice.one_in(10) ? 'a' : 'd';
  if (activation == "swish" || is_gradient || uses_e || source == 'a') leave_out(Reason::epilogue);
  const int act = activation == "relu" ? kEpilogueRelu : activation == "gelu" ? kEpilogueGelu : 0;
  call.epilogue = is_biased ? kEpilogueBias | act : act != 0 ? act : kEpilogueNone;
  const std::int64_t bias_stride = version == 2 && is_biased && dice.one_in(5) ? call.m : 0;
  const TypeName bias_type = dice.one_in(2) ? kSingle : drawn.types.d;
  if (is_biased) {
    call.bias = call.a;
    call.bias_type = bias_type.type;
    if (bias_stride != 0 && call.batch != 1) leave_out(Reason::epilogue);
  }
  const bool scales_cd = dice.one_in(20), scales_alpha = dice.one_in(20), is_swizzled = version > 0 && dice.one_in(30);
  if (scales_cd || scales_alpha) leave_out(Reason::scales);
  if (is_swizzled) drawn.why = text(Reason::layout);
  const int scales = dice.one_in(3) ? int(dice.of(1, version == 2 ? 3 : 2)) : 0;
  if (scales == 3) leave_out(Reason::scales);
  if (scales != 0) call.scale_a = call.scale_b = call.a;
  call.scale_mode_a = call.scale_mode_b = scales == 2 ? kScaleEach : kScaleOne;
  const std::string scale = version > 0 ? std::to_string(scales) : scales == 2 ? "v" : "s";
  if (version > 0 || scales != 0) line += " --scaleA " + scale + " --scaleB " + scale;
  if (scales_cd) line += " --scaleC --scaleD";
  if (is_swizzled) line += " --swizzleA";
  if (scales_alpha) line += " --scaleAlpha_vector";
  if (is_gradient) line += " --gradient";
  if (uses_e) line += " --use_e";
  if (is_biased) line += std::string(" --bias_vector --bias_source ") + source;
  if (is_biased && version == 2) line += option("bias_stride", bias_stride);
  const std::string type = drawn.types.a.name, result = drawn.types.d.name;
  line += " --a_type " + type + " --b_type " + type + " --c_type " + result + " --d_type " + result + " --scale_type " +
          drawn.types.scale.name;
  return line + " --bias_type " + (is_biased ? bias_type.name : dice.one_in(2) ? "" : "f32_r");
}

std::string hipblaslt_line(Dice& dice, Drawn& drawn) {
  const int version = int(dice.of(0, 2));
  GemmCall& call = drawn.call;
  std::string line = "hipblaslt-bench --api_method " + std::string(dice.one_in(2) ? "c" : "cpp") + sizes(call);
  line += option("lda", call.lda) + option("ldb", call.ldb) + option("ldc", drawn.ldc) + option("ldd", call.ldd) + " ";
  line += option("stride_a", call.stride_a) + option("stride_b", call.stride_b) + option("stride_c", drawn.stride_c) +
          option("stride_d", call.stride_d);
  line += version == 2 ? "  --alpha 1.000000 --alphai 0.000000 --beta " : "  --alpha 1.000000 --beta ";
  line += drawn.is_beta_zero ? "0.000000" : dice.one_in(2) ? "-0.500000" : "1.000000";
  line += version == 2 ? " --betai 0.000000" : "";
  line += " --transA " + letter(call.op_a) + " --transB " + letter(call.op_b) + option("batch_count", call.batch);
  if (version == 2) line += std::string(" --batch_mode ") + (call.batch_kind == BatchKind::pointers ? "1" : "0");
  std::string activation;
  line += epilogue(dice, drawn, version, activation) + (dice.one_in(5) ? " --splitk 2" : "") + "  --compute_type " +
          drawn.types.compute;
  if (version == 0) return line + (activation == "none" ? " " : " --activation_type " + activation + " ");
  line += " --algo_method index --solution_index 56073 --activation_type " + activation +
          (dice.one_in(5) ? " --flush" : "");
  return line + (version == 2 ? " --any_stride" : "") + " --rotating 0 --cold_iters 0 --iters 0 ";
}

/// In the order in which rocBLAS prints them.
std::string rocblas_line(Dice& dice, const Drawn& drawn, bool is_ex) {
  const GemmCall& call = drawn.call;
  const bool is_strided = call.batch_kind == BatchKind::strided;
  const auto type = [&](const char* name, const TypeName& of) {
    return is_ex ? std::string(" --") + name + " " + (of.type == kS32 && dice.one_in(2) ? "i_r32" : of.name) : "";
  };
  const auto stride = [&](const char* name, std::int64_t value) { return is_strided ? option(name, value) : ""; };
  std::string line = std::string("./rocblas-bench") + (dice.one_in(4) ? " --api 1" : "") + " -f gemm";
  line += is_strided ? "_strided_batched" : call.batch_kind == BatchKind::pointers ? "_batched" : "";
  line += is_ex ? "_ex" : std::string(" -r ") + drawn.types.a.name;
  line += " --transposeA " + letter(call.op_a) + " --transposeB " + letter(call.op_b) + sizes(call) + " --alpha 1";
  line += type("a_type", drawn.types.a) + option("lda", call.lda) + stride("stride_a", call.stride_a);
  line += type("b_type", drawn.types.a) + option("ldb", call.ldb) + stride("stride_b", call.stride_b);
  line += std::string(" --beta ") + (drawn.is_beta_zero ? "0" : dice.one_in(3) ? "nan" : "-1.5");
  line += type("c_type", drawn.types.d) + option("ldc", drawn.ldc) + stride("stride_c", drawn.stride_c);
  if (is_ex) line += type("d_type", drawn.types.d) + option("ldd", call.ldd) + stride("stride_d", call.stride_d);
  if (call.batch_kind != BatchKind::single) line += option("batch_count", call.batch);
  if (is_ex) line += std::string(" --compute_type ") + drawn.types.compute + " --algo 0 --solution_index -1 --flags 0";
  return line + (dice.one_in(5) ? " --atomics_not_allowed" : "");
}

void check(const std::string& line, const Drawn& drawn) {
  Calls expected, read;
  if (drawn.why.empty()) expected.add(drawn.call);
  else expected.leave_out(drawn.why);
  INFO(line);
  std::string wrong;
  try {
    REQUIRE(read_bench_line(line, read));
  } catch (const std::string& thrown) {
    wrong = thrown;
  }
  CHECK(wrong == "");
  CHECK(read.left_out() == expected.left_out());
  REQUIRE(read.problems().size() == expected.problems().size());
  if (read.count() > 0) CHECK(read.problems()[0].key == expected.problems()[0].key);
}

}  // namespace

TEST_CASE("what hipBLASLt prints of a random call is that call, or left out for its reason") {
  Dice dice(1);
  for (int i = 0; i < 5000; ++i) {
    Drawn drawn = draw(dice, dice.one_in(2) ? BatchKind::single : BatchKind::strided);
    if (drawn.call.batch == 1) {  // it says no more of a batch of one than of none
      drawn.call.batch_kind = BatchKind::single;
      if (drawn.ldc == drawn.call.ldd) drawn.why.clear();
    }
    const std::string line = hipblaslt_line(dice, drawn);
    check(line, drawn);
  }
}

TEST_CASE("what rocBLAS prints of a random call is that call, or left out for its reason") {
  Dice dice(2);
  for (int i = 0; i < 5000; ++i) {
    const BatchKind kinds[] = {BatchKind::single, BatchKind::strided, BatchKind::pointers};
    Drawn drawn = draw(dice, dice.among(kinds));
    const bool is_ex = dice.one_in(2);
    if (!is_ex) {  // one type for all, and C is D
      const TypesOfProduct same[] = {kProducts[3], kProducts[9], {kHalf, kHalf, kHalf, "f16_r", kCompute16F}};
      drawn.types = dice.among(same);
      drawn.call.type_a = drawn.call.type_b = drawn.call.type_d = drawn.types.a.type;
      drawn.call.compute = drawn.types.compute_type;
      drawn.call.scale_type = drawn.types.scale.type;
      drawn.ldc = drawn.call.ldd;
      drawn.stride_c = drawn.call.stride_d;
      drawn.why.clear();
    } else if (drawn.types.compute_type == kCompute32I) {
      drawn.call.scale_type = kS32;  // it prints none: that of the compute type
    }
    check(rocblas_line(dice, drawn, is_ex), drawn);
  }
}

TEST_CASE(
    "tune takes every line of the workload that random bench lines become, and each call has a line or a reason") {
  Dice dice(3);
  Calls calls;
  constexpr std::uint64_t kLines = 10000;
  for (std::uint64_t i = 0; i < kLines; ++i) {
    Drawn drawn = draw(dice, dice.one_in(2) ? BatchKind::single : BatchKind::strided);
    REQUIRE(read_bench_line(hipblaslt_line(dice, drawn), calls));
  }
  const WorkloadText made =
      workload_text(calls.problems(), Buckets{}, "random", {tilesmith_problem_text, tilesmith_last_error});
  std::uint64_t counted = made.calls;
  for (const auto& [why, times] : calls.left_out()) counted += times;
  for (const auto& [field, one] : made.left_out) counted += one.calls;
  CHECK(counted == kLines);
  CHECK(made.problems > kLines / 10);
  CHECK(made.left_out.contains("stride_c"));
  CHECK(parse_workload(made.text, "random").tasks.size() == made.problems);
}

TEST_CASE("a bench line that one types has the defaults of the program") {
  const auto problem = [](const std::string& line) { return problem_of_line(read_bench_line, line); };
  CHECK(problem("hipblaslt-bench -r f16_r -m 128 -n 256 -k 512 --transA T --transB N") == "f16f32f16 NT 256 128 512");
  CHECK(problem("hipblaslt-bench --precision bf16_r --sizem 128 --sizen 256 --sizek 512") ==
        "bf16f32bf16 NN 256 128 512");
  CHECK(problem("hipblaslt-bench -r f16_r --d_type f32_r -m 8 -n 8 -k 8") == "f16f32 NN 8 8 8");
  CHECK(problem("hipblaslt-bench -r f32_r --compute_type x -m 8 -n 8 -k 8 --verify --iters 5") == "tf32f32 NN 8 8 8");
  CHECK(problem("rocblas-bench -f gemm_ex -r f16_r -m 128 -n 128 -k 128") == "f16f16 NN 128 128 128");
  CHECK(problem("rocblas-bench --function gemm --precision s -m 200 -n 128 -k 64 --math_mode 1") ==
        "tf32f32 NN 128 200 64 lda=128");
  CHECK(problem("rocblas-bench -f gemm_ex -r f16_r --compute_type s -m 8 -n 8 -k 8") ==
        "f16f32f16 NN 8 8 8 lda=128 ldb=128 ldc=128");
  CHECK(problem("hipblaslt-bench --yaml problems.yaml") == "left out: problems of another file (--yaml, --data)");
  CHECK(problem("hipblaslt-bench --grouped_gemm  -m 1 -n 2 -k 3 -m 4 -n 5 -k 6 --a_type f16_r") ==
        "left out: a layout, order or batch mode that has no kernel here");
}
