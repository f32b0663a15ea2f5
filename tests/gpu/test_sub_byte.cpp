// Operands of 4 bits and of one, by every family and through the library.
#include <limits>
#include <vector>

#include "runtime/driver/device.hpp"
#include "runtime/interface/gemm.hpp"
#include "tests/catch.hpp"
#include "tests/gpu/family_sample.hpp"
#include "tests/gpu/small_store.hpp"
#include "tests/tuner/verify/stored_dot.hpp"
#include "tuner/verify/number_formats.hpp"

namespace tilesmith::test_sub_byte {
using namespace tilesmith::test;

TEST_CASE("a sample of every family passes the suite with operands below a byte", "[gpu][sub_byte]") {
  const runtime::Context context(0);
  Signatures signatures;
  for (const char* type : {"s4s32", "u4s32", "b1s32", "b1xors32"}) {
    auto& of_type = signatures.emplace_back();
    for (const Transposes trans : kAllTransposes) of_type.push_back({*find_type_pair(type), trans});
    for (const char* options : {"NT epilogue=bias_n+relu", "NN batch_mode=strided", "NT batch_mode=pointers",
             "NN batch_mode=grouped", "TN scalars=device"})
      of_type.push_back(signature_of(fmt::format("{} {}", type, options)));
  }
  verify_sample(context, 9, std::numeric_limits<double>::infinity(), signatures);
}

TEST_CASE(
    "the library multiplies operands below a byte, the element of lower index in the lower bits, whatever lies beside K",
    "[gpu][sub_byte]") {
  const runtime::Context context(0);
  LibraryOptions quiet;
  quiet.log_misses = false;
  const Library library = Library::without_database(quiet);
  std::vector<std::string> texts{"b1xors32 TT 8 24 9"};
  for (const char* type : {"s4s32", "u4s32", "b1s32", "b1xors32"}) {
    for (const Transposes trans : kAllTransposes) texts.push_back(fmt::format("{} {} 33 20 301", type, name(trans)));
  }
  for (const std::string& text : texts) {
    const Problem problem = problem_of(text);
    std::vector<std::byte> a(std::size_t(problem.a_bytes())), b(std::size_t(problem.b_bytes()));
    std::uint64_t state = 7;
    for (std::vector<std::byte>* matrix : {&a, &b}) {
      for (std::byte& byte : *matrix)
        byte = std::byte(std::uint8_t((state = state * 6364136223846793005u + 1442695040888963407u) >> 56));
    }
    runtime::DeviceBuffer on_a(a.size()), on_b(b.size()), out(std::size_t(problem.c_bytes()));
    on_a.upload(a);
    on_b.upload(b);
    const runtime::Stream stream;
    context.synchronize();
    const GemmPlan plan = library.plan(problem);
    runtime::DeviceBuffer workspace;
    if (plan.workspace_bytes() > 0) workspace = runtime::DeviceBuffer(plan.workspace_bytes());
    plan.run(stream.get(), 1, on_a.data(), on_b.data(), 0, out.data(), workspace.data());
    stream.synchronize();
    std::vector<std::byte> d(out.size());
    out.download(d);
    INFO(text);
    int wrong = 0;
    for (std::int64_t i = 0; i < problem.m; ++i) {
      for (std::int64_t j = 0; j < problem.n; ++j)
        wrong += tuner::decode(Scalar::s32, d.data() + (i * problem.ldc + j) * 4) !=
                 tuner::dot(problem, a.data(), b.data(), i, j);
    }
    CHECK(wrong == 0);
  }
}

}  // namespace tilesmith::test_sub_byte
