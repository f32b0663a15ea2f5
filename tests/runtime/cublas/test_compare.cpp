// TILESMITH_CUBLAS=check: which results count as different.
#include <cmath>
#include <cstring>
#include <limits>

#include "runtime/cublas/calls/gemm_call.hpp"
#include "runtime/cublas/serve/compare.hpp"
#include "tests/catch.hpp"

using namespace tilesmith::cublas;

namespace {

/// Two entries of 3 x 2 with a column stride of 4, all 1.
struct Results {
  GemmCall call;
  ProblemKey key;
  std::vector<float> ours = std::vector<float>(24, 1.0F), theirs = ours;

  Results() {
    call.m = 3;
    call.n = 2;
    call.k = 64;
    call.ldd = 4;
    call.batch_kind = BatchKind::strided;
    call.batch = 2;
    call.stride_d = 12;
    std::strcpy(key.problem.type, "f32f32");
  }
  Comparison compared() const {
    const auto bytes = [](const std::vector<float>& values) {
      std::vector<unsigned char> result(values.size() * sizeof(float));
      std::memcpy(result.data(), values.data(), result.size());
      return result;
    };
    return compare(call, key, bytes(ours), bytes(theirs));
  }
};

}  // namespace

TEST_CASE("results that sums in another order give are alike, others are not") {
  Results results;
  CHECK(results.compared().differing == 0);
  results.ours[5] = 1 + 1e-6F;
  CHECK(results.compared().differing == 0);
  results.ours[17] = 1.001F;  // entry 1, column 1, row 1
  const Comparison found = results.compared();
  CHECK(found.differing == 1);
  CHECK((found.entry == 1 && found.column == 1 && found.row == 1));
  CHECK(found.tolerance < 1e-4);
}

TEST_CASE("what lies between columns and entries is not compared") {
  Results results;
  results.ours[3] = results.ours[11] = 99;
  CHECK(results.compared().differing == 0);
}

TEST_CASE("NaN and infinities are in the same places") {
  Results results;
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  results.ours[0] = results.theirs[0] = NAN;
  results.ours[1] = results.theirs[1] = kInfinity;
  CHECK(results.compared().differing == 0);
  results.ours[2] = NAN;
  CHECK(results.compared().differing == 1);
  results.theirs[1] = -kInfinity;
  CHECK(results.compared().differing == 2);
  results.ours[4] = kInfinity;
  CHECK(results.compared().differing == 3);
}

TEST_CASE("narrow floats are read") {
  CHECK(from_f16(0x3C00) == 1);
  CHECK(from_f16(0xC000) == -2);
  CHECK(from_f16(0x0001) == std::ldexp(1.0F, -24));
  CHECK(from_f16(0x7BFF) == 65504);
  CHECK(std::isinf(from_f16(0x7C00)));
  CHECK(std::isnan(from_f16(0x7E00)));
}
