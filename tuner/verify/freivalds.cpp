#include "tuner/verify/freivalds.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <mutex>
#include <type_traits>

#include "kernels/base/on_all_cores.hpp"
#include "tuner/verify/exact_data.hpp"
#include "tuner/verify/number_formats.hpp"
#include "tuner/verify/shared_rules.hpp"

namespace tilesmith::tuner {
namespace {

template <typename Word>
Word random_word(std::uint64_t seed, std::uint64_t index) {
  const std::uint64_t hash = verify::mixed(seed, index, 0);
  if constexpr (std::is_same_v<Word, double>) {
    return double(hash >> 11) / 4503599627370496.0 - 1.0;
  } else {
    return hash | 1;
  }
}

template <typename Word>
Word as_word(double value) {
  if constexpr (std::is_same_v<Word, double>) {
    return value;
  } else {
    return std::uint64_t(std::int64_t(value));
  }
}

/// Calls work(first, last) on parts of [0, count), on as many threads as pay.
template <typename Work>
void in_parallel(std::int64_t count, std::int64_t elements, Work work) {
  static const int cores = usable_cores();  // which reads files
  const std::int64_t wanted = std::min<std::int64_t>(elements / 200000 + 1, cores);
  const std::int64_t parts = std::clamp<std::int64_t>(wanted, 1, std::max<std::int64_t>(count, 1));
  on_all_cores(std::size_t(parts), [&](std::size_t i) {
    const auto part = std::int64_t(i);
    work(count * part / parts, count * (part + 1) / parts);
  });
}

/// Bits whose XOR is counted become signs, 1 and −1: of K products of signs as many more are 1 than −1 as K has more
/// equal bits than others.
void decode_factors(Scalar element, const std::byte* from, std::vector<double>& row) {
  decode_operands(element, from, row.size(), row.data());
  if (element != Scalar::b1xor) return;
  for (double& value : row) value = 1 - 2 * value;
}

/// by_row[r] += Σ_c M[r, c]·by_col[c]
template <typename Word>
void add_row_products(const RowStripe& stripe, const std::vector<Word>& by_col, std::vector<Word>& by_row) {
  const auto row_bytes = std::size_t(storage_bytes(stripe.element, stripe.row_stride));
  in_parallel(stripe.rows, stripe.rows * stripe.cols, [&](std::int64_t first, std::int64_t last) {
    std::vector<double> row(std::size_t(stripe.cols));
    for (std::int64_t r = first; r < last; ++r) {
      decode_factors(stripe.element, stripe.data + std::size_t(r) * row_bytes, row);
      Word sum = 0;
      for (std::size_t c = 0; c < row.size(); ++c) sum += as_word<Word>(row[c]) * by_col[c];
      by_row[std::size_t(stripe.first_row + r)] += sum;
    }
  });
}

/// by_col[c] += Σ_r M[r, c]·by_row[r]
template <typename Word>
void add_col_products(const RowStripe& stripe, const std::vector<Word>& by_row, std::vector<Word>& by_col) {
  const auto row_bytes = std::size_t(storage_bytes(stripe.element, stripe.row_stride));
  std::mutex mutex;
  in_parallel(stripe.rows, stripe.rows * stripe.cols, [&](std::int64_t first, std::int64_t last) {
    std::vector<double> row(std::size_t(stripe.cols));
    std::vector<Word> own(row.size(), Word(0));
    for (std::int64_t r = first; r < last; ++r) {
      decode_factors(stripe.element, stripe.data + std::size_t(r) * row_bytes, row);
      const Word factor = by_row[std::size_t(stripe.first_row + r)];
      for (std::size_t c = 0; c < row.size(); ++c) own[c] += as_word<Word>(row[c]) * factor;
    }
    const std::lock_guard lock(mutex);
    for (std::size_t c = 0; c < own.size(); ++c) by_col[c] += own[c];
  });
}

}  // namespace

template <typename Word>
Freivalds<Word>::Freivalds(const Problem& problem, std::vector<std::int64_t> rows, std::uint64_t seed)
    : problem_(problem),
      rows_(std::move(rows)),
      x_(std::size_t(problem.n)),
      bx_(std::size_t(problem.k)),
      abx_(std::size_t(problem.m)),
      cx_(rows_.size()) {
  for (std::size_t j = 0; j < x_.size(); ++j) x_[j] = random_word<Word>(seed, j);
}

template <typename Word>
void Freivalds<Word>::add_b(const RowStripe& stripe) {
  problem_.trans.b ? add_col_products(stripe, x_, bx_) : add_row_products(stripe, x_, bx_);
}

template <typename Word>
void Freivalds<Word>::add_a(const RowStripe& stripe) {
  problem_.trans.a ? add_col_products(stripe, bx_, abx_) : add_row_products(stripe, bx_, abx_);
}

template <typename Word>
void Freivalds<Word>::add_sums(const RowStripe& stripe) {
  add_row_products(stripe, x_, cx_);
  if (problem_.type.a != Scalar::b1xor) return;
  Word sum_of_x = 0;
  for (const Word x : x_) sum_of_x += x;
  for (std::int64_t i = stripe.first_row; i < stripe.first_row + stripe.rows; ++i) {
    Word& row = cx_[std::size_t(i)];
    row = as_word<Word>(double(problem_.k)) * sum_of_x - 2 * row;  // of products of signs
  }
}

template <typename Word>
std::optional<std::string> Freivalds<Word>::fault(bool modulo_2_32) const {
  // Real data: each of the n·k products and sums rounds once, in f64, at the size of the running sum.
  const double elements = double(problem_.n) * double(std::max<std::int64_t>(problem_.k, 1));
  const double bound =
      std::ldexp(largest_real_product(problem_), -51) * (double(problem_.n + problem_.k) + 16) * std::sqrt(elements);
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    const Word want = abx_[std::size_t(rows_[i])], got = cx_[i];
    if constexpr (std::is_same_v<Word, double>) {
      if (std::abs(want - got) <= bound) continue;
      return fmt::format("Freivalds' check fails in row {}: {} instead of {}", rows_[i], got, want);
    } else {
      const std::uint64_t difference = modulo_2_32 ? (want - got) & 0xffffffffu : want - got;
      if (difference == 0) continue;
      return fmt::format("Freivalds' check fails in row {}: off by {:#x}", rows_[i], difference);
    }
  }
  return std::nullopt;
}

template class Freivalds<std::uint64_t>;
template class Freivalds<double>;

}  // namespace tilesmith::tuner
