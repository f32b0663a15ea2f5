// What kernels do behind α·AB + β·C: a sample of every family, and what the library's interface makes of it.
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "runtime/driver/device.hpp"
#include "runtime/interface/gemm.hpp"
#include "tests/catch.hpp"
#include "tests/gpu/device_problem.hpp"
#include "tests/gpu/family_sample.hpp"
#include "tests/gpu/small_store.hpp"

namespace tilesmith::test_epilogue {
using namespace tilesmith::test;

namespace {

Library quiet_library() {
  LibraryOptions quiet;
  quiet.log_misses = false;
  return Library::without_database(quiet);
}

/// f32 in device memory.
runtime::DeviceBuffer upload(const std::vector<float>& values) {
  runtime::DeviceBuffer buffer(values.size() * sizeof(float));
  buffer.upload(std::as_bytes(std::span(values)));
  return buffer;
}

}  // namespace

TEST_CASE("a sample of every family passes the suite with epilogues of every kind", "[gpu][epilogue]") {
  const runtime::Context context(0);
  Signatures signatures;
  for (const auto& together :
      std::vector<std::vector<const char*>>{{"bf16f32bf16 NT epilogue=bias_n+gelu", "bf16f32bf16 NN epilogue=c_apart",
                                                "bf16f32bf16 TN epilogue=scale_m+scale_n+bias_m_f32"},
          {"f16f32f16 NN epilogue=bias_m_f32+silu", "f16f32f16 TT epilogue=bias_n_f32+relu",
              "f16f32f16 NT epilogue=bias_n+relu_squared"},
          {"f16f16 TN epilogue=bias_n+gelu_tanh", "f16f16 NT epilogue=scale_m+scale_n1+bias_m"},
          {"f16f32 TT epilogue=bias_m+relu", "f16f32 NT epilogue=scale_n+gelu_tanh"},
          {"bf16f32 NN epilogue=c_apart", "bf16f32 NT epilogue=relu_squared"},
          {"tf32f32 NN epilogue=bias_n+relu", "tf32f32 NT epilogue=bias_m+gelu", "tf32f32 TN epilogue=silu"},
          {"s8s32 NT epilogue=bias_n+relu"}, {"u8s32 TN epilogue=bias_m"},
          {"s8s32bf16 NT epilogue=scale_m+scale_n", "s8s32bf16 TN epilogue=bias_n_f32+gelu"},
          {"s8s32f16 NN epilogue=scale_m1+bias_m+relu", "s8s32f16 NT epilogue=scale_m+relu_squared"},
          {"u8s32bf16 NT epilogue=c_apart"}, {"f32f32 NT epilogue=scale_n+bias_n+silu"},
          {"e4m3f32bf16 NT epilogue=bias_n_f32+gelu", "e4m3f32bf16 NT epilogue=scale_m+scale_n",
              "e4m3f32bf16 NT epilogue=scale_m1+scale_n1"},
          {"e5m2f32 NT epilogue=bias_m+silu"},
          {"f64f64 TN epilogue=bias_n+relu", "f64f64 NN epilogue=bias_m+gelu", "f64f64 NT epilogue=relu_squared"}}) {
    auto& of_type = signatures.emplace_back();
    for (const char* text : together) of_type.push_back(signature_of(text));
  }
  verify_sample(context, 12, std::numeric_limits<double>::infinity(), signatures);
}

TEST_CASE("a sample of every family passes the suite with scales of blocks of K", "[gpu][epilogue][block_scales]") {
  const runtime::Context context(0);
  Signatures signatures;
  for (const auto& together : std::vector<std::vector<const char*>>{
           {"e4m3f32bf16 NT epilogue=scale_m_1x128+scale_n_128x128",
               "e4m3f32bf16 NT epilogue=scale_m_1x128+scale_n_1x128",
               "e4m3f32bf16 NN epilogue=scale_m_128x128+scale_n_1x128+bias_n+silu",
               "e4m3f32bf16 NT epilogue=scale_m_1x128+scale_n_128x128 batch_mode=strided",
               "e4m3f32bf16 NT epilogue=scale_m_1x128+scale_n_128x128 batch_mode=grouped",
               "e4m3f32bf16 NT epilogue=scale_m_1x128+scale_n_128x128+swiglu",
               "e4m3f32bf16 NT epilogue=scale_m_1x128+scale_n_1x128+bias_n+swiglu_interleaved"},
           {"e4m3f32 TN epilogue=scale_m_128x128+scale_n_128x128"},
           {"e5m2f32f16 TT epilogue=scale_m_1x128+scale_n_128x128"},
           {"s8s32bf16 NT epilogue=scale_m_1x128+scale_n_128x128",
               "s8s32bf16 NN epilogue=scale_m_1x128+scale_n_1x128+bias_n+silu",
               "s8s32bf16 NT epilogue=scale_m_1x128+scale_n_128x128 batch_mode=strided",
               "s8s32bf16 NT epilogue=scale_m_1x128+scale_n_128x128 batch_mode=grouped",
               "s8s32bf16 NT epilogue=scale_m_1x128+scale_n_128x128+swiglu"},
           {"s8s32f16 TT epilogue=scale_m_128x128+scale_n_1x128"}}) {
    auto& of_type = signatures.emplace_back();
    for (const char* text : together) of_type.push_back(signature_of(text));
  }
  verify_sample(context, 24, std::numeric_limits<double>::infinity(), signatures);
}

TEST_CASE("a sample of every family passes the suite with gated columns", "[gpu][epilogue][gate]") {
  const runtime::Context context(0);
  Signatures signatures;
  for (const auto& together :
      std::vector<std::vector<const char*>>{{"bf16f32bf16 NT epilogue=swiglu", "bf16f32bf16 NN epilogue=bias_n+swiglu",
                                                "bf16f32bf16 TT epilogue=scale_m+scale_n+bias_m+swiglu_interleaved"},
          {"f16f32f16 NT epilogue=bias_n_f32+swiglu", "f16f32f16 TN epilogue=swiglu_interleaved"},
          {"f16f16 NT epilogue=bias_n+swiglu_interleaved"}, {"f16f32 NT epilogue=scale_n+swiglu"},
          {"tf32f32 NT epilogue=bias_n+swiglu", "tf32f32 NN epilogue=swiglu_interleaved"},
          {"s8s32bf16 NT epilogue=scale_m+scale_n+swiglu", "s8s32f16 NT epilogue=swiglu_interleaved"},
          {"e4m3f32bf16 NT epilogue=scale_m1+scale_n1+swiglu"}, {"f64f64 NT epilogue=bias_m+swiglu"},
          {"bf16f32bf16 NT epilogue=bias_n+swiglu batch_mode=strided",
              "bf16f32bf16 NN epilogue=swiglu_interleaved batch_mode=strided"}}) {
    auto& of_type = signatures.emplace_back();
    for (const char* text : together) of_type.push_back(signature_of(text));
  }
  verify_sample(context, 10, std::numeric_limits<double>::infinity(), signatures);
}

TEST_CASE(
    "the library gates NaN and infinities as x·σ(x)·y has it, in halves and interleaved", "[gpu][epilogue][gate]") {
  const runtime::Context context(0);
  const runtime::Stream stream;
  const Library library = quiet_library();
  const float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> bias{
      nan, inf, -inf, 0, 1, -1, 30, -30, 2, 3, 1, inf, nan, -2, 0.5F, -4};  // the product is 0
  const auto n = std::int64_t(bias.size());
  const runtime::DeviceBuffer zeros = upload(std::vector<float>(bias.size() * bias.size())), values = upload(bias);
  for (const bool interleaved : {false, true}) {
    const Problem problem = packed_problem(signature_of(interleaved ? "tf32f32 NN epilogue=bias_n+swiglu_interleaved"
                                                                    : "tf32f32 NN epilogue=bias_n+swiglu"),
        n, n, n);
    runtime::DeviceBuffer d(bias.size() * bias.size() / 2 * sizeof(float));
    context.synchronize();
    Operands operands;
    operands.a = operands.b = zeros.data();
    operands.d = d.data();
    operands.bias = values.data();
    library.gemm(stream.get(), problem, operands);
    stream.synchronize();
    std::vector<float> got(bias.size() * bias.size() / 2);
    d.download(std::as_writable_bytes(std::span(got)));
    for (std::size_t i = 0; i < got.size(); ++i) {
      const std::size_t pair = i % (bias.size() / 2);
      const double x = bias[interleaved ? 2 * pair : pair],
                   y = bias[interleaved ? 2 * pair + 1 : pair + bias.size() / 2];
      const double want = x / (1 + std::exp(-x)) * y;
      INFO("of " << x << ", " << y << ": " << got[i]);
      if (std::isnan(want)) CHECK(std::isnan(got[i]));
      else if (std::isinf(want)) CHECK(double(got[i]) == want);
      else CHECK(std::abs(got[i] - want) <= 2e-6 + 1e-6 * std::abs(want));
    }
  }
}

TEST_CASE("what an epilogue makes of NaN and infinities is what its header says", "[gpu][epilogue]") {
  const runtime::Context context(0);
  const runtime::Stream stream;
  const Library library = quiet_library();
  const float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  // The product is 0; the bias brings the values.
  const std::vector<float> bias{nan, inf, -inf, 0, -0.0F, 1, -1, 100, -100, 3e38F, -3e38F, 1e-30F, 8, -8, 4, -4};
  const auto size = std::int64_t(bias.size());
  const runtime::DeviceBuffer zeros = upload(std::vector<float>(bias.size() * bias.size())), values = upload(bias);
  runtime::DeviceBuffer d(bias.size() * bias.size() * sizeof(float));
  context.synchronize();
  for (const ActivationRow& row : kActivations) {
    if (row.gate != Gate::none) continue;
    INFO(row.name);
    Problem problem = packed_problem(signature_of("tf32f32 NN epilogue=bias_n"), size, size, size);
    problem.epilogue.activation = row.value;
    Operands operands;
    operands.a = operands.b = zeros.data();
    operands.d = d.data();
    operands.bias = values.data();
    library.gemm(stream.get(), problem, operands);
    stream.synchronize();
    std::vector<float> got(bias.size() * bias.size());
    d.download(std::as_writable_bytes(std::span(got)));
    for (std::size_t i = 0; i < got.size(); ++i) {
      const double x = bias[i % bias.size()];
      INFO("of " << x << ": " << got[i]);
      const double want = float(row.reference(x, 0));
      if (std::isnan(want)) CHECK(std::isnan(got[i]));
      else if (std::isinf(want)) CHECK(double(got[i]) == want);
      else CHECK(std::abs(got[i] - want) <= 2e-6 + 1e-6 * std::abs(want));
    }
  }
}

TEST_CASE("the library adds a bias to C that lies apart, at any alignment, and leaves C as it is", "[gpu][epilogue]") {
  const runtime::Context context(0);
  const runtime::Stream stream;
  const Library library = quiet_library();
  for (const char* text : {"tf32f32 NT 70 50 30 epilogue=bias_n", "tf32f32 NN 128 256 64 epilogue=bias_m",
           "tf32f32 TN 1 96 512 epilogue=bias_n", "tf32f32 NT 16 4096 4096 epilogue=bias_n",
           "tf32f32 TT 300 1 2000 beta=any epilogue=c_apart"}) {
    INFO(text);
    Problem problem = problem_of(text);
    problem.beta = BetaClass::any;
    DeviceProblem data(problem), apart(problem);  // alike: C's values are known by what `apart` expects
    std::vector<float> values(std::size_t(std::max(problem.m, problem.n)) + 1);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = float(int(i * 7 % 31) - 15);  // no two neighbours alike
    const runtime::DeviceBuffer bias = upload(values);
    apart.poison_c();
    context.synchronize();
    Operands operands;
    operands.alpha = 2;
    operands.beta = 3;
    operands.a = data.a();
    operands.b = data.b();
    operands.c = data.c();
    operands.d = apart.c();
    operands.bias = bias.data() + sizeof(float);  // aligned to an element alone
    library.gemm(stream.get(), problem, operands);
    stream.synchronize();
    CHECK(apart.max_error(2, 3, [&](std::int64_t i, std::int64_t j) {
      const Bias along = problem.epilogue.bias;
      return along == Bias::none ? 0.0 : double(values[std::size_t(along == Bias::along_n ? j : i) + 1]);
    }) == 0);
    CHECK(data.max_error(0, 1) == 0);
  }
}

}  // namespace tilesmith::test_epilogue
