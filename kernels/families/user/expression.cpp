#include "kernels/families/user/expression.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <ranges>
#include <utility>

namespace tilesmith {
namespace {

constexpr std::size_t kLongest = 2000;  // characters
constexpr int kDeepest = 64;            // brackets, signs and branches within each other

bool begins_name(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

using Number = std::int64_t;
using Result = std::optional<Number>;

__extension__ typedef __int128 Wide;

/// Empty if it leaves 64 bits.
Result fitting(Wide value) { return value == Number(value) ? Result(Number(value)) : Result(); }
Result is_equal(Number a, Number b) { return a == b; }
Result difference(Number a, Number b) { return fitting(Wide(a) - b); }
bool has_quotient(Number a, Number b) { return b != 0 && (a != std::numeric_limits<Number>::min() || b != -1); }

}  // namespace

/// Recursive descent.
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
  struct Operator {
    std::string_view token;
    int precedence;  ///< operators of higher ones are applied first
    Op op;
    Expression::Binary value;
  };
  static constexpr int kComparison = 2, kHighest = 4;
  static constexpr Operator kOperators[] = {{"||", 0, Op::either, nullptr}, {"&&", 1, Op::both, nullptr},
      {"==", kComparison, Op::binary, is_equal},
      {"!=", kComparison, Op::binary, [](Number a, Number b) -> Result { return a != b; }},
      {"<=", kComparison, Op::binary, [](Number a, Number b) -> Result { return a <= b; }},
      {">=", kComparison, Op::binary, [](Number a, Number b) -> Result { return a >= b; }},
      {"<", kComparison, Op::binary, [](Number a, Number b) -> Result { return a < b; }},
      {">", kComparison, Op::binary, [](Number a, Number b) -> Result { return a > b; }},
      {"+", 3, Op::binary, [](Number a, Number b) { return fitting(Wide(a) + b); }}, {"-", 3, Op::binary, difference},
      {"*", kHighest, Op::binary, [](Number a, Number b) { return fitting(Wide(a) * b); }},
      {"/", kHighest, Op::binary, [](Number a, Number b) { return has_quotient(a, b) ? Result(a / b) : Result(); }},
      {"%", kHighest, Op::binary, [](Number a, Number b) { return has_quotient(a, b) ? Result(a % b) : Result(); }}};
  static constexpr std::pair<std::string_view, Expression::Binary> kFunctions[] = {
      {"min", [](Number a, Number b) -> Result { return std::min(a, b); }},
      {"max", [](Number a, Number b) -> Result { return std::max(a, b); }},
      {"ceil_div", [](Number a, Number b) {
         return has_quotient(a, b) ? Result(a / b + (a % b != 0 && (a < 0) == (b < 0))) : Result();
       }}};

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

  int add(Op op, std::int64_t number, int a = -1, int b = -1, int c = -1, Expression::Binary binary = nullptr) {
    made_.nodes_.push_back({op, number, a, b, c, binary});
    return int(made_.nodes_.size()) - 1;
  }

  int choice() {
    if (++depth_ > kDeepest) throw ExpressionError(fmt::format("'{}': nests deeper than {}", text_, kDeepest));
    int result = chain(0);
    if (take("?")) {
      const int yes = choice();
      expect(":");
      result = add(Op::choose, 0, result, yes, choice());
    }
    --depth_;
    return result;
  }
  /// Operators of this precedence, from left to right, and between them those of higher ones.
  int chain(int precedence) {
    if (precedence > kHighest) return sign();
    int left = chain(precedence + 1);
    for (bool is_first = true;; is_first = false) {
      const std::size_t before = at_;
      const auto found = std::ranges::find_if(
          kOperators, [&](const Operator& one) { return one.precedence == precedence && take(one.token); });
      if (found == std::end(kOperators)) return left;
      if (precedence == kComparison && !is_first) {
        at_ = before;
        fail("&& or || between comparisons, which do not chain");
      }
      left = add(found->op, 0, left, chain(precedence + 1), -1, found->value);
    }
  }
  int sign() {
    const bool minus = take("-");
    if (!minus && !take("!")) return primary();
    if (++depth_ > kDeepest) throw ExpressionError(fmt::format("'{}': nests deeper than {}", text_, kDeepest));
    const int zero = add(Op::number, 0), operand = sign();
    --depth_;
    return add(Op::binary, 0, zero, operand, -1, minus ? difference : is_equal);
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
    return add(Op::number, value);
  }

  int name_or_call() {
    const std::size_t start = at_;
    while (at_ < text_.size() && (begins_name(text_[at_]) || is_digit(text_[at_]))) ++at_;
    const std::string_view name = text_.substr(start, at_ - start);
    if (take("(")) return call(name, start);
    for (const ExpressionName& known : names_) {
      if (known.name != name) continue;
      made_.reads_.push_back(known.slot);
      return add(Op::slot, std::int64_t(known.slot));
    }
    throw ExpressionError(fmt::format("'{}': unknown name '{}', expected one of {}", text_, name,
        fmt::join(names_ | std::views::transform(&ExpressionName::name), ", ")));
  }

  int call(std::string_view name, std::size_t start) {
    const auto found = std::ranges::find(kFunctions, name, [](const auto& one) { return one.first; });
    if (found == std::end(kFunctions)) {
      throw ExpressionError(fmt::format(
          "'{}': unknown function '{}' at character {}, expected min, max or ceil_div", text_, name, start + 1));
    }
    int result = choice();
    expect(",");
    do result = add(Op::binary, 0, result, choice(), -1, found->second);
    while (name != "ceil_div" && take(","));
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
  const std::optional<std::int64_t> a = value_at(node.a, values);
  if (!a) return std::nullopt;
  if (node.op == Op::choose) return value_at(*a != 0 ? node.b : node.c, values);
  if (node.op == Op::both && *a == 0) return 0;
  if (node.op == Op::either && *a != 0) return 1;
  const std::optional<std::int64_t> b = value_at(node.b, values);
  if (!b) return std::nullopt;
  return node.op == Op::binary ? node.binary(*a, *b) : *b != 0;
}

}  // namespace tilesmith
