#include <cstring>
#include <vector>

#include "tests/catch.hpp"
#include "tests/tuner/verify/stored_dot.hpp"
#include "tuner/verify/exact_data.hpp"
#include "tuner/verify/freivalds.hpp"
#include "tuner/verify/number_formats.hpp"

using namespace tilesmith;
using namespace tilesmith::tuner;

namespace {

/// A small problem as stored, and its sums by definition.
struct Case {
  Problem problem;
  std::vector<std::byte> a, b;
  std::vector<double> sums;

  Case(const char* type, Transposes trans, Stage stage)
      : problem(packed_problem({*find_type_pair(type), trans}, 23, 19, 37)) {
    const auto of_byte = std::max<std::int64_t>(1, 8 / std::int64_t(size_bits(problem.type.a)));
    problem.lda += 3 * of_byte;
    problem.ldb += of_byte;
    const StageRules rules = stage_rules(problem, stage, 8);
    a = stored(rules.a, problem.a_rows(), problem.a_cols(), problem.lda, trans.a);
    b = stored(rules.b, problem.b_rows(), problem.b_cols(), problem.ldb, !trans.b);
    for (int i = 0; i < 23; ++i) {
      for (int j = 0; j < 19; ++j) sums.push_back(dot(problem, a.data(), b.data(), i, j));
    }
  }

  std::vector<std::byte> stored(
      const ValueRule& rule, std::int64_t rows, std::int64_t cols, std::int64_t stride, bool k_is_row) const {
    std::vector<std::byte> result(std::size_t(storage_bytes(problem.type.a, rows * stride)), std::byte{0xff});
    for (std::int64_t r = 0; r < rows; ++r) {
      for (std::int64_t c = 0; c < cols; ++c) {
        encode_at(problem.type.a, k_is_row ? rule_value(rule, c, r, 37) : rule_value(rule, r, c, 37), result.data(),
            r * stride + c);
      }
    }
    return result;
  }

  /// Calls add(stripe) for stripes of so many rows of a matrix.
  template <typename Add>
  static void feed(Scalar element, const std::vector<std::byte>& matrix, std::int64_t count, std::int64_t cols,
      std::int64_t stride, std::int64_t stripe_rows, Add add) {
    const auto row_bytes = std::size_t(storage_bytes(element, stride));
    for (std::int64_t first = 0; first < count; first += stripe_rows) {
      add(RowStripe{element, first, std::min(stripe_rows, count - first), cols, stride,
          matrix.data() + std::size_t(first) * row_bytes});
    }
  }

  /// The check over rows of C, with the operands fed in stripes of five rows.
  template <typename Word>
  Freivalds<Word> with_operands(const std::vector<std::int64_t>& rows) const {
    Freivalds<Word> check(problem, rows, 77);
    const Scalar operand = problem.type.a;
    feed(operand, b, problem.b_rows(), problem.b_cols(), problem.ldb, 5,
        [&](const RowStripe& stripe) { check.add_b(stripe); });
    feed(operand, a, problem.a_rows(), problem.a_cols(), problem.lda, 5,
        [&](const RowStripe& stripe) { check.add_a(stripe); });
    return check;
  }

  /// What the check finds in these sums, which it is fed in stripes of so many rows.
  template <typename Word>
  std::optional<std::string> fault(Freivalds<Word> check, const std::vector<double>& given, bool modulo_2_32,
      const std::vector<std::int64_t>& rows, Scalar sums_as, std::int64_t stripe_rows) const {
    std::vector<std::byte> reference(rows.size() * 19 * size_bytes(sums_as));
    for (std::size_t i = 0; i < rows.size() * 19; ++i) {
      const double value = given[std::size_t(rows[i / 19]) * 19 + i % 19];
      encode(sums_as, value, reference.data() + i * size_bytes(sums_as));
    }
    feed(sums_as, reference, std::int64_t(rows.size()), 19, 19, stripe_rows,
        [&](const RowStripe& stripe) { check.add_sums(stripe); });
    return check.fault(modulo_2_32);
  }

  /// The whole check, all fed in stripes of five rows.
  template <typename Word>
  std::optional<std::string> fault(const std::vector<double>& given, bool modulo_2_32,
      const std::vector<std::int64_t>& rows, Scalar sums_as = Scalar::f64) const {
    return fault(with_operands<Word>(rows), given, modulo_2_32, rows, sums_as, 5);
  }

  std::vector<std::int64_t> all_rows() const {
    std::vector<std::int64_t> rows;
    for (std::int64_t i = 0; i < 23; ++i) rows.push_back(i);
    return rows;
  }
};

}  // namespace

TEST_CASE("Freivalds' check passes right sums of every type pair and transposes") {
  for (const TypePair& type : type_pairs()) {
    for (Transposes trans : kAllTransposes) {
      INFO(type.name << " " << name(trans));
      const Case exact(type.name.data(), trans, Stage::exact);
      CHECK_FALSE(exact.fault<std::uint64_t>(exact.sums, is_integer(type.a), exact.all_rows()));
      CHECK_FALSE(exact.fault<std::uint64_t>(exact.sums, is_integer(type.a), {0, 7, 22}));
      if (type.a != Scalar::f64)
        CHECK_FALSE(exact.fault<std::uint64_t>(exact.sums, is_integer(type.a), exact.all_rows(), Scalar::s32));
      if (is_integer(type.a)) continue;
      if (stage_applies(packed_problem({type, {}}, 23, 19, 37), Stage::wide_c)) {
        const Case wide(type.name.data(), trans, Stage::wide_c);
        CHECK_FALSE(wide.fault<std::uint64_t>(wide.sums, false, wide.all_rows()));
      }
      const Case real(type.name.data(), trans, Stage::real);
      CHECK_FALSE(real.fault<double>(real.sums, false, real.all_rows()));
    }
  }
}

TEST_CASE("Freivalds' check sees every single wrong element") {
  const Case exact("bf16f32", {true, false}, Stage::exact);
  const Case bytes("u8s32", {false, true}, Stage::exact);
  const Case wide("bf16f32bf16", {}, Stage::wide_c);
  const Case real("f64f64", {true, true}, Stage::real);
  // The operands, which are the same each time, are fed once, and the sums in two stripes: each costs a look at the
  // machine's cores.
  const std::vector<std::int64_t> rows = exact.all_rows();
  const auto of_exact = exact.with_operands<std::uint64_t>(rows);
  const auto of_bytes = bytes.with_operands<std::uint64_t>(rows);
  const auto of_wide = wide.with_operands<std::uint64_t>(rows);
  const auto of_real = real.with_operands<double>(rows);
  const auto sees = [&](const Case& of, const auto& check, std::size_t at, double difference, bool modulo_2_32) {
    std::vector<double> wrong = of.sums;
    wrong[at] += difference;
    return of.fault(check, wrong, modulo_2_32, rows, Scalar::f64, 12).has_value();
  };
  CHECK_FALSE(sees(exact, of_exact, 0, 0, false));
  CHECK_FALSE(sees(bytes, of_bytes, 0, 0, true));
  CHECK_FALSE(sees(wide, of_wide, 0, 0, false));
  CHECK_FALSE(sees(real, of_real, 0, 0, false));
  for (std::size_t at = 0; at < exact.sums.size(); ++at) {
    REQUIRE(sees(exact, of_exact, at, 1, false));
    REQUIRE(sees(wide, of_wide, at, -1, false));
    REQUIRE(sees(bytes, of_bytes, at, -2147483648.0, true));
    REQUIRE(sees(real, of_real, at, 1e-5, false));
    REQUIRE(sees(real, of_real, at, std::nan(""), false));
  }
}

TEST_CASE("Freivalds' check takes sums modulo 2^32 where the output wraps") {
  const Case bytes("s8s32", {}, Stage::exact);
  std::vector<double> wrapped = bytes.sums;
  wrapped[40] += 4294967296.0;
  CHECK_FALSE(bytes.fault<std::uint64_t>(wrapped, true, bytes.all_rows()));
  CHECK(bytes.fault<std::uint64_t>(wrapped, false, bytes.all_rows()));
}
