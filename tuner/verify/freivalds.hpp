// Freivalds' check: if C differs from op(A)·op(B), then C·x differs from op(A)·(op(B)·x) for all but very few x. A
// random x is drawn, all of it odd, so that a single wrong element always shows. One pass over each matrix, row by row,
// so that they can be streamed from the device in stripes.
//
// Words are std::uint64_t (exact data, arithmetic modulo 2^64; a reference known modulo 2^32 is checked modulo 2^32) or
// double (real data, within rounding).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kernels/problem/problem.hpp"

namespace tilesmith::tuner {

/// Some consecutive rows of a stored matrix in host memory. Values are read as the multiplier reads operands.
struct RowStripe {
  Scalar element;
  std::int64_t first_row = 0, rows = 0, cols = 0, row_stride = 0;
  const std::byte* data = nullptr;  ///< element (first_row, 0)
};

template <typename Word>
class Freivalds {
 public:
  /// `rows`: the rows of C that are there (all of them: 0 .. m−1), ascending.
  Freivalds(const Problem& problem, std::vector<std::int64_t> rows, std::uint64_t seed);

  void add_b(const RowStripe& stripe);     ///< B as stored, all of it, before any of A
  void add_a(const RowStripe& stripe);     ///< A as stored, all of it
  void add_sums(const RowStripe& stripe);  ///< the reference, all of it: n sums for each of `rows`, as s32 or f64

  /// Empty if the check holds; else which row fails and by how much. `modulo_2_32`: sums are known modulo 2^32 only.
  std::optional<std::string> fault(bool modulo_2_32) const;

 private:
  Problem problem_;
  std::vector<std::int64_t> rows_;
  std::vector<Word> x_, bx_, abx_, cx_;  // [n], [k], [m], [rows]
};

extern template class Freivalds<std::uint64_t>;
extern template class Freivalds<double>;

}  // namespace tilesmith::tuner
