// Integer expressions of a family of one's own: its rules, its refusals, its launches. C's operators and precedence:
//   ?:   ||   &&   == !=   < <= > >=   + -   * / %   ! -   and   min(a, ..)   max(a, ..)   ceil_div(a, b)
// Comparisons give 0 or 1 and do not chain. Numbers have 64 bits. `||`, `&&` and `?:` leave out what they do not need.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace tilesmith {

/// One line: what is wrong with an expression's text, and where.
class ExpressionError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// What an expression may read: a name, and where its value stands.
struct ExpressionName {
  std::string name;
  std::size_t slot = 0;
};

/// Immutable; may be evaluated by several threads at a time.
class Expression {
 public:
  /// Throws ExpressionError: a text that does not parse, is too long or nests too deep, or a name that is none of
  /// these.
  static Expression parse(std::string_view text, std::span<const ExpressionName> names);
  static Expression constant(std::int64_t value);

  /// Empty where it divides by zero or leaves 64 bits. Precondition: `values` has all slots of the names it was parsed
  /// with.
  std::optional<std::int64_t> value(std::span<const std::int64_t> values) const;

  /// The slots that it reads, each once, in ascending order.
  const std::vector<std::size_t>& reads() const { return reads_; }

  /// Whether it is a name alone, whose slot is reads().front().
  bool is_name() const { return root_ >= 0 && nodes_[std::size_t(root_)].op == Op::slot; }

 private:
  friend class ExpressionParser;
  enum class Op { number, slot, choose, both, either, binary };
  using Binary = std::optional<std::int64_t> (*)(std::int64_t a, std::int64_t b);
  /// a, b, c: places of the operands in nodes_.
  struct Node {
    Op op = Op::number;
    std::int64_t number = 0;  ///< or the slot
    int a = -1, b = -1, c = -1;
    Binary binary = nullptr;
  };
  std::optional<std::int64_t> value_at(int node, std::span<const std::int64_t> values) const;

  std::vector<Node> nodes_;
  int root_ = -1;
  std::vector<std::size_t> reads_;
};

}  // namespace tilesmith
