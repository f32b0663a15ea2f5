#include "kernels/families/user/expression.hpp"

#include <string>
#include <vector>

#include "tests/catch.hpp"

using namespace tilesmith;

namespace {

const std::vector<ExpressionName> kNames{{"m", 0}, {"n", 1}, {"block_m", 3}};
const std::vector<std::int64_t> kValues{1000, 7, -1, 64};

std::optional<std::int64_t> value(const std::string& text) { return Expression::parse(text, kNames).value(kValues); }

std::string error(const std::string& text) {
  try {
    (void)Expression::parse(text, kNames);
    return {};
  } catch (const ExpressionError& wrong) {
    return wrong.what();
  }
}

}  // namespace

TEST_CASE("an expression has C's operators and precedence") {
  CHECK(value("1 + 2 * 3") == 7);
  CHECK(value("(1 + 2) * 3") == 9);
  CHECK(value("10 - 4 - 3") == 3);
  CHECK(value("100 / 7 % 5") == 4);
  CHECK(value("-7 / 2") == -3);
  CHECK(value("-7 % 2") == -1);
  CHECK(value("!0 + !5") == 1);
  CHECK(value("1 + 1 == 2 && 3 > 2 || 0") == 1);
  CHECK(value("1 || 0 && 0") == 1);
}

TEST_CASE("comparisons give 0 or 1") {
  CHECK(value("3 <= 3") == 1);
  CHECK(value("3 >= 4") == 0);
  CHECK(value("3 != 3") == 0);
  CHECK(value("5 && 9") == 1);
  CHECK(value("0 || 9") == 1);
}

TEST_CASE("an expression reads names, and tells which") {
  CHECK(value("ceil_div(m, block_m) * n") == 112);
  CHECK(value("m>block_m?m:n") == 1000);
  CHECK(value("0 ? 1 : 0 ? 2 : 3") == 3);
  CHECK(value("min(m, n, block_m) + max(n, 9)") == 16);
  CHECK(value("ceil_div(-7, 2)") == -3);
  CHECK(Expression::parse("block_m * m + block_m", kNames).reads() == std::vector<std::size_t>{0, 3});
  CHECK(Expression::parse("1 + 2", kNames).reads().empty());
  CHECK(Expression::constant(5).value({}) == 5);
}

TEST_CASE("what divides by zero or leaves 64 bits has no value, and what is not needed is left out") {
  for (const char* text :
      {"1 / 0", "1 % (n - 7)", "ceil_div(1, 0)", "9223372036854775807 + 1", "-9223372036854775807 - 2",
          "4611686018427387904 * 2", "(-9223372036854775807 - 1) / -1", "-(-9223372036854775807 - 1)", "1 / 0 || 1"}) {
    INFO(text);
    CHECK_FALSE(value(text));
  }
  CHECK(value("n == 7 || 1 / 0") == 1);
  CHECK(value("n != 7 && 1 / 0") == 0);
  CHECK(value("n == 7 ? 4 : 1 / 0") == 4);
}

TEST_CASE("an expression's error says what was expected, and where") {
  CHECK(error("m +") == "'m +': expected a number, a name or a bracket at character 4, found its end");
  CHECK(error("m n") == "'m n': expected an operator at character 3, found 'n'");
  CHECK(error("(m") == "'(m': expected ')' at character 3, found its end");
  CHECK(error("m ? n") == "'m ? n': expected ':' at character 6, found its end");
  CHECK(error("") == "'': expected a number, a name or a bracket at character 1, found its end");
  CHECK(error("block_n / 2") == "'block_n / 2': unknown name 'block_n', expected one of m, n, block_m");
  CHECK(error("gcd(m, n)") == "'gcd(m, n)': unknown function 'gcd' at character 1, expected min, max or ceil_div");
  CHECK(error("ceil_div(m, n, 2)") == "'ceil_div(m, n, 2)': expected ')' at character 14, found ', 2)'");
  CHECK(error("1 < m < 3") ==
        "'1 < m < 3': expected && or || between comparisons, which do not chain at character 7, found '< 3'");
  CHECK(error("99999999999999999999") ==
        "'99999999999999999999': expected a number of 64 bits at character 1, found '999999999999'");
  CHECK(error("3m") == "'3m': expected an operator at character 2, found 'm'");
  CHECK(error("m = 3") == "'m = 3': expected an operator at character 3, found '= 3'");
}

TEST_CASE("a deep or long expression is refused, and takes no stack") {
  CHECK(error(std::string(100, '(') + "1" + std::string(100, ')')).find("nests deeper than 64") != std::string::npos);
  CHECK(error(std::string(100, '!') + "1").find("nests deeper than 64") != std::string::npos);
  CHECK(error(std::string(3000, '1')).find("3000 characters") != std::string::npos);
  std::string sum = "1";
  for (int i = 0; i < 900; ++i) sum += "+1";
  CHECK(value(sum) == 901);
}
