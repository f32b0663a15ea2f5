// What the shim makes of calls: keys, problems and lines of workloads.
#include "kernels/problem/problem.hpp"
#include "runtime/cublas/calls/problem_key.hpp"
#include "runtime/interface/c_values.hpp"
#include "tests/catch.hpp"

using namespace tilesmith;
using namespace tilesmith::cublas;

namespace {

alignas(16) char memory[256];
const float kOne = 1, kZero = 0, kNegativeZero = -0.0F;

GemmCall usual_call() {
  GemmCall call;
  call.m = 24;
  call.n = 5;
  call.k = 16;
  call.op_a = kOpT;
  call.lda = 16;
  call.ldb = 16;
  call.ldd = 24;
  call.type_a = call.type_b = call.type_d = kBf16;
  call.alpha = &kOne;
  call.beta = &kZero;
  call.a = memory;
  call.b = memory + 16;
  call.c = call.d = memory + 32;
  return call;
}

ProblemKey key_that_is(const GemmCall& call) {
  ProblemKey key;
  REQUIRE(key_of(call, key) == Reason::none);
  return key;
}

Reason reason_of(const GemmCall& call) {
  ProblemKey key;
  return key_of(call, key);
}

/// The line, which also has to be read as the very problem that is planned.
std::string line_of(const GemmCall& call) {
  const ProblemKey key = key_that_is(call);
  std::string line, error;
  REQUIRE(workload_line(key.problem, {tilesmith_problem_text, tilesmith_last_error}, line));
  const std::optional<Problem> read = parse_problem(line, error);
  INFO(line << ": " << error);
  REQUIRE(read);
  CHECK(text(*read) == text(canonical(runtime::to_problem(key.problem))));
  return line;
}

}  // namespace

TEST_CASE("a call of cuBLAS is a line of a workload, its operands swapped") {
  GemmCall call = usual_call();
  CHECK(line_of(call) == "bf16f32bf16 NT 5 24 16");
  call.lda = 20;
  call.ldb = 18;
  call.ldd = 40;
  call.beta = &kOne;
  CHECK(line_of(call) == "bf16f32bf16 NT 5 24 16 lda=18 ldb=20 ldc=40 beta=any");
  call.op_a = kOpN;
  call.op_b = kOpC;
  call.lda = 24;
  call.a = memory + 2;
  CHECK(line_of(call) == "bf16f32bf16 TN 5 24 16 lda=18 ldc=40 align=2 beta=any");
  call = usual_call();
  call.device_scalars = true;
  CHECK(line_of(call) == "bf16f32bf16 NT 5 24 16 beta=any scalars=device");
}

TEST_CASE("batches are lines of a workload") {
  GemmCall call = usual_call();
  call.batch_kind = BatchKind::strided;
  call.batch = 3;
  call.stride_a = std::int64_t{16} * 24;
  call.stride_b = std::int64_t{16} * 5;
  call.stride_d = std::int64_t{24} * 5;
  CHECK(line_of(call) == "bf16f32bf16 NT 5 24 16 batch=3 batch_mode=strided");
  call.stride_a = 0;
  call.stride_b = 100;
  call.stride_d = 200;
  CHECK(line_of(call) == "bf16f32bf16 NT 5 24 16 batch=3 stride_a=100 stride_b=0 stride_c=200 batch_mode=strided");
  call.batch_kind = BatchKind::pointers;
  CHECK(line_of(call) == "bf16f32bf16 NT 5 24 16 align=2 batch=3 batch_mode=pointers");
}

TEST_CASE("epilogues are lines of a workload") {
  GemmCall call = usual_call();
  call.epilogue = kEpilogueBias | kEpilogueGelu;
  call.bias = memory;
  CHECK(line_of(call) == "bf16f32bf16 NT 5 24 16 epilogue=bias_n+gelu_tanh");
  call.bias_type = kF32;
  call.epilogue = kEpilogueBias | kEpilogueRelu;
  CHECK(line_of(call) == "bf16f32bf16 NT 5 24 16 epilogue=bias_n_f32+relu");
  call.epilogue = kEpilogueNone;
  call.beta = &kOne;
  call.c = memory + 64;
  CHECK(line_of(call) == "bf16f32bf16 NT 5 24 16 beta=any epilogue=c_apart");
  call = usual_call();
  call.type_a = call.type_b = kE4m3;
  call.fast_accum = true;
  call.scale_a = call.scale_b = memory;
  CHECK(line_of(call) == "e4m3f32bf16 NT 5 24 16 epilogue=scale_m1+scale_n1");
  call.scale_mode_a = call.scale_mode_b = kScaleEach;
  CHECK(line_of(call) == "e4m3f32bf16 NT 5 24 16 epilogue=scale_m+scale_n");
  call.fast_accum = false;  // sums of blocks are added in f32
  call.scale_mode_a = kScale128x128;
  call.scale_mode_b = kScale1x128;
  CHECK(line_of(call) == "e4m3f32bf16 NT 5 24 16 epilogue=scale_m_1x128+scale_n_128x128");
}

TEST_CASE("two calls have one key only if one plan serves both") {
  const ProblemKey key = key_that_is(usual_call());
  GemmCall same = usual_call();
  same.beta = &kNegativeZero;
  same.b = memory + 48;
  same.op_a = kOpC;
  CHECK(key_that_is(same) == key);
  CHECK(hash_of(key_that_is(same)) == hash_of(key));
  const auto differs = [&](auto change) {
    GemmCall call = usual_call();
    change(call);
    return !(key_that_is(call) == key) && hash_of(key_that_is(call)) != hash_of(key);
  };
  CHECK(differs([](GemmCall& call) { call.n = 6; }));
  CHECK(differs([](GemmCall& call) { call.ldb = 17; }));
  CHECK(differs([](GemmCall& call) { call.d = memory + 34; }));
  CHECK(differs([](GemmCall& call) { call.beta = &kOne; }));
  CHECK(differs([](GemmCall& call) { call.device_scalars = true; }));
  CHECK(differs([](GemmCall& call) { call.epilogue = kEpilogueRelu; }));
  CHECK(differs([](GemmCall& call) { call.type_d = kF32; }));
}

TEST_CASE("math modes and compute types say whether f32 may be rounded") {
  GemmCall call = usual_call();
  call.type_a = call.type_b = call.type_d = kF32;
  CHECK(std::string(key_that_is(call).problem.type) == "f32f32");
  call.math = kTf32Math;
  CHECK(std::string(key_that_is(call).problem.type) == "tf32f32");
  call.math = kPedanticMath;
  CHECK(reason_of(call) == Reason::pedantic);
  call.math = 4;
  CHECK(reason_of(call) == Reason::emulated);
  call.math = kDefaultMath;
  call.compute = kCompute32FFast16F;
  CHECK(std::string(key_that_is(call).problem.type) == "tf32f32");
  for (const int compute : {65, 69, 71, 73}) {
    call.compute = compute;
    CHECK(reason_of(call) == Reason::pedantic);
  }
  call.compute = 78;
  CHECK(reason_of(call) == Reason::emulated);
  call.compute = 12345;
  CHECK(reason_of(call) == Reason::types);
  call = usual_call();
  call.compute = kCompute16F;  // of bf16 there is none
  call.scale_type = kF16;
  CHECK(reason_of(call) == Reason::types);
}

TEST_CASE("what cuBLAS has to judge is forwarded") {
  const auto reason_after = [](auto change) {
    GemmCall call = usual_call();
    change(call);
    return reason_of(call);
  };
  CHECK(reason_after([](GemmCall& call) { call.m = 0; }) == Reason::empty);
  CHECK(reason_after([](GemmCall& call) { call.k = -1; }) == Reason::bad_arguments);
  CHECK(reason_after([](GemmCall& call) { call.lda = 15; }) == Reason::bad_arguments);
  CHECK(reason_after([](GemmCall& call) { call.ldd = 23; }) == Reason::bad_arguments);
  CHECK(reason_after([](GemmCall& call) { call.op_b = 7; }) == Reason::bad_arguments);
  CHECK(reason_after([](GemmCall& call) { call.alpha = nullptr; }) == Reason::bad_arguments);
  CHECK(reason_after([](GemmCall& call) { call.d = memory + 1; }) == Reason::bad_arguments);       // not on an element
  CHECK(reason_after([](GemmCall& call) { call.epilogue = kEpilogueBias; }) == Reason::epilogue);  // where is it?
  CHECK(reason_after([](GemmCall& call) { call.epilogue = 128 | kEpilogueRelu; }) == Reason::epilogue);
  CHECK(reason_after([](GemmCall& call) { call.scale_a = memory; }) == Reason::scales);
  CHECK(reason_after([](GemmCall& call) { call.type_a = call.type_b = kE4m3; }) == Reason::precise_fp8);
}

namespace {

bool refused_with(const char* words, void (*change)(GemmCall&)) {
  GemmCall call = usual_call();
  change(call);
  std::string why;
  REQUIRE_FALSE(workload_line(key_that_is(call).problem, {tilesmith_problem_text, tilesmith_last_error}, why));
  INFO(why);
  return why.find(words) != std::string::npos;
}

}  // namespace

TEST_CASE("what no workload may hold is refused by the library's own judge, in a line that says why") {
  CHECK(refused_with("N is 536870912: expected 0 to 268435456",
      [](GemmCall& call) { call.m = std::int64_t{1} << 29, call.ldd = call.m; }));
  CHECK(refused_with("lda is 536870912: expected 16", [](GemmCall& call) { call.ldb = std::int64_t{1} << 29; }));
  CHECK(refused_with("batch is 2097152: expected 0 to 1048576",
      [](GemmCall& call) { call.batch_kind = BatchKind::strided, call.batch = 1 << 21, call.stride_d = 120; }));
  CHECK(refused_with("stride_c is 0: expected entries that do not overlap",
      [](GemmCall& call) { call.batch_kind = BatchKind::strided, call.batch = 2; }));
  CHECK(refused_with("epilogue is bias_n_f32: expected a bias of D's type", [](GemmCall& call) {
    call.type_a = call.type_b = call.type_d = call.scale_type = kF64, call.compute = kCompute64F;
    call.epilogue = kEpilogueBias, call.bias = memory, call.bias_type = kF32;
  }));
  CHECK(refused_with("epilogue is gelu_tanh: expected relu or none", [](GemmCall& call) {
    call.type_a = call.type_b = kS8, call.type_d = call.scale_type = kS32, call.compute = kCompute32I,
    call.epilogue = kEpilogueGelu;
  }));
}

TEST_CASE("the stride of a single row is in no key, nor in its line, and may be any") {
  const auto line_with = [](std::int64_t n, std::int64_t ldb, std::int64_t ldd) {
    GemmCall call = usual_call();
    call.n = n, call.ldb = ldb, call.ldd = ldd;
    return std::pair{key_that_is(call), line_of(call)};
  };
  const auto [key, line] = line_with(1, 16, 24);
  CHECK(line == "bf16f32bf16 NT 1 24 16");
  for (const std::int64_t context : {17, 147200, 1 << 29}) {
    CHECK(line_with(1, context, context + 24).first == key);
    CHECK(line_with(1, context, context + 24).second == line);
  }
  CHECK(line_with(2, 17, 24).second == "bf16f32bf16 NT 2 24 16 lda=17");
}

TEST_CASE("windows that slide over A or B are a problem, and so is one matrix for all entries") {
  GemmCall call = usual_call();
  call.batch_kind = BatchKind::strided, call.batch = 4;
  call.stride_a = 8, call.stride_b = 16, call.stride_d = 120;
  CHECK(line_of(call) == "bf16f32bf16 NT 5 24 16 batch=4 stride_a=16 stride_b=8 batch_mode=strided");
  call.stride_a = call.stride_b = 0;
  CHECK(line_of(call) == "bf16f32bf16 NT 5 24 16 batch=4 stride_a=0 stride_b=0 batch_mode=strided");
}
