// Results of s8 and e4m3: rounded to nearest, ties to even, and bounded, by every family and through the library.
#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "runtime/driver/device.hpp"
#include "runtime/interface/gemm.hpp"
#include "tests/catch.hpp"
#include "tests/gpu/family_sample.hpp"
#include "tests/gpu/small_store.hpp"
#include "tuner/verify/number_formats.hpp"

namespace tilesmith::test_byte_results {
using namespace tilesmith::test;

namespace {

/// D of M×1·1×1 products with K = 1: each of 256 operands by their bits, times 1, α and nothing else.
std::vector<std::byte> bytes_of(const char* type, int one, double alpha) {
  const runtime::Context context(0);
  LibraryOptions quiet;
  quiet.log_misses = false;
  const Library library = Library::without_database(quiet);
  const Problem problem = problem_of(fmt::format("{} NN 256 1 1", type));
  std::vector<std::byte> all(256), d(256);
  for (int bits = 0; bits < 256; ++bits) all[std::size_t(bits)] = std::byte(bits);
  runtime::DeviceBuffer a(256), b(1), out(256);
  a.upload(all);
  b.upload(std::vector{std::byte(one)});
  const runtime::Stream stream;
  context.synchronize();
  const GemmPlan plan = library.plan(problem);
  runtime::DeviceBuffer workspace;
  if (plan.workspace_bytes() > 0) workspace = runtime::DeviceBuffer(plan.workspace_bytes());
  plan.run(stream.get(), alpha, a.data(), b.data(), 0, out.data(), workspace.data());
  stream.synchronize();
  out.download(d);
  return d;
}

}  // namespace

TEST_CASE("a sample of every family passes the suite with results of a byte", "[gpu][bytes]") {
  const runtime::Context context(0);
  Signatures signatures;
  for (const auto& together : std::vector<std::vector<const char*>>{
           {"s8s32s8 NT epilogue=scale_m+scale_n", "s8s32s8 NN epilogue=bias_n+relu",
               "s8s32s8 TN epilogue=bias_m_f32+gelu", "s8s32s8 NT epilogue=bias_n+relu_squared",
               "s8s32s8 TT epilogue=c_apart", "s8s32s8 NT epilogue=swiglu", "s8s32s8 NN batch_mode=strided",
               "s8s32s8 NT batch_mode=grouped"},
           {"u8s32s8 NT epilogue=scale_n1+bias_n"},
           {"e4m3f32e4m3 NT epilogue=scale_m1+scale_n1", "e4m3f32e4m3 NN epilogue=bias_n+relu",
               "e4m3f32e4m3 TN epilogue=bias_m_f32+silu", "e4m3f32e4m3 TT epilogue=c_apart",
               "e4m3f32e4m3 NT epilogue=swiglu_interleaved", "e4m3f32e4m3 NT batch_mode=strided",
               "e4m3f32e4m3 NN batch_mode=grouped"},
           {"e5m2f32e4m3 NT epilogue=scale_m+scale_n+bias_n"}}) {
    auto& of_type = signatures.emplace_back();
    for (const char* text : together) of_type.push_back(signature_of(text));
  }
  verify_sample(context, 9, std::numeric_limits<double>::infinity(), signatures);
}

TEST_CASE("s8 results are rounded to nearest, ties to even, and bounded", "[gpu][bytes]") {
  for (const double alpha : {0.5, -0.5, 1.5, -3.0, 0.25}) {
    const std::vector<std::byte> d = bytes_of("s8s32s8", 1, alpha);
    for (int bits = 0; bits < 256; ++bits) {
      const double exact = alpha * double(static_cast<signed char>(bits));
      INFO(alpha << " times " << int(static_cast<signed char>(bits)));
      CHECK(int(static_cast<signed char>(d[std::size_t(bits)])) ==
            int(std::min(127.0, std::max(-128.0, std::nearbyint(exact)))));
    }
  }
}

TEST_CASE("e4m3 results are rounded to nearest, ties to even, and bounded, infinities too; NaN stays", "[gpu][bytes]") {
  constexpr int kOneOfE4m3 = 0x38, kOneOfE5m2 = 0x3c;
  for (const char* type : {"e4m3f32e4m3", "e5m2f32e4m3"}) {
    const Scalar operand = find_type_pair(type)->a;
    for (const double alpha : {1.0, 1.0625, -1.1875, 0x1p-8, 300.0}) {
      const std::vector<std::byte> d = bytes_of(type, operand == Scalar::e4m3 ? kOneOfE4m3 : kOneOfE5m2, alpha);
      for (int bits = 0; bits < 256; ++bits) {
        const std::byte stored{std::uint8_t(bits)};
        const double exact = alpha * tuner::decode(operand, &stored),
                     got = tuner::decode(Scalar::e4m3, &d[std::size_t(bits)]);
        INFO(type << ", " << alpha << " times " << exact / alpha << " is " << got);
        if (std::isnan(exact)) {
          CHECK(std::isnan(got));
        } else {
          std::byte wanted;
          tuner::encode(Scalar::e4m3, tuner::bounded(Scalar::e4m3, exact), &wanted);
          CHECK(got == tuner::decode(Scalar::e4m3, &wanted));
        }
      }
    }
  }
}

}  // namespace tilesmith::test_byte_results
