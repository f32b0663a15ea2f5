// The proof of the device reference: what candidates are compared with is not believed before the host has checked it.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "kernels/base/on_all_cores.hpp"
#include "kernels/problem/group_ends.hpp"
#include "kernels/problem/sparsity.hpp"
#include "kernels/problem/weights.hpp"
#include "tuner/verify/freivalds.hpp"
#include "tuner/verify/number_formats.hpp"
#include "tuner/verify/problem_state.hpp"
#include "tuner/verify/weights_data.hpp"

namespace tilesmith::tuner {
namespace {

constexpr std::size_t kStripeBytes = std::size_t{8} << 20;
constexpr std::size_t kSamples = 6;  // rows of A and columns of B whose products are computed by definition

/// Calls use(stripe) for a stored matrix, stripe by stripe from the top. `host`: their memory, the same for all
/// matrices, since to have its pages made anew takes longer than to fill them.
template <typename Use>
void for_each_stripe(const runtime::DeviceBuffer& zone, std::size_t first_byte, Scalar element, std::int64_t rows,
    std::int64_t cols, std::int64_t row_stride, std::vector<std::byte>& host, Use use) {
  if (rows == 0 || cols == 0) return;
  const auto row_bytes = std::size_t(storage_bytes(element, row_stride));
  const std::int64_t rows_a_stripe = std::max<std::int64_t>(1, std::int64_t(kStripeBytes / row_bytes));
  for (std::int64_t first = 0; first < rows; first += rows_a_stripe) {
    const std::int64_t count = std::min(rows_a_stripe, rows - first);
    // Up to the last element of the last row: the padding behind it may lie outside the zone.
    host.resize(std::size_t(count - 1) * row_bytes + std::size_t(storage_bytes(element, cols)));
    zone.download(host, first_byte + std::size_t(first) * row_bytes);
    use(RowStripe{element, first, count, cols, row_stride, host.data()});
  }
}

/// Rows of a 2:4 sparse operand with their zeros, in `dense`.
RowStripe with_zeros(const RowStripe& stripe, std::int64_t k, std::vector<std::byte>& dense) {
  const std::size_t bytes = size_bytes(stripe.element);
  dense.assign(std::size_t(stripe.rows * k) * bytes, std::byte{});  // in every format a 0
  for (std::int64_t r = 0; r < stripe.rows; ++r) {
    for (std::int64_t s = 0; s < stripe.cols; ++s) {
      const std::byte* from = stripe.data + std::size_t(r * stripe.row_stride + s) * bytes;
      const std::int64_t place = verify::place_of_stored(stripe.first_row + r, s, bytes == 4);
      std::copy_n(from, bytes, dense.data() + std::size_t(r * k + place) * bytes);
    }
  }
  return {stripe.element, stripe.first_row, stripe.rows, k, k, dense.data()};
}

/// Rows times their scales of blocks of K, in `scaled`, in f64.
RowStripe with_scales(const RowStripe& stripe, const verify::BlockScaleRule& scales, bool of_a, bool k_along_rows,
    std::vector<std::byte>& scaled) {
  scaled.resize(std::size_t(stripe.rows * stripe.cols) * sizeof(double));
  auto* const values = reinterpret_cast<double*>(scaled.data());
  on_all_cores(std::size_t(stripe.rows), [&](std::size_t r) {
    double* const row = values + r * std::size_t(stripe.cols);
    const std::int64_t at = stripe.first_row + std::int64_t(r);
    decode_operands(stripe.element, stripe.data + storage_bytes(stripe.element, std::int64_t(r) * stripe.row_stride),
        std::size_t(stripe.cols), row);
    for (std::int64_t c = 0; c < stripe.cols; ++c)
      row[c] *= verify::block_scale(scales, of_a, k_along_rows ? at : c, k_along_rows ? c : at);
  });
  return {Scalar::f64, stripe.first_row, stripe.rows, stripe.cols, stripe.cols, scaled.data()};
}

/// The same of an expert's W, in f64 as it is multiplied: whole rows of blocks at a time.
template <typename Use>
void for_each_stripe_of_weights(const Problem& p, const ProblemStage& stage, const Zones& zones, std::int64_t expert,
    std::vector<std::byte>& host, Use use) {
  if (p.n == 0 || p.k == 0) return;
  const OperandMatrix codes = operand(p, OperandRole::b);
  const auto first_of = [&](const OperandMatrix& matrix) {
    return zones[matrix.role].first_byte + std::size_t(storage_bytes(matrix.element, expert * matrix.entry_stride));
  };
  const auto terms_of = [&](OperandRole role) {
    const OperandMatrix matrix = operand(p, role);
    std::vector<std::byte> terms(std::size_t(storage_bytes(matrix.element, matrix.rows * matrix.cols)));
    stage.inputs[role].download(terms, first_of(matrix));
    return terms;
  };
  const std::vector<std::byte> scales = terms_of(OperandRole::weight_scales);
  const std::vector<std::byte> zeros = p.weights.zeros ? terms_of(OperandRole::weight_zeros) : std::vector<std::byte>();
  const auto block_row_bytes = std::size_t(storage_bytes(codes.element, codes.row_stride));
  constexpr std::size_t kWider = 16;  // an f64 than a code of 4 bits
  const std::int64_t block_rows_a_stripe =
      std::max<std::int64_t>(1, std::int64_t(2 * kStripeBytes / kWider / block_row_bytes));
  for (std::int64_t block_row = 0; block_row < codes.rows; block_row += block_rows_a_stripe) {
    const std::int64_t block_rows = std::min(block_rows_a_stripe, codes.rows - block_row),
                       first = block_row * kCodeBlockRows;
    host.resize(std::size_t(block_rows) * block_row_bytes);
    stage.inputs[OperandRole::b].download(host, first_of(codes) + std::size_t(block_row) * block_row_bytes);
    const std::int64_t rows = std::min(block_rows * kCodeBlockRows, p.n - first);
    std::vector<double> values(std::size_t(rows * p.k));
    on_all_cores(std::size_t(block_rows), [&](std::size_t part) {
      const std::int64_t from = std::int64_t(part) * kCodeBlockRows,
                         count = std::min<std::int64_t>(kCodeBlockRows, rows - from);
      const std::vector<double> some = weights_of_rows(p, first + from, count, host.data() + part * block_row_bytes,
          scales.data(), p.weights.zeros ? zeros.data() : nullptr);
      std::ranges::copy(some, values.begin() + from * p.k);
    });
    use(RowStripe{Scalar::f64, first, rows, p.k, p.k, std::as_bytes(std::span(values)).data()});
  }
}

/// Some vectors of an operand (rows of op(A), columns of op(B)), [sample, k], picked out while it streams by.
struct Panel {
  std::vector<std::int64_t> vectors;
  std::vector<std::vector<double>> values;

  Panel(std::int64_t count, std::int64_t k, std::uint64_t seed) {
    for (std::uint64_t i = 0; i < kSamples; ++i) {
      vectors.push_back(i == 0   ? 0
                        : i == 1 ? count - 1
                                 : std::int64_t(verify::mixed(seed, i, 3) % std::uint64_t(count)));
    }
    values.assign(vectors.size(), std::vector<double>(std::size_t(k)));
  }

  void pick(const RowStripe& stripe, bool vector_is_row) {
    const auto row_at = [&](std::int64_t row) {
      return stripe.data + storage_bytes(stripe.element, (row - stripe.first_row) * stripe.row_stride);
    };
    for (std::size_t s = 0; s < vectors.size(); ++s) {
      const std::int64_t v = vectors[s];
      if (vector_is_row) {
        if (v < stripe.first_row || v >= stripe.first_row + stripe.rows) continue;
        decode_operands(stripe.element, row_at(v), values[s].size(), values[s].data());
      } else {
        for (std::int64_t r = stripe.first_row; r < stripe.first_row + stripe.rows; ++r) {
          values[s][std::size_t(r)] = decode_operand_at(stripe.element, row_at(r), v);
        }
      }
    }
  }
};

std::optional<std::string> sampled_fault(const Problem& problem, const ProblemStage& stage, const ReferencePart& part,
    const Panel& a, const Panel& b, const std::vector<std::int64_t>& rows) {
  const bool f64 = stage.sums_are_f64(problem.type);
  const bool real = stage.stage == Stage::real;
  const double depth = double(std::max<std::int64_t>(problem.k, 1));
  const double largest = largest_real_product(problem);
  const double bound = real ? std::ldexp(largest, -51) * (std::sqrt(depth) + 8) * std::sqrt(depth) : 0;
  for (std::size_t s = 0; s < a.vectors.size(); ++s) {
    const std::int64_t index = a.vectors[s];  // of the reference's rows
    for (std::size_t t = 0; t < b.vectors.size(); ++t) {
      double want = 0;
      for (std::size_t k = 0; k < std::size_t(problem.k); ++k)
        want += product(problem.type.a, a.values[s][k], b.values[t][k]);
      if (is_integer(problem.type.a) && !f64) want = double(std::int32_t(std::uint32_t(std::int64_t(want))));
      std::byte stored[8] = {};
      const std::size_t bytes = f64 ? 8 : 4;
      const std::int64_t row = part.sums_row + index;
      stage.sums.download({stored, bytes}, std::size_t(row * problem.n + b.vectors[t]) * bytes);
      const double got = decode(f64 ? Scalar::f64 : Scalar::s32, stored);
      if (!verify::element_wrong(got, want, bound, 0)) continue;
      return fmt::format(
          "row {}, column {} is {}, by definition {}", rows[std::size_t(index)], b.vectors[t], got, want);
    }
  }
  return std::nullopt;
}

/// A part's rows as rows of its A, those of a group counted from its first one.
std::vector<std::int64_t> rows_of_part(const ProblemStage& stage, const ReferencePart& part, std::int64_t first_of_a) {
  std::vector<std::int64_t> rows;
  for (std::int64_t i = part.first_row; i < part.first_row + part.rows; ++i)
    rows.push_back((stage.sampled.empty() ? i : stage.sampled[std::size_t(i)]) - first_of_a);
  return rows;
}

/// One of the parts that are proven. `p`: as a problem of its own, of the whole one; its rows of A begin at row `first_of_a`.
template <typename Word>
std::optional<std::string> prove(const Problem& p, const Problem& whole, const ProblemStage& stage, const Zones& zones,
    const ReferencePart& part, std::int64_t first_of_a) {
  const std::vector<std::int64_t> rows = rows_of_part(stage, part, first_of_a);
  Freivalds<Word> check(p, rows, 0x9d1);
  Panel samples_b(p.n, p.k, 21);
  Panel samples_a(part.rows, p.k, 22);
  const std::vector<std::int64_t> reference_rows = samples_a.vectors;
  for (std::int64_t& v : samples_a.vectors) v = rows[std::size_t(v)];  // rows of A while it streams by
  std::vector<std::byte> host, dense;
  const verify::BlockScaleRule scales = block_scale_rule(whole, stage.rules, part.a, part.b, first_of_a);
  const auto for_each_stripe_of = [&](OperandRole role, const auto& look_at) {
    const OperandMatrix matrix = operand(p, role);
    const std::int64_t elements = role == OperandRole::a ? part.a * matrix.entry_stride + first_of_a * matrix.row_stride
                                                         : part.b * matrix.entry_stride;
    const auto skipped = std::size_t(storage_bytes(matrix.element, elements));
    const bool of_a = role == OperandRole::a, k_along_rows = of_a ? !p.trans.a : p.trans.b;
    const auto look = [&](const RowStripe& stripe) {
      if (is_sparse(p, role)) look_at(with_zeros(stripe, p.k, dense));
      else if (p.epilogue.has_block_scales()) look_at(with_scales(stripe, scales, of_a, k_along_rows, dense));
      else look_at(stripe);
    };
    for_each_stripe(stage.inputs[role], zones[role].first_byte + skipped, matrix.element, matrix.rows, matrix.cols,
        matrix.row_stride, host, look);
  };
  const auto look_at_b = [&](const RowStripe& stripe) {
    check.add_b(stripe);
    samples_b.pick(stripe, p.trans.b);
  };
  if (has_weights(p)) for_each_stripe_of_weights(p, stage, zones, part.b, host, look_at_b);
  else for_each_stripe_of(OperandRole::b, look_at_b);
  for_each_stripe_of(OperandRole::a, [&](const RowStripe& stripe) {
    check.add_a(stripe);
    samples_a.pick(stripe, !p.trans.a);
  });
  samples_a.vectors = reference_rows;
  // 32-bit sums are read as s32: exact data has signed sums, and s32 pairs are compared modulo 2^32 anyway.
  const std::size_t sums_at = std::size_t(part.sums_row * p.n) * stage.sum_bytes(p.type);
  for_each_stripe(stage.sums, sums_at, stage.sums_are_f64(p.type) ? Scalar::f64 : Scalar::s32, part.rows, p.n, p.n,
      host, [&](const RowStripe& stripe) { check.add_sums(stripe); });
  if (auto fault = check.fault(is_integer(p.type.a))) return fault;
  return sampled_fault(p, stage, part, samples_a, samples_b, rows);
}

/// Of groups all whose B have up to 2^27 elements together; of more the first, the last and some between.
bool is_proven(const Problem& problem, std::size_t number, std::size_t count) {
  constexpr double kMostElements = 1 << 27;
  const double of_one = double(problem.n) * double(std::max<std::int64_t>(problem.k, 1));
  const std::size_t wanted = std::max<std::size_t>(3, std::size_t(kMostElements / of_one));
  if (count <= wanted || number == 0 || number + 1 == count) return true;
  return number % (count / (wanted - 2) + 1) == verify::mixed(wanted, count, 14) % (count / (wanted - 2) + 1);
}

}  // namespace

std::optional<std::string> reference_fault(const Problem& problem, const ProblemStage& stage, const Zones& zones) {
  const std::vector<ReferencePart> parts = reference_parts(problem, stage);
  const bool in_groups = problem.batch_mode == BatchMode::grouped;
  const std::vector<GroupRows> groups =
      in_groups ? rows_of_groups(even_ends(problem.m, problem.batch), problem.m) : std::vector<GroupRows>();
  for (std::size_t number = 0; number < parts.size(); ++number) {
    if (in_groups && !is_proven(problem, number, parts.size())) continue;
    const ReferencePart& part = parts[number];
    Problem p = problem;
    std::int64_t first_of_a = 0;
    if (in_groups) {
      first_of_a = groups[std::size_t(part.b)].begin;
      p.m = groups[std::size_t(part.b)].end - first_of_a;
    }
    const auto fault = stage.stage == Stage::real ? prove<double>(p, problem, stage, zones, part, first_of_a)
                                                  : prove<std::uint64_t>(p, problem, stage, zones, part, first_of_a);
    if (fault)
      return problem.batch == 1 ? *fault : fmt::format("{} {}: {}", in_groups ? "group" : "entry", part.b, *fault);
  }
  return std::nullopt;
}

}  // namespace tilesmith::tuner
