// What stands in weights that are proven, and where: rules that host and device share, as those of shared_rules.hpp.
// Written from the words of kernels/problem/weights.hpp, and apart from what kernels read the layout by. (No
// preprocessor line inside: the text is one line.)
#pragma once

#include "tuner/verify/shared_rules.hpp"

#if defined(TILESMITH_VERIFY_FN) || defined(TILESMITH_WEIGHTS_RULES)
#error "TILESMITH_VERIFY_FN and TILESMITH_WEIGHTS_RULES belong to this header"
#endif
#define TILESMITH_VERIFY_FN inline
#define TILESMITH_WEIGHTS_RULES(...) \
  __VA_ARGS__                        \
  inline constexpr const char* kWeightsRulesText = #__VA_ARGS__;

// WeightsRule      what weights hold. `kind`: kS4Weights ..; `for_bytes`: whether A has elements of 8 bits;
//                  `group`: columns that share a scale, K of the whole column; `real`: scales are
//                  any numbers, else powers of two; `values`: initial configs, and how sparse weights are
//                  (exact_data.hpp).
// weight_scale     of a group and a row (n), before it is rounded to its type. weight_zero: an integer; of e4m3 a multiple of its units.
// weight_code      of a row and a column. Exact ones are never of value 0 after the zero is taken off, unless they are sparse, or of e2m1 or nf4,
//                  of which one in 16 is.
// code_value       what a code stands for. Of nf4 that is the table's value, rounded to nearest in A's type: f16 or, kNf4OfBf16Weights, bf16.
//                  Experts lie one behind the other: rows are counted on, each one's padded to 16 as its codes are.
// row_of_term      of a scale or a zero of all experts, by its place among them: its row.
// super_factor     of K-quants 256 columns' d, or their dmin, before it is rounded to f16. q4k_group: the scale and the minimum of 32 columns,
//                  and of exact ones the code whose weight is 0, which is their zero. q6k_scale: the scale of 16 columns.
// weight_term_of   what stands among scales or zeros, [experts][rows][columns] elements, of Q4_K pairs, and scales of Q6_K fours.
// CodeSlot         where a code lies: its byte, and its lowest bit there. code_in_byte: the row and column of one that lies there.
//                  Of Q6_K that is the lower part, in a block of its own; slot_of_upper: the upper part, among all bytes.
// stored_code      a code, as it is read.
namespace tilesmith::tuner::verify {

TILESMITH_WEIGHTS_RULES(
    enum WeightsKind{kS4Weights = 1, kU4Weights, kS8Weights, kE4m3Weights, kE2m1Weights, kNf4Weights, kNf4OfBf16Weights,
        kQ4kWeights, kQ6kWeights};

    struct WeightsRule {
      int kind;
      int has_zeros;
      int real;
      int for_bytes;
      long long group;
      ValueRule values;
    };

    struct Q4kGroup {
      int scale;
      int minimum;
      int zero;
    };

    struct CodeSlot {
      long long byte;
      int shift;
    };

    TILESMITH_VERIFY_FN int bits_of_code(int kind) {
      return kind == kS8Weights || kind == kE4m3Weights ? 8 : kind == kQ6kWeights ? 6 : 4;
    }

    TILESMITH_VERIFY_FN bool is_nf4(int kind) { return kind == kNf4Weights || kind == kNf4OfBf16Weights; }

    TILESMITH_VERIFY_FN int code_of_zero(int kind) {
      return kind == kS4Weights ? 8 : kind == kS8Weights ? 128 : kind == kQ6kWeights ? 32 : is_nf4(kind) ? 7 : 0;
    }

    TILESMITH_VERIFY_FN double power_of_two(int exponent) {
      double result = 1.0;
      for (int i = 0; i < exponent; ++i) result *= 2.0;
      for (int i = 0; i > exponent; --i) result *= 0.5;
      return result;
    }

    TILESMITH_VERIFY_FN unsigned long long weights_hash(const WeightsRule& rule, int what, long long x, long long y) {
      return mixed(rule.values.seed + 0x632be59bd9b4e019ull * static_cast<unsigned long long>(what),
          static_cast<unsigned long long>(x), static_cast<unsigned long long>(y));
    }

    TILESMITH_VERIFY_FN int unit_exponent(const WeightsRule& rule, long long of_group, long long n) {
      if (rule.real != 0) return 0;
      if (rule.kind == kE2m1Weights) return 1;
      if (is_nf4(rule.kind)) return rule.kind == kNf4Weights ? 14 : 11;
      if (rule.kind != kE4m3Weights) return 0;
      const int choice = static_cast<int>((weights_hash(rule, 1, of_group, n) >> 40) % 3);
      return choice == 0 ? 0 : choice == 1 ? 4 : 9;
    }

    TILESMITH_VERIFY_FN double any_magnitude(unsigned long long h) {
      const double magnitude = (static_cast<double>((h >> 41) | 1ull) / 8388608.0 + 0.125) / 1.125;
      return (h & 1ull) != 0 ? -magnitude : magnitude;
    }

    TILESMITH_VERIFY_FN double super_factor(const WeightsRule& rule, bool of_minima, long long of_super, long long n) {
      const unsigned long long h = weights_hash(rule, 5, of_super, n);
      if (rule.real != 0)
        return of_minima ? any_magnitude(weights_hash(rule, 6, of_super, n)) * power_of_two(-7)
                         : any_magnitude(h) * power_of_two(rule.kind == kQ6kWeights ? -12 : -11);
      const int exponent = static_cast<int>((h >> 24) % 2) + (of_minima ? static_cast<int>((h >> 32) % 3) : 0);
      return (h & 1ull) != 0 ? -power_of_two(exponent) : power_of_two(exponent);
    }

    TILESMITH_VERIFY_FN Q4kGroup q4k_group(const WeightsRule& rule, long long of_group, long long n) {
      const unsigned long long h = weights_hash(rule, 7, of_group, n);
      const int drawn = static_cast<int>((h >> 32) % 64);
      if (rule.real != 0) return Q4kGroup{1 + static_cast<int>((h >> 24) % 63), drawn, 0};
      const double d = super_factor(rule, false, of_group / 8, n);
      const int ratio = static_cast<int>(super_factor(rule, true, of_group / 8, n) / d);
      const int scale = 1 + static_cast<int>((h >> 24) % (d * d > 1.0 ? 31 : 63));
      const int most = 63 * ratio / scale;
      const int zero = (drawn % 16 < most ? drawn % 16 : most < 15 ? most : 15) / ratio * ratio;
      return Q4kGroup{scale, scale * zero / ratio, zero};
    }

    TILESMITH_VERIFY_FN int q6k_scale(const WeightsRule& rule, long long of_group, long long n) {
      const unsigned long long h = weights_hash(rule, 7, of_group, n);
      const int drawn = static_cast<int>((h >> 24) % 256);
      if (rule.real != 0) return drawn - 128;
      const double d = super_factor(rule, false, of_group / 16, n);
      const int scale = 1 + drawn % (d * d > 1.0 ? 15 : 31);
      return (h & 1ull) != 0 ? -scale : scale;
    }

    TILESMITH_VERIFY_FN double weight_scale(const WeightsRule& rule, long long of_group, long long n) {
      if (rule.kind == kQ6kWeights) return super_factor(rule, false, of_group / 16, n) * q6k_scale(rule, of_group, n);
      if (rule.kind == kQ4kWeights)
        return super_factor(rule, false, of_group / 8, n) * q4k_group(rule, of_group, n).scale;
      const unsigned long long h = weights_hash(rule, 2, of_group, n);
      if (rule.real != 0) {
        return any_magnitude(h) * power_of_two(is_nf4(rule.kind)           ? 0
                                               : rule.kind == kE2m1Weights ? -3
                                               : rule.kind == kE4m3Weights ? -9
                                               : rule.kind == kS8Weights   ? -8
                                                                           : -4);
      }
      const int exponent = static_cast<int>((h >> 24) % (rule.kind == kS8Weights || rule.kind == kNf4Weights ? 2 : 3)) +
                           unit_exponent(rule, of_group, n);
      return (h & 1ull) != 0 ? -power_of_two(exponent) : power_of_two(exponent);
    }

    TILESMITH_VERIFY_FN double weight_zero(const WeightsRule& rule, long long of_group, long long n) {
      if (rule.has_zeros == 0 || rule.kind == kQ6kWeights) return 0.0;
      if (rule.kind == kQ4kWeights)
        return super_factor(rule, true, of_group / 8, n) * q4k_group(rule, of_group, n).minimum /
               weight_scale(rule, of_group, n);
      const int drawn = static_cast<int>((weights_hash(rule, 3, of_group, n) >> 20) % 256);
      if (rule.kind == kU4Weights) return drawn % 16;
      if (rule.kind == kS4Weights) return drawn % 16 - 8;
      if (rule.kind == kS8Weights) return rule.real != 0 ? drawn - 128 : drawn % 7 - 3;
      return (drawn % 7 - 3) * power_of_two(-unit_exponent(rule, of_group, n));
    }

    TILESMITH_VERIFY_FN int code_of_units(int units, int exponent) {
      const int magnitude = units < 0 ? -units : units;
      int log = 0;
      while (magnitude >> (log + 1) != 0) ++log;
      const int biased = log - exponent + 7;
      const int bits = magnitude == 0 ? 0
                       : biased >= 1  ? biased << 3 | (magnitude * 8 >> log & 7)
                                      : magnitude << (9 - exponent);
      return units < 0 ? 128 | bits : bits;
    }

    TILESMITH_VERIFY_FN double nf4_of_type(int kind, int code) {
      const double table[16] = {-1.0, -0.6961928009986877, -0.5250730514526367, -0.39491748809814453,
          -0.28444138169288635, -0.18477343022823334, -0.09105003625154495, 0.0, 0.07958029955625534,
          0.16093020141124725, 0.24611230194568634, 0.33791524171829224, 0.44070982933044434, 0.5626170039176941,
          0.7229568362236023, 1.0};
      const double value = table[code];
      double unit = kind == kNf4Weights ? 0.0009765625 : 0.0078125;
      for (double magnitude = value < 0.0 ? -value : value; magnitude > 0.0 && magnitude < 1.0; magnitude *= 2.0)
        unit *= 0.5;
      return rint(value / unit) * unit;
    }

    TILESMITH_VERIFY_FN double code_value(int kind, int code) {
      if (is_nf4(kind)) return nf4_of_type(kind, code);
      if (kind == kE2m1Weights) {
        const int ends = code & 7;
        const double magnitude = ends < 2 ? 0.5 * ends : (2 + (ends & 1)) * power_of_two(ends / 2 - 2);
        return (code & 8) != 0 ? -magnitude : magnitude;
      }
      if (kind != kE4m3Weights) return code - code_of_zero(kind);
      const int exponent = code >> 3 & 15;
      const int fraction = code & 7;
      double value = exponent == 0 ? fraction * power_of_two(-9) : (8 + fraction) * power_of_two(exponent - 10);
      if (exponent == 15 && fraction == 7) value = sqrt(-1.0);
      return (code & 128) != 0 ? -value : value;
    }

    TILESMITH_VERIFY_FN int weight_code(const WeightsRule& rule, long long n, long long k, long long depth) {
      const long long of_group = k / rule.group;
      const unsigned long long h = weights_hash(rule, 4, n, k);
      const int byte = static_cast<int>((h >> 24) % 256);
      const bool extreme = (h & 14ull) == 0;
      if (rule.real != 0) {
        if (bits_of_code(rule.kind) < 8) return byte % (1 << bits_of_code(rule.kind));
        return rule.kind == kE4m3Weights && byte % 128 == 127 ? byte - 1 : byte;
      }
      const bool is_zero = rule.values.group > 1 && nonzero_position(rule.values, n, k, depth) != k;
      if (is_nf4(rule.kind)) return is_zero ? 7 : byte % 16;
      if (rule.kind == kE2m1Weights) {
        const bool some_zero = is_zero || (h >> 4) % 16 == 0;
        return (h & 1ull) != 0 ? (some_zero ? 8 : 9 + byte % 7) : some_zero ? 0 : 1 + byte % 7;
      }
      const int unit = unit_exponent(rule, of_group, n);
      const int zero = static_cast<int>(weight_zero(rule, of_group, n) * power_of_two(unit));
      int value = byte % 16 - (rule.kind == kS4Weights ? 8 : 0);
      if (rule.kind == kS8Weights) value = !extreme ? byte - 128 : (h & 1ull) != 0 ? -128 : 127;
      if (rule.kind == kE4m3Weights) value = byte % 33 - 16;
      if (rule.kind == kQ6kWeights) value = byte % 64 - 32;
      if (is_zero) value = zero;
      else if (value == zero) value = zero > 0 ? zero - 1 : zero + 1;
      return rule.kind == kE4m3Weights ? code_of_units(value, unit) : value + code_of_zero(rule.kind);
    }

    TILESMITH_VERIFY_FN CodeSlot slot_of_code(int kind, int for_bytes, long long n, long long k, long long depth) {
      const int columns = bits_of_code(kind) == 4 ? 64 : 32;
      const long long block = n / 16 * ((depth + columns - 1) / columns) + k / columns;
      const int row = static_cast<int>(n % 16);
      const int column = static_cast<int>(k % columns);
      if (for_bytes != 0) {
        const int bits_before = 32 * (column / 16) + 4 * (column & 3) + (row >= 8 ? 16 : 0);
        return CodeSlot{512 * block + 16 * (4 * (row & 7) + (column & 15) / 4) + bits_before / 8, bits_before % 8};
      }
      const int step = column / 16;
      const int within = column % 16;
      const int lane = 4 * (row & 7) + (within & 7) / 2;
      const int fragment = (row >= 8 ? 1 : 0) + (within >= 8 ? 2 : 0);
      const long long at = 512 * block + 16 * lane;
      if (columns == 32) return CodeSlot{at + 8 * step + 2 * fragment + (within & 1), 0};
      const int bit = 4 * (fragment + 4 * (within & 1));
      return CodeSlot{at + 4 * step + bit / 8, bit % 8};
    }

    TILESMITH_VERIFY_FN CodeSlot slot_of_upper(long long n, long long k, long long depth) {
      const long long block = n / 16 * (depth / 64) + k / 64;
      const int step = static_cast<int>(k % 64) / 16;
      const int within = static_cast<int>(k % 16);
      const int lane = 4 * static_cast<int>(n & 7) + (within & 7) / 2;
      const int bit = 16 * (within & 1) + 8 * (step & 1) + (n % 16 >= 8 ? 4 : 0) + (within >= 8 ? 2 : 0);
      return CodeSlot{768 * block + 512 + 8 * lane + 4 * (step / 2) + bit / 8, bit % 8};
    }

    TILESMITH_VERIFY_FN int stored_code(
        int kind, int for_bytes, const unsigned char* codes, long long n, long long k, long long depth) {
      const CodeSlot slot = slot_of_code(kind == kQ6kWeights ? kQ4kWeights : kind, for_bytes, n, k, depth);
      if (kind != kQ6kWeights) return codes[slot.byte] >> slot.shift & ((1 << bits_of_code(kind)) - 1);
      const CodeSlot upper = slot_of_upper(n, k, depth);
      const int lower = codes[slot.byte / 512 * 768 + slot.byte % 512] >> slot.shift & 15;
      return lower + 16 * (codes[upper.byte] >> upper.shift & 3);
    }

    TILESMITH_VERIFY_FN long long row_of_byte(int kind, int for_bytes, long long byte, int shift, long long depth) {
      const int columns = bits_of_code(kind) == 4 ? 64 : 32;
      const int bit = static_cast<int>(byte % 4) * 8 + shift;
      if (for_bytes != 0) return byte / 512 / ((depth + 63) / 64) * 16 + byte % 512 / 64 + (bit >= 16 ? 8 : 0);
      const int fragment = columns == 64 ? bit / 4 % 4 : static_cast<int>(byte % 8) / 2;
      return byte / 512 / ((depth + columns - 1) / columns) * 16 + byte % 512 / 64 + (fragment & 1) * 8;
    }

    TILESMITH_VERIFY_FN long long column_of_byte(int kind, int for_bytes, long long byte, int shift, long long depth) {
      const int columns = bits_of_code(kind) == 4 ? 64 : 32;
      const int bit = static_cast<int>(byte % 4) * 8 + shift;
      if (for_bytes != 0)
        return byte / 512 % ((depth + 63) / 64) * 64 + byte % 16 / 4 * 16 + byte % 64 / 16 * 4 + bit / 4 % 4;
      const int fragment = columns == 64 ? bit / 4 % 4 : static_cast<int>(byte % 8) / 2;
      const int hi = columns == 64 ? bit / 16 : static_cast<int>(byte % 2);
      const int step = static_cast<int>(byte % 16) / (columns == 64 ? 4 : 8);
      return byte / 512 % ((depth + columns - 1) / columns) * columns + step * 16 + fragment / 2 * 8 +
             byte % 64 / 16 * 2 + hi;
    }

    TILESMITH_VERIFY_FN long long row_of_term(long long index, long long groups, long long size_n) {
      return index / (groups * size_n) * (size_n + 15 - (size_n + 15) % 16) + index % size_n;
    }

    TILESMITH_VERIFY_FN double weight_term_of(
        const WeightsRule& rule, bool of_zeros, long long index, long long rows, long long columns) {
      const int together = rule.kind == kQ4kWeights ? 2 : rule.kind == kQ6kWeights && !of_zeros ? 4 : 1;
      const long long place = index / together;
      const long long size_n = columns / together;
      const long long row = place / size_n % rows;
      const long long n = row_of_term(place, rows, size_n);
      const bool q6k = rule.kind == kQ6kWeights;
      if (q6k) return of_zeros ? super_factor(rule, false, row, n) : q6k_scale(rule, 4 * row + index % 4, n);
      if (together == 1) return of_zeros ? weight_zero(rule, row, n) : weight_scale(rule, row, n);
      if (of_zeros) return super_factor(rule, index % 2 != 0, row, n);
      const Q4kGroup group = q4k_group(rule, row, n);
      return index % 2 != 0 ? group.minimum : group.scale;
    }

    TILESMITH_VERIFY_FN int code_or_padding(
        const WeightsRule& rule, long long n, long long k, long long size_n, long long depth) {
      const bool is_row = n % (size_n + 15 - (size_n + 15) % 16) < size_n;
      return is_row && k < depth ? weight_code(rule, n, k, depth) : code_of_zero(rule.kind);
    }

    TILESMITH_VERIFY_FN int byte_of_six_bits(
        const WeightsRule& rule, long long byte, long long size_n, long long depth) {
      const long long block = byte / 768;
      const int at = static_cast<int>(byte % 768);
      int result = 0;
      for (int shift = 0; at < 512 && shift < 8; shift += 4) {
        const long long n = row_of_byte(kQ4kWeights, 0, 512 * block + at, shift, depth);
        const long long k = column_of_byte(kQ4kWeights, 0, 512 * block + at, shift, depth);
        result |= (code_or_padding(rule, n, k, size_n, depth) & 15) << shift;
      }
      for (int shift = 0; at >= 512 && shift < 8; shift += 2) {
        const int lane = (at - 512) / 8;
        const long long n = block / (depth / 64) * 16 + lane / 4 + (shift >= 4 ? 8 : 0);
        const long long k =
            block % (depth / 64) * 64 + at % 8 / 4 * 32 + at % 2 * 16 + shift / 2 % 2 * 8 + lane % 4 * 2 + at % 4 / 2;
        result |= (code_or_padding(rule, n, k, size_n, depth) >> 4) << shift;
      }
      return result;
    }

    TILESMITH_VERIFY_FN int weights_byte(const WeightsRule& rule, long long byte, long long size_n, long long depth) {
      if (rule.kind == kQ6kWeights) return byte_of_six_bits(rule, byte, size_n, depth);
      int result = 0;
      for (int shift = 0; shift < 8; shift += bits_of_code(rule.kind)) {
        const long long n = row_of_byte(rule.kind, rule.for_bytes, byte, shift, depth);
        const long long k = column_of_byte(rule.kind, rule.for_bytes, byte, shift, depth);
        result |= code_or_padding(rule, n, k, size_n, depth) << shift;
      }
      return result;
    })

}  // namespace tilesmith::tuner::verify

#undef TILESMITH_WEIGHTS_RULES
#undef TILESMITH_VERIFY_FN
