#include <cmath>
#include <map>
#include <set>
#include <vector>

#include "tests/catch.hpp"
#include "tests/tuner/verify/stored_dot.hpp"
#include "tuner/verify/exact_data.hpp"
#include "tuner/verify/number_formats.hpp"

using namespace tilesmith;
using namespace tilesmith::tuner;

namespace {

constexpr std::int64_t kDepths[] = {1, 2, 17, 200, 511, 512, 513, 1000, 4096, 16384, 65536};

double as_multiplied(Scalar element, double value) {
  std::byte stored[8];
  encode(element, value, stored);
  return decode_operand(element, stored);
}

/// Whether the format holds the value without rounding.
bool representable(Scalar element, double value) {
  std::byte stored[8];
  encode(element, value, stored);
  return decode(element, stored) == value;
}

const TypePair& pair_of(const char* name) { return *find_type_pair(name); }

}  // namespace

TEST_CASE("in exact data no partial sum, in any order, leaves what accumulator and output hold exactly") {
  for (const TypePair& type : type_pairs()) {
    if (is_integer(type.a)) continue;  // wraps
    const ExactLimits limits = exact_limits(type);
    for (std::int64_t k : kDepths) {
      const StageRules rules = stage_rules(packed_problem({type, {}}, 64, 32, k), Stage::exact, 9);
      for (std::int64_t row : {0, 1, 63}) {
        double magnitude = 0;
        for (std::int64_t i = 0; i < k; ++i) {
          const double a = rule_value(rules.a, row, i, k), b = rule_value(rules.b, row % 32, i, k);
          REQUIRE(as_multiplied(type.a, a) == a);
          REQUIRE(as_multiplied(type.a, b) == b);
          magnitude += std::abs(a * b);
        }
        INFO(type.name << " K " << k << " row " << row);
        CHECK(magnitude > 0);
        CHECK(magnitude <= limits.sum_limit);
      }
    }
    for (const Scales& scales : exact_scales(type)) {
      // The extremes of sum and c, and their neighbours one step of the grid away.
      for (double sum : {limits.sum_limit, limits.sum_limit - 1, -limits.sum_limit, 1.0, 3.0}) {
        for (double c : {double(limits.c_range), -double(limits.c_range), 1.0, -3.0}) {
          if (std::abs(c) > limits.c_range) continue;
          INFO(type.name << " α=" << scales.alpha << " β=" << scales.beta << " sum " << sum << " c " << c);
          CHECK(representable(type.accumulator, sum));
          CHECK(representable(type.output, scaled(type, scales, sum, c)));
          CHECK(representable(type.scale, scales.alpha * sum));
          CHECK(representable(type.scale, scales.beta * c));
        }
      }
    }
  }
}

TEST_CASE("the integers that tf32 must round stay exact after rounding, and truncation changes half of them") {
  const TypePair& type = pair_of("tf32f32");
  for (std::int64_t k : {1, 64, 521, 1024}) {
    REQUIRE(stage_applies(packed_problem({type, {}}, 64, 64, k), Stage::wide_a));
    const StageRules rules = stage_rules(packed_problem({type, {}}, 8, 8, k), Stage::wide_a, 4);
    double sum = 0;
    int truncated_differently = 0;
    for (std::int64_t i = 0; i < k; ++i) {
      const double a = rule_value(rules.a, 3, i, k), b = rule_value(rules.b, 3, i, k);
      const double rounded = as_multiplied(Scalar::tf32, a);
      CHECK(rounded != a);
      CHECK(std::abs(rounded - a) == 1);  // never a tie
      CHECK(std::fmod(rounded, 4) == 0);
      truncated_differently += std::trunc(a / 4) * 4 != rounded;
      sum += std::abs(rounded * b);
    }
    if (k >= 64) CHECK(truncated_differently > k / 4);
    CHECK(sum <= 8388608);  // multiples of 4, so 2^21 steps
  }
  CHECK_FALSE(stage_applies(packed_problem({type, {}}, 64, 64, 4096), Stage::wide_a));
  CHECK_FALSE(stage_applies(packed_problem({pair_of("f16f32"), {}}, 64, 64, 16), Stage::wide_a));
  CHECK_FALSE(stage_applies(packed_problem({pair_of("s8s32"), {}}, 64, 64, 16), Stage::real));
}

TEST_CASE("the integers that tf32 must round are exact in f32, and so are their sums") {
  const TypePair& type = pair_of("f32f32");
  for (std::int64_t k : {1, 64, 256}) {
    REQUIRE(stage_applies(packed_problem({type, {}}, 64, 64, k), Stage::wide_b));
    const StageRules rules = stage_rules(packed_problem({type, {}}, 8, 8, k), Stage::wide_b, 4);
    double sum = 0;
    for (std::int64_t i = 0; i < k; ++i) {
      const double a = rule_value(rules.a, 3, i, k), b = rule_value(rules.b, 3, i, k);
      CHECK(as_multiplied(Scalar::f32, b) == b);
      CHECK(as_multiplied(Scalar::tf32, b) != b);
      CHECK(a != 0);
      sum += std::abs(a * b);
    }
    CHECK(sum <= 2097152);  // three bits to spare for α and β
  }
  CHECK_FALSE(stage_applies(packed_problem({type, {}}, 64, 64, 257), Stage::wide_a));
}

TEST_CASE("exact data of an output narrower than its accumulator is exact in it for large K too, and not trivial") {
  for (const char* name : {"f16f32f16", "bf16f32bf16"}) {
    const TypePair& type = pair_of(name);
    for (std::int64_t k : {33, 521, 4096, 16384}) {
      const StageRules rules = stage_rules(packed_problem({type, {}}, 64, 64, k), Stage::exact, 5);
      std::set<double> sums;
      double c_used = 0;
      for (std::int64_t element = 0; element < 64; ++element) {
        double sum = 0;
        for (std::int64_t i = 0; i < k; ++i) {
          sum += rule_value(rules.a, element, i, k) * rule_value(rules.b, 63 - element, i, k);
          REQUIRE(representable(type.output, sum));
        }
        const double c = rule_value(rules.c, element, element, 64);
        for (const Scales& scales : exact_scales(type)) {
          REQUIRE(representable(type.output, scaled(type, scales, sum, c)));
          CHECK(expected_value({type, {}}, Stage::exact, scales, sum, c) == scaled(type, scales, sum, c));
        }
        sums.insert(sum);
        c_used = std::max(c_used, std::abs(c));
      }
      INFO(name << " K " << k);
      CHECK(sums.size() > 10);
      CHECK(c_used > 4);
    }
  }
}

TEST_CASE("in the stage whose results the output rounds, sums are exact in the accumulator and results stay finite") {
  for (const char* name : {"f16f32f16", "bf16f32bf16"}) {
    const TypePair& type = pair_of(name);
    const ExactLimits limits = wide_c_limits(type);
    for (std::int64_t k : {1, 33, 200, 521, 4096, 65536}) {
      if (!stage_applies(packed_problem({type, {}}, 64, 64, k), Stage::wide_c)) continue;
      const StageRules rules = stage_rules(packed_problem({type, {}}, 64, 64, k), Stage::wide_c, 9);
      INFO(name << " K " << k);
      CHECK(rules.a.group == 1);  // dense
      CHECK(rules.b.group == 1);
      double magnitude = 0;
      for (std::int64_t i = 0; i < k; ++i) {
        const double a = rule_value(rules.a, 5, i, k), b = rule_value(rules.b, 7, i, k);
        REQUIRE(as_multiplied(type.a, a) == a);
        REQUIRE(as_multiplied(type.a, b) == b);
        REQUIRE(a * b != 0);
        magnitude += std::abs(a * b);
      }
      CHECK(magnitude <= limits.sum_limit);
    }
    for (const Scales& scales : exact_scales(type)) {
      for (double sum : {limits.sum_limit, limits.sum_limit - 1, -limits.sum_limit, 1.0, 3.0}) {
        for (double c : {double(limits.c_range), -double(limits.c_range), 1.0, -3.0}) {
          if (std::abs(c) > limits.c_range) continue;
          INFO(name << " α=" << scales.alpha << " β=" << scales.beta << " sum " << sum << " c " << c);
          CHECK(representable(type.accumulator, sum));
          CHECK(representable(type.output, c));
          CHECK(representable(type.scale, scales.alpha * sum));
          CHECK(representable(type.scale, scaled(type, scales, sum, c)));
          CHECK(std::isfinite(expected_value({type, {}}, Stage::wide_c, scales, sum, c)));
        }
      }
    }
  }
  CHECK(stage_applies(packed_problem({pair_of("bf16f32bf16"), {}}, 64, 64, 65536), Stage::wide_c));
  CHECK(stage_applies(packed_problem({pair_of("f16f32f16"), {}}, 64, 64, 200), Stage::wide_c));
  CHECK_FALSE(stage_applies(packed_problem({pair_of("f16f32f16"), {}}, 64, 64, 521),
      Stage::wide_c));  // an f16 would overflow or hold nearly all
  for (const char* name : {"f16f32", "f16f16", "bf16f32", "tf32f32", "s8s32", "f64f64"})
    CHECK_FALSE(stage_applies(packed_problem({pair_of(name), {}}, 64, 64, 16), Stage::wide_c));
}

TEST_CASE("enough results of that stage are rounded for truncation to show, and most still tell a product left out") {
  for (const auto& [name, k] : {std::pair{"f16f32f16", 33}, std::pair{"f16f32f16", 200}, std::pair{"bf16f32bf16", 33},
           std::pair{"bf16f32bf16", 4096}}) {
    const TypePair& type = pair_of(name);
    const StageRules rules = stage_rules(packed_problem({type, {}}, 64, 64, k), Stage::wide_c, 3);
    int rounded = 0, up = 0, dropped = 0;
    for (std::int64_t element = 0; element < 1600; ++element) {
      double sum = 0;
      for (std::int64_t i = 0; i < k; ++i)
        sum += rule_value(rules.a, element / 40, i, k) * rule_value(rules.b, element % 40, i, k);
      const double expected = expected_value({type, {}}, Stage::wide_c, {1, 0}, sum, 0);
      rounded += expected != sum;
      up += std::abs(expected) > std::abs(sum);
      const double last = rule_value(rules.a, element / 40, k - 1, k) * rule_value(rules.b, element % 40, k - 1, k);
      dropped += expected_value({type, {}}, Stage::wide_c, {1, 0}, sum - last, 0) != expected;
    }
    INFO(name << " K " << k << ": of 1600 results " << rounded << " are rounded, " << up << " of them up, and "
              << dropped << " change without the last product");
    CHECK(dropped > 1200);
    CHECK(rounded >= 2);
    CHECK(up >= 1);
  }
}

TEST_CASE("dense exact operands hold no zero, so that a product left out always shows") {
  for (const auto& [name, depth] :
      {std::pair{"f16f32", 300}, std::pair{"f16f16", 300}, std::pair{"f16f32f16", 300}, std::pair{"bf16f32", 300},
          std::pair{"bf16f32bf16", 120}, std::pair{"tf32f32", 300}, std::pair{"f64f64", 300}}) {
    const StageRules rules = stage_rules(packed_problem({pair_of(name), {}}, 50, 40, depth), Stage::exact, 2);
    for (std::int64_t i = 0; i < 50; ++i) {
      for (std::int64_t k = 0; k < depth; ++k) {
        REQUIRE(rule_value(rules.a, i, k, depth) != 0);
        REQUIRE(rule_value(rules.b, i, k, depth) != 0);
      }
    }
  }
}

TEST_CASE("sparse exact operands have one nonzero in every group, and over the rows reach every k") {
  const std::int64_t k = 4099;
  for (const char* name : {"f16f16", "bf16f32bf16"}) {
    const TypePair& type = pair_of(name);
    const StageRules rules = stage_rules(packed_problem({type, {}}, 512, 16, k), Stage::exact, 3);
    REQUIRE(rules.a.group > 1);
    CHECK(rules.b.group == 1);
    std::set<std::int64_t> reached;
    for (std::int64_t row = 0; row < 512; ++row) {
      std::map<std::int64_t, int> in_group;
      for (std::int64_t i = 0; i < k; ++i) {
        if (rule_value(rules.a, row, i, k) == 0) continue;
        ++in_group[i / rules.a.group];
        reached.insert(i);
      }
      CHECK(std::int64_t(in_group.size()) == (k + rules.a.group - 1) / rules.a.group);
      for (const auto& [group, count] : in_group) CHECK(count == 1);
    }
    CHECK(std::int64_t(reached.size()) == k);
    CHECK(rule_value(rules.a, 0, k - 1, k) != 0);
    CHECK(rule_value(rules.a, 0, 0, k) != 0);
    // Where C is wide rather than tall, B is the sparse one.
    CHECK(stage_rules(packed_problem({type, {}}, 1, 512, k), Stage::exact, 3).a.group == 1);
    CHECK(stage_rules(packed_problem({type, {}}, 1, 512, k), Stage::exact, 3).b.group > 1);
  }
}

TEST_CASE("8-bit operands use their whole range") {
  for (const auto& [name, least, most] : {std::tuple{"s8s32", -128.0, 127.0}, std::tuple{"u8s32", 0.0, 255.0}}) {
    const StageRules rules = stage_rules(packed_problem({pair_of(name), {}}, 64, 64, 64), Stage::exact, 1);
    std::set<double> seen;
    for (std::int64_t i = 0; i < 64; ++i) {
      for (std::int64_t k = 0; k < 64; ++k) seen.insert(rule_value(rules.a, i, k, 64));
    }
    CHECK(*seen.begin() == least);
    CHECK(*seen.rbegin() == most);
    CHECK(seen.size() > 250);
  }
}

TEST_CASE("the scales hold 0, 1 and other values of both α and β, in every combination") {
  for (const TypePair& type : type_pairs()) {
    std::set<std::pair<int, int>> classes;
    const auto class_of = [](double value) { return value == 0 ? 0 : value == 1 ? 1 : 2; };
    for (const Scales& scales : exact_scales(type)) classes.insert({class_of(scales.alpha), class_of(scales.beta)});
    const bool small = makes_integers_real(type);  // no α of 1: what f16 holds would be passed
    CHECK(classes.size() == (small ? 6 : 9));
    CHECK((small || exact_scales(type)[0].alpha == 1));
    CHECK(exact_scales(type)[0].beta == 0);
  }
}

TEST_CASE("the host's reference agrees with sums written out by hand") {
  const OpMatrix a{2, 3, {1, 2, 3, 4, 5, 6}}, b{3, 2, {7, 8, 9, 10, 11, 12}};
  CHECK(multiply(a, b) == std::vector<double>{58, 64, 139, 154});
  const TypePair& f32 = pair_of("f16f32");
  CHECK(scaled(f32, {2, -1}, 58, 10) == 106);
  CHECK(scaled(f32, {1, 0}, 58, std::nan("")) == 58);  // β = 0 does not look at c
  CHECK(scaled(f32, {0, 3}, std::nan(""), 2) == 6);    // α = 0 does not look at the sum
  const TypePair& s32 = pair_of("s8s32");
  CHECK(scaled(s32, {1, 0}, 4294967296.0 + 5, 0) == 5);
  CHECK(scaled(s32, {2, 1}, 1073741824.0, 0) == -2147483648.0);
  CHECK(scaled(s32, {-5, 7}, 3, -4) == -43);
  CHECK(wrapped_s32(3000000000.0) == -1294967296);
}

TEST_CASE("what a byte cannot hold is expected as its nearest end, of a gate behind it and not before") {
  const KernelSignature s8{pair_of("s8s32s8"), {}}, e4m3{pair_of("e4m3f32e4m3"), {}};
  CHECK(expected_value(s8, Stage::exact, {0.5, 0}, 400, 0) == 127);
  CHECK(expected_value(s8, Stage::exact, {0.5, 1}, -400, 20) == -128);
  CHECK(expected_value(s8, Stage::exact, {0.5, 0}, 5, 0) == 2.5);  // what it must be near by 0.5
  CHECK(tolerance(packed_problem(s8, 64, 64, 16), Stage::exact, {0x1p-9, 0}).absolute == Approx(0.5).epsilon(1e-3));
  CHECK(expected_value(e4m3, Stage::exact, {2, 0}, -1000, 0) == -448);
  CHECK(expected_value(e4m3, Stage::exact, {1, 0}, 17, 0) == 16);  // exactly: ties to even
  CHECK(tolerance(packed_problem(e4m3, 64, 64, 16), Stage::exact, {1, 0}).absolute == 0);
  CHECK(std::isnan(bounded(Scalar::e4m3, std::nan(""))));
  Problem gated = packed_problem(KernelSignature{pair_of("s8s32s8"), {}}, 1, 2, 1);
  gated.epilogue.activation = Activation::swiglu;
  const auto of = [&](double x, double y) {
    return expected_pair(
        gated, Stage::exact, {1, 0}, 0, 0, [&](std::int64_t n) { return n == 0 ? x : y; },
        [](OperandRole, std::int64_t) { return 0.0; });
  };
  CHECK(of(1000, 0.01) == Approx(10));
  CHECK(of(1000, 2) == 127);
}

TEST_CASE("the definition of an element follows transposes and leading dimensions") {
  // op(A) = [[1, 2, 3], [4, 5, 6]], op(B) = [[7, 8], [9, 10], [11, 12]]
  const std::vector<std::vector<float>> as = {{1, 2, 3, -1, 4, 5, 6, -1}, {1, 4, -1, 2, 5, -1, 3, 6, -1}};
  const std::vector<std::vector<float>> bs = {{7, 8, -1, 9, 10, -1, 11, 12, -1}, {7, 9, 11, -1, 8, 10, 12, -1}};
  const double want[2][2] = {{58, 64}, {139, 154}};
  for (Transposes trans : kAllTransposes) {
    Problem problem = packed_problem({pair_of("tf32f32"), trans}, 2, 2, 3);
    problem.lda += 1;
    problem.ldb += 1;
    const auto* a = reinterpret_cast<const std::byte*>(as[trans.a].data());
    const auto* b = reinterpret_cast<const std::byte*>(bs[trans.b].data());
    for (int i = 0; i < 2; ++i) {
      for (int j = 0; j < 2; ++j) {
        INFO(name(trans) << " " << i << " " << j);
        CHECK(dot(problem, a, b, i, j) == want[i][j]);
      }
    }
  }
}
