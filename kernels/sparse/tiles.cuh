// Prunes a matrix so that it and its transpose are 2:4 sparse. Host and device read this same file: sparse.cu runs it
// on the device, runtime/interface/sparse_tiles.cpp on the host.
//
// A tile is a group's elements squared: 4 × 4, or, of 4-byte elements, 2 × 2. Half of each row and of each column of it
// stays: of the 90 ways to choose so (of 2 × 2, the 2 ways) the one whose elements have the largest sum of magnitudes.
// Of ways as good, the first in the order of their first rows' places, then the second's, and so on, places being 01 02
// 03 12 13 23 (0, 1). Behind the last row are zeros.
//
// Sums are made in f64: those that differ by its rounding alone are as good. A way that keeps more NaN is better than
// any that keeps fewer, then one that keeps more infinities.
#pragma once

#include "kernels/shared/multiply/sparse_layout.cuh"

#ifdef __CUDACC__
#define TILESMITH_UNROLL _Pragma("unroll")
#else
#define TILESMITH_UNROLL
#endif

namespace tilesmith {

struct PruneTilesArgs {
  const void* dense;  // [rows, k], row stride ld elements
  void* pruned;       // the same, or `dense`
  long long rows, k, ld;
};

// exponent_bits is 0 of integers.
struct ElementFormat {
  int bytes, exponent_bits, fraction_bits;
  bool has_sign, has_infinity;
};

// What a set of elements is worth to be kept.
struct Worth {
  int not_finite = 0;  // each NaN counts more than all the infinities there can be
  double sum = 0;      // of the magnitudes of the rest
};

constexpr int kWorthOfInfinity = 1, kWorthOfNan = 17;

TILESMITH_HOST_DEVICE inline Worth operator+(const Worth& x, const Worth& y) {
  return {x.not_finite + y.not_finite, x.sum + y.sum};
}
TILESMITH_HOST_DEVICE inline bool operator>(const Worth& x, const Worth& y) {
  return x.not_finite != y.not_finite ? x.not_finite > y.not_finite : x.sum > y.sum;
}

TILESMITH_HOST_DEVICE inline double power_of_two(int exponent) {
  union {
    unsigned long long u;
    double f;
  } both;
  both.u = (unsigned long long)(1023 + exponent) << 52;
  return both.f;
}

TILESMITH_HOST_DEVICE inline Worth worth_of(unsigned bits, const ElementFormat& format) {
  const unsigned sign = format.has_sign ? 1u << (8 * format.bytes - 1) : 0;
  if (format.exponent_bits == 0) return {0, double(format.has_sign && (bits & sign) != 0 ? 2 * sign - bits : bits)};
  const unsigned magnitude = bits & ~sign, fraction = magnitude & ((1u << format.fraction_bits) - 1);
  const int exponent = int(magnitude >> format.fraction_bits), last = (1 << format.exponent_bits) - 1, bias = last / 2;
  if (format.has_infinity && exponent == last) return {fraction != 0 ? kWorthOfNan : kWorthOfInfinity, 0};
  if (!format.has_infinity && magnitude == sign - 1) return {kWorthOfNan, 0};
  const double whole = exponent == 0 ? double(fraction) : double(fraction | 1u << format.fraction_bits);
  return {0, whole * power_of_two((exponent == 0 ? 1 : exponent) - bias - format.fraction_bits)};
}

// The places of one row that stay, as bits: 01 02 03 12 13 23.
TILESMITH_HOST_DEVICE constexpr unsigned pair_of(int number) { return 0xca6953u >> (4 * number) & 15; }

// Each bit as four.
TILESMITH_HOST_DEVICE constexpr unsigned spread(unsigned bits) {
  return (bits & 1) | (bits & 2) << 3 | (bits & 4) << 6 | (bits & 8) << 9;
}

// What the fourth row must keep for every column to have two; 0: no row does.
TILESMITH_HOST_DEVICE constexpr unsigned fourth_of(unsigned first, unsigned second, unsigned third) {
  const unsigned kept = spread(first) + spread(second) + spread(third);
  for (int number = 0; number < 6; ++number) {
    if (kept + spread(pair_of(number)) == 0x2222) return pair_of(number);
  }
  return 0;
}

TILESMITH_HOST_DEVICE inline Worth worth_of_pair(const Worth (&row)[4], unsigned pair) {
  Worth kept;
  TILESMITH_UNROLL
  for (int i = 0; i < 4; ++i) {
    if ((pair >> i & 1) != 0) kept = kept + row[i];
  }
  return kept;
}

// The bits of what stays, row by row.
TILESMITH_HOST_DEVICE inline unsigned kept_of_tile(const Worth (&worth)[4][4]) {
  Worth best{-1, 0}, of_pair[4][6];
  TILESMITH_UNROLL
  for (int row = 0; row < 4; ++row) {
    TILESMITH_UNROLL
    for (int number = 0; number < 6; ++number) of_pair[row][number] = worth_of_pair(worth[row], pair_of(number));
  }
  unsigned kept = 0;
  TILESMITH_UNROLL
  for (int first = 0; first < 6; ++first) {
    TILESMITH_UNROLL
    for (int second = 0; second < 6; ++second) {
      const Worth above = of_pair[0][first] + of_pair[1][second];
      TILESMITH_UNROLL
      for (int third = 0; third < 6; ++third) {
        TILESMITH_UNROLL
        for (int fourth = 0; fourth < 6; ++fourth) {
          if (fourth_of(pair_of(first), pair_of(second), pair_of(third)) != pair_of(fourth)) continue;
          const Worth all = above + (of_pair[2][third] + of_pair[3][fourth]);
          if (!(all > best)) continue;
          best = all;
          kept = pair_of(first) | pair_of(second) << 4 | pair_of(third) << 8 | pair_of(fourth) << 12;
        }
      }
    }
  }
  return kept;
}

TILESMITH_HOST_DEVICE inline unsigned kept_of_tile(const Worth (&worth)[2][2]) {
  return worth[0][1] + worth[1][0] > worth[0][0] + worth[1][1] ? 0x6 : 0x9;
}

TILESMITH_HOST_DEVICE inline long long tiles_of(const PruneTilesArgs& args, int side) {
  return metadata_blocks(args.rows, side) * (args.k / side);
}

// Element: an unsigned integer of the format's size.
template <typename Element>
TILESMITH_HOST_DEVICE inline void prune_tile(const PruneTilesArgs& args, long long tile, const ElementFormat& format) {
  constexpr int kSide = group_elements(int(sizeof(Element)));
  const long long across = args.k / kSide, first = tile / across * kSide, column = tile % across * kSide;
  Element elements[kSide][kSide];
  Worth worth[kSide][kSide];
  TILESMITH_UNROLL
  for (int row = 0; row < kSide; ++row) {
    const Element* from = static_cast<const Element*>(args.dense) + (first + row) * args.ld + column;
    TILESMITH_UNROLL
    for (int i = 0; i < kSide; ++i) {
      elements[row][i] = first + row < args.rows ? from[i] : Element(0);
      worth[row][i] = worth_of(elements[row][i], format);
    }
  }
  const unsigned kept = kept_of_tile(worth);
  TILESMITH_UNROLL
  for (int row = 0; row < kSide; ++row) {
    Element* to = static_cast<Element*>(args.pruned) + (first + row) * args.ld + column;
    if (first + row >= args.rows) break;
    TILESMITH_UNROLL
    for (int i = 0; i < kSide; ++i) to[i] = (kept >> (row * kSide + i) & 1) != 0 ? elements[row][i] : Element(0);
  }
}

}  // namespace tilesmith

#undef TILESMITH_UNROLL
