#include "kernels/families/user/expression.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <utility>

namespace tilesmith {
namespace {

constexpr std::size_t kLongest = 2000;  // characters
constexpr int kDeepest = 64;            // brackets, signs and branches within each other

bool begins_name(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

}  // namespace

/// Recursive descent, one function a level of precedence.
class ExpressionParser {
 public:
  ExpressionParser(std::string_view text, std::span<const ExpressionName> names) : text_(text), names_(names) {}

  Expression parse() {
    if (text_.size() > kLongest)
      throw ExpressionError(fmt::format("has {} characters: expected at most {}", text_.size(), kLongest));
    made_.root_ = choice();
    skip_spaces();
    if (at_ < text_.size()) fail("an operator");
    std::sort(made_.reads_.begin(), made_.reads_.end());
    made_.reads_.erase(std::unique(made_.reads_.begin(), made_.reads_.end()), made_.reads_.end());
    return std::move(made_);
  }

 private:
  using Op = Expression::Op;
  using Operator = std::pair<std::string_view, Op>;

  [[noreturn]] void fail(std::string_view expected) const {
    const std::string found = at_ < text_.size() ? fmt::format("'{}'", text_.substr(at_, 12)) : "its end";
    throw ExpressionError(fmt::format("'{}': expected {} at character {}, found {}", text_, expected, at_ + 1, found));
  }

  void skip_spaces() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t')) ++at_;
  }
  bool take(std::string_view token) {
    skip_spaces();
    if (!text_.substr(at_).starts_with(token)) return false;
    at_ += token.size();
    return true;
  }
  void expect(std::string_view token) {
    if (!take(token)) fail(fmt::format("'{}'", token));
  }

  int add(Op op, int a = -1, int b = -1, int c = -1, std::int64_t number = 0) {
    made_.nodes_.push_back({op, number, a, b, c});
    return int(made_.nodes_.size()) - 1;
  }

  /// Operators of one precedence, from left to right.
  template <typename Operand>
  int chain(std::initializer_list<Operator> operators, Operand operand) {
    int left = operand();
    for (;;) {
      const auto found =
          std::find_if(operators.begin(), operators.end(), [&](const Operator& one) { return take(one.first); });
      if (found == operators.end()) return left;
      left = add(found->second, left, operand());
    }
  }

  int choice() {
    if (++depth_ > kDeepest) throw ExpressionError(fmt::format("'{}': nests deeper than {}", text_, kDeepest));
    int result = either();
    if (take("?")) {
      const int yes = choice();
      expect(":");
      result = add(Op::choose, result, yes, choice());
    }
    --depth_;
    return result;
  }
  int either() {
    return chain({{"||", Op::either}}, [this] { return both(); });
  }
  int both() {
    return chain({{"&&", Op::both}}, [this] { return comparison(); });
  }
  int comparison() {
    constexpr Operator kOperators[] = {{"==", Op::equal}, {"!=", Op::not_equal}, {"<=", Op::less_equal},
        {">=", Op::greater_equal}, {"<", Op::less}, {">", Op::greater}};
    const auto next = [&] {
      return std::find_if(
          std::begin(kOperators), std::end(kOperators), [&](const Operator& one) { return take(one.first); });
    };
    const int left = sum();
    const auto found = next();
    if (found == std::end(kOperators)) return left;
    const int result = add(found->second, left, sum());
    const std::size_t before = at_;
    if (next() != std::end(kOperators)) {
      at_ = before;
      fail("&& or || between comparisons, which do not chain");
    }
    return result;
  }
  int sum() {
    return chain({{"+", Op::add}, {"-", Op::subtract}}, [this] { return product(); });
  }
  int product() {
    return chain({{"*", Op::multiply}, {"/", Op::divide}, {"%", Op::remainder}}, [this] { return sign(); });
  }
  int sign() {
    const bool minus = take("-");
    if (!minus && !take("!")) return primary();
    if (++depth_ > kDeepest) throw ExpressionError(fmt::format("'{}': nests deeper than {}", text_, kDeepest));
    const int operand = sign();
    --depth_;
    return add(minus ? Op::negative : Op::negation, operand);
  }

  int primary() {
    if (take("(")) {
      const int inner = choice();
      expect(")");
      return inner;
    }
    skip_spaces();
    if (at_ < text_.size() && is_digit(text_[at_])) return number();
    if (at_ < text_.size() && begins_name(text_[at_])) return name_or_call();
    fail("a number, a name or a bracket");
  }

  int number() {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
    if (error != std::errc{}) fail("a number of 64 bits");
    at_ = std::size_t(end - text_.data());
    if (at_ < text_.size() && begins_name(text_[at_])) fail("an operator");
    return add(Op::number, -1, -1, -1, value);
  }

  int name_or_call() {
    const std::size_t start = at_;
    while (at_ < text_.size() && (begins_name(text_[at_]) || is_digit(text_[at_]))) ++at_;
    const std::string_view name = text_.substr(start, at_ - start);
    if (take("(")) return call(name, start);
    for (const ExpressionName& known : names_) {
      if (known.name != name) continue;
      made_.reads_.push_back(known.slot);
      return add(Op::slot, -1, -1, -1, std::int64_t(known.slot));
    }
    std::string known;
    for (const ExpressionName& one : names_) known += fmt::format("{}{}", known.empty() ? "" : ", ", one.name);
    throw ExpressionError(fmt::format("'{}': unknown name '{}', expected one of {}", text_, name, known));
  }

  int call(std::string_view name, std::size_t start) {
    const bool two = name == "ceil_div";
    if (!two && name != "min" && name != "max") {
      throw ExpressionError(fmt::format(
          "'{}': unknown function '{}' at character {}, expected min, max or ceil_div", text_, name, start + 1));
    }
    const Op op = two ? Op::ceil_div : name == "min" ? Op::smaller : Op::larger;
    int result = choice();
    expect(",");
    result = add(op, result, choice());
    while (!two && take(",")) result = add(op, result, choice());
    expect(")");
    return result;
  }

  std::string_view text_;
  std::span<const ExpressionName> names_;
  std::size_t at_ = 0;
  int depth_ = 0;
  Expression made_;
};

Expression Expression::parse(std::string_view text, std::span<const ExpressionName> names) {
  return ExpressionParser(text, names).parse();
}

Expression Expression::constant(std::int64_t value) {
  Expression made;
  made.nodes_.push_back({Op::number, value});
  made.root_ = 0;
  return made;
}

std::optional<std::int64_t> Expression::value(std::span<const std::int64_t> values) const {
  return value_at(root_, values);
}

std::optional<std::int64_t> Expression::value_at(int at, std::span<const std::int64_t> values) const {
  const Node& node = nodes_[std::size_t(at)];
  if (node.op == Op::number) return node.number;
  if (node.op == Op::slot) return values[std::size_t(node.number)];
  const std::optional<std::int64_t> first = value_at(node.a, values);
  if (!first) return std::nullopt;
  const std::int64_t a = *first;
  switch (node.op) {  // what need not have its other operand
    case Op::negation: return a == 0;
    case Op::negative: return a == std::numeric_limits<std::int64_t>::min() ? std::nullopt : std::optional(-a);
    case Op::choose: return value_at(a != 0 ? node.b : node.c, values);
    case Op::both:
      if (a == 0) return 0;
      break;
    case Op::either:
      if (a != 0) return 1;
      break;
    default: break;
  }
  const std::optional<std::int64_t> second = value_at(node.b, values);
  if (!second) return std::nullopt;
  const std::int64_t b = *second;
  const bool no_quotient = b == 0 || (a == std::numeric_limits<std::int64_t>::min() && b == -1);
  std::int64_t result = 0;
  bool overflows = false;
  switch (node.op) {
    case Op::multiply: overflows = __builtin_mul_overflow(a, b, &result); break;
    case Op::add: overflows = __builtin_add_overflow(a, b, &result); break;
    case Op::subtract: overflows = __builtin_sub_overflow(a, b, &result); break;
    case Op::divide:
      if (no_quotient) return std::nullopt;
      return a / b;
    case Op::remainder:
      if (no_quotient) return std::nullopt;
      return a % b;
    case Op::ceil_div:
      if (no_quotient) return std::nullopt;
      return a / b + (a % b != 0 && (a < 0) == (b < 0));
    case Op::less: return a < b;
    case Op::less_equal: return a <= b;
    case Op::greater: return a > b;
    case Op::greater_equal: return a >= b;
    case Op::equal: return a == b;
    case Op::not_equal: return a != b;
    case Op::both:
    case Op::either: return b != 0;
    case Op::smaller: return std::min(a, b);
    case Op::larger: return std::max(a, b);
    default: return std::nullopt;
  }
  return overflows ? std::nullopt : std::optional(result);
}

}  // namespace tilesmith
