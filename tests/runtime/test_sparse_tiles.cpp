// Pruning by tiles in host memory, by the same code as the device's, against a search of all subsets that knows nothing
// of it.
#include <bit>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "kernels/problem/sparsity.hpp"
#include "runtime/interface/sparse.hpp"
#include "runtime/interface/sparse_source.hpp"
#include "runtime/interface/tilesmith_sparse.h"
#include "tests/catch.hpp"

using namespace tilesmith;

namespace {

constexpr Scalar kElements[] = {
    Scalar::f16, Scalar::bf16, Scalar::tf32, Scalar::s8, Scalar::u8, Scalar::e4m3, Scalar::e5m2};

/// |value| of finite bits, by the formats' definitions.
double magnitude_of(Scalar element, std::uint32_t bits) {
  if (element == Scalar::u8) return double(bits);
  if (element == Scalar::s8) return std::abs(double(std::int8_t(bits)));
  if (element == Scalar::tf32) return std::abs(double(std::bit_cast<float>(bits)));
  if (element == Scalar::bf16) return std::abs(double(std::bit_cast<float>(bits << 16)));
  const int exponent_bits = element == Scalar::e4m3 ? 4 : 5, fraction_bits = element == Scalar::f16    ? 10
                                                                             : element == Scalar::e4m3 ? 3
                                                                                                       : 2;
  const int exponent = int(bits >> fraction_bits & ((1u << exponent_bits) - 1)), bias = (1 << (exponent_bits - 1)) - 1;
  const double fraction = double(bits & ((1u << fraction_bits) - 1)) / double(1u << fraction_bits);
  return exponent == 0 ? std::ldexp(fraction, 1 - bias) : std::ldexp(1 + fraction, exponent - bias);
}

struct Matrix {
  Scalar element;
  std::int64_t rows, k;
  std::vector<std::uint32_t> bits = std::vector<std::uint32_t>(std::size_t(rows * k));

  std::uint32_t& at(std::int64_t row, std::int64_t column) { return bits[std::size_t(row * k + column)]; }
  std::uint32_t at(std::int64_t row, std::int64_t column) const {
    return row < rows ? bits[std::size_t(row * k + column)] : 0;
  }
};

Matrix pruned_tiles(const Matrix& of) {
  const std::size_t bytes = size_bytes(of.element);
  std::vector<std::uint8_t> memory(of.bits.size() * bytes);
  for (std::size_t i = 0; i < of.bits.size(); ++i) std::memcpy(memory.data() + i * bytes, &of.bits[i], bytes);
  sparse_prune_tiles_on_host({of.element, of.rows, of.k}, memory.data(), memory.data());
  Matrix made{of.element, of.rows, of.k};
  for (std::size_t i = 0; i < of.bits.size(); ++i) std::memcpy(&made.bits[i], memory.data() + i * bytes, bytes);
  return made;
}

std::uint32_t random_bits(std::uint64_t& state, Scalar element) {
  state = state * 6364136223846793005u + 1442695040888963407u;
  std::uint32_t bits = std::uint32_t(state >> 32) >> (32 - 8 * size_bytes(element));
  // No NaN and infinities: these have a test of their own. Exponents that sums in f64 hold exactly.
  if (element == Scalar::e4m3 && (bits & 0x7f) == 0x7f) bits ^= 1;
  if (element == Scalar::e5m2 && (bits & 0x7c) == 0x7c) bits ^= 0x40;
  if (element == Scalar::f16 && (bits & 0x7c00) == 0x7c00) bits ^= 0x4000;
  if (element == Scalar::bf16) bits = (bits & 0x8fff) | 0x3000;
  if (element == Scalar::tf32) bits = (bits & 0x83ffffff) | 0x3c000000;
  return bits;
}

/// The first best of all subsets of the tile with `half` in each row and column, by the places of the first row, then
/// the second's and so on.
std::uint32_t best_subset(const Matrix& of, std::int64_t row, std::int64_t column, int side) {
  const auto order_of = [&](std::uint32_t kept) {
    std::vector<int> order;
    for (int i = 0; i < side; ++i) {
      for (int j = 0; j < side; ++j) {
        if (kept >> (i * side + j) & 1) order.push_back(j);
      }
    }
    return order;
  };
  double best = -1;
  std::uint32_t found = 0;
  for (std::uint32_t kept = 0; kept < 1u << (side * side); ++kept) {
    bool fits = true;
    double sum = 0;
    for (int i = 0; i < side && fits; ++i) {
      int in_row = 0, in_column = 0;
      for (int j = 0; j < side; ++j) {
        in_row += int(kept >> (i * side + j) & 1);
        in_column += int(kept >> (j * side + i) & 1);
        if (kept >> (i * side + j) & 1) sum += magnitude_of(of.element, of.at(row + i, column + j));
      }
      fits = in_row == side / 2 && in_column == side / 2;
    }
    if (!fits || sum < best) continue;
    if (sum > best || order_of(kept) < order_of(found)) found = kept;
    best = sum;
  }
  return found;
}

/// A tile of f16 whose elements are all `all`, but for those given.
Matrix tile_of(std::uint32_t all, std::initializer_list<std::pair<std::pair<int, int>, std::uint32_t>> but = {}) {
  Matrix tile{Scalar::f16, 4, 4};
  for (std::uint32_t& bits : tile.bits) bits = all;
  for (const auto& [place, bits] : but) tile.at(place.first, place.second) = bits;
  return tile;
}

std::string kept_text(const Matrix& tile) {
  std::string text;
  for (std::int64_t i = 0; i < tile.rows; ++i) {
    for (std::int64_t j = 0; j < tile.k; ++j) text += tile.at(i, j) != 0 ? 'x' : '.';
    text += i + 1 < tile.rows ? " " : "";
  }
  return text;
}

}  // namespace

TEST_CASE("of each tile what has the largest sum stays, bit by bit, and the matrix and its transpose are 2:4 sparse",
    "[sparsity]") {
  for (const Scalar element : kElements) {
    const int side = sparse_group(element);
    std::uint64_t state = 77;
    for (const std::int64_t rows : {16, 21, 3}) {
      INFO(name(element) << " " << rows << " rows");
      Matrix dense{element, rows, 12};
      for (std::uint32_t& bits : dense.bits) bits = random_bits(state, element);
      const Matrix kept = pruned_tiles(dense);
      std::int64_t wrong = 0;
      for (std::int64_t row = 0; row < rows; row += side) {
        for (std::int64_t column = 0; column < dense.k; column += side) {
          const std::uint32_t want = best_subset(dense, row, column, side);
          for (int i = 0; i < side && row + i < rows; ++i) {
            for (int j = 0; j < side; ++j)
              wrong += kept.at(row + i, column + j) !=
                       ((want >> (i * side + j) & 1) != 0 ? dense.at(row + i, column + j) : 0);
          }
          for (int j = 0; j < side; ++j) {
            int of_row = 0, of_column = 0;
            for (int i = 0; i < side; ++i) {
              of_row += kept.at(row + j, column + i) != 0;
              of_column += kept.at(row + i, column + j) != 0;
            }
            wrong += of_row > side / 2 || of_column > side / 2;
          }
        }
      }
      CHECK(wrong == 0);
    }
  }
}

TEST_CASE("of ways to prune a tile that are as good the first stays", "[sparsity]") {
  CHECK(kept_text(pruned_tiles(tile_of(0x3c00))) == "xx.. xx.. ..xx ..xx");
  CHECK(kept_text(pruned_tiles(tile_of(0x3c00, {{{0, 3}, 0x4000}}))) == "x..x xx.. .xx. ..xx");
  CHECK(kept_text(pruned_tiles(tile_of(0x3c00, {{{3, 0}, 0xc000}, {{3, 1}, 0xc000}}))) == "xx.. ..xx ..xx xx..");
  Matrix pairs{Scalar::tf32, 2, 2};
  for (std::uint32_t& bits : pairs.bits) bits = 0x3f800000;
  CHECK(kept_text(pruned_tiles(pairs)) == "x. .x");
  pairs.at(1, 0) = 0xbf800001;
  CHECK(kept_text(pruned_tiles(pairs)) == ".x x.");
}

TEST_CASE("a tile keeps NaN before infinities before what is finite, as many as it can", "[sparsity]") {
  const std::uint32_t nan = 0x7e00, infinity = 0xfc00, most = 0x7bff;
  // Row 0 has three infinities: two stay. Column 3 has a NaN, which stays although 65504 would not then.
  const Matrix row = pruned_tiles(tile_of(0x3c00, {{{0, 0}, infinity}, {{0, 1}, infinity}, {{0, 2}, infinity}}));
  CHECK(kept_text(row).substr(0, 4) == "xx..");
  const Matrix one = pruned_tiles(tile_of(0x3c00, {{{0, 0}, infinity}, {{0, 1}, infinity}, {{0, 2}, nan}}));
  CHECK(kept_text(one).substr(0, 4) == "x.x.");
  CHECK(one.at(0, 2) == nan);
  const Matrix all = pruned_tiles(tile_of(infinity, {{{3, 3}, most}, {{0, 0}, nan}, {{1, 1}, nan}, {{2, 2}, nan}}));
  for (const int i : {0, 1, 2}) CHECK(all.at(i, i) == nan);
  Matrix bytes{Scalar::e4m3, 4, 4};  // which have no infinities: 0x7e is 448
  for (std::uint32_t& bits : bytes.bits) bits = 0x7e;
  bytes.at(0, 3) = 0xff;
  CHECK(kept_text(pruned_tiles(bytes)) == "x..x xx.. .xx. ..xx");
  Matrix integers{Scalar::s8, 4, 4};  // −128 is the largest
  for (std::uint32_t& bits : integers.bits) bits = 127;
  integers.at(0, 3) = 0x80;
  CHECK(kept_text(pruned_tiles(integers)) == "x..x xx.. .xx. ..xx");
}

TEST_CASE("pruning by tiles leaves what lies between rows, and refuses in one line what cannot be", "[sparsity]") {
  std::vector<std::uint16_t> memory(5 * 12, 0x3c00), apart(memory.size(), 7);
  sparse_prune_tiles_on_host({Scalar::f16, 5, 8, 12}, memory.data(), apart.data());
  for (std::size_t row = 0; row < 5; ++row) {
    CHECK(apart[row * 12 + 7] != 7);
    CHECK(apart[row * 12 + 8] == 7);
  }
  const auto refused = [&](const SparseMatrix& matrix, const void* dense) {
    try {
      sparse_prune_tiles_on_host(matrix, dense, memory.data());
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("none");
  };
  CHECK(refused({Scalar::f16, 4, 10}, memory.data()) == "k is 10: expected a multiple of 4, up to 268435456");
  CHECK(refused({Scalar::f16, 4, 8}, nullptr) == "dense is null: expected host memory");
  CHECK(refused({Scalar::f64, 4, 8}, memory.data()).find("elements are f64") == 0);
  CHECK(refused({Scalar::f16, 0, 8}, nullptr) == "none");
  tilesmith_sparse_matrix matrix;
  REQUIRE(tilesmith_sparse_matrix_init(&matrix, "bf16", 4, 8) == TILESMITH_OK);
  CHECK(tilesmith_sparse_prune_tiles_on_host(&matrix, memory.data(), memory.data()) == TILESMITH_OK);
  CHECK(tilesmith_sparse_prune_tiles_on_host(nullptr, memory.data(), memory.data()) == TILESMITH_BAD_ARGUMENT);
  CHECK(tilesmith_sparse_prune_tiles(nullptr, nullptr, &matrix, nullptr, nullptr) == TILESMITH_BAD_ARGUMENT);
}
