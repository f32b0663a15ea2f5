// The few rules that host and device must agree on to the bit: which value stands where in an operand, and what counts
// as wrong. They are written once, in the subset of C++ that both compilers know; the macro compiles them here and
// keeps their text for the verifier's own device kernels. (No preprocessor line inside: the text is one line.)
#pragma once

#include <string>

#include "kernels/problem/activation.hpp"

#if defined(TILESMITH_VERIFY_FN) || defined(TILESMITH_SHARED_RULES)
#error "TILESMITH_VERIFY_FN and TILESMITH_SHARED_RULES belong to this header"
#endif
#define TILESMITH_VERIFY_FN inline
#define TILESMITH_SHARED_RULES(...) \
  __VA_ARGS__                       \
  inline constexpr const char* kSharedRulesText = #__VA_ARGS__;

// ValueRule      what an operand holds. `kind` is one of kRule...; `range`: the largest magnitude of kRuleIntegers;
//                `group`: 1, or one nonzero in every `group` consecutive k (see exact_data.hpp).
// rule_value     the value at (vector, k): vector is a row of op(A) or a column of op(B); depth is K. For C: (row,
//                column) with group 1.
//   kRuleIntegers  ±1 .. ±range, never 0: leaving one product out always changes the sum
//   kRuleS8, U8    the whole range, the extremes more often than chance
//   kRuleS4, U4    the same of 4 bits; kRuleBit: 0 or 1
//   kRuleWide      13-bit integers that tf32 cannot hold: half of them round up, so truncation shows; no ties
//   kRuleUniform24 odd multiples of 2^-23 in [-1, 1): exact in f32, and rounding to tf32 meets no tie that matters
//   kRuleUniform53 multiples of 2^-52 in [-1, 1)
//   kRuleS32       all 32 bits
// group_bits     of a 2:4 sparse operand: the four bits of a row's group (kernels/shared/multiply/sparse_layout.cuh), of elements of 32 bits in pairs.
//                place_of_stored: where along K a row's stored element stands; stored_of_place: the other way round, or
//                -1 for a zero.
// metadata_word  a word of such metadata.
// canary_bits    what stands in a slot outside C; differs from slot to slot, so that copying canaries about shows too.
// element_wrong  |got − want| > absolute + relative·|want|, written so that NaN is wrong.
// CaseRow        one suite case's zone of C: slots are elements; element (0, 0) is slot first_slot of the zone.
// stored_index   of an element `at` slots behind element (0, 0) of the first of so many matrices, entry_stride elements apart: entries
//                lie one behind the other or side by side within rows; (entry·rows + row)·cols + column, or -1 for a
//                slot outside them.
// stored_at      the slot of such an index.
// element_index  the same of D and C: (entry·m + row)·n + column.
// BlockScaleRule what A and B are multiplied by before they are multiplied; kinds of Scaling, 0 where they are not. An
//                entry's A and B are the matrices of these numbers, from their first row (column) on.
// block_scale    of row (column) `x` and column (row) k, as it was stored.
// EpilogueRule   what a kernel does with α·sum + β·c, and by which vectors. Kinds are those of Scaling, Bias, Activation
//                and Gate (kernels/problem/signature.hpp), in their order; `wraps`: integers modulo 2^32.
// epilogue_value act(value + bias); of a gated epilogue value + bias, of x or of y: activation_value() is D of the two.
// gate_column    the product's column of x (or y) of a pair.
// slot_fault     0, or what is wrong with a slot after two runs (kFault...).
namespace tilesmith::tuner::verify {

/// The formulas of kActivations, and their text for the device, which stands before the rules.
inline double activation_value(int activation, double x, double y) { return kActivations[activation].reference(x, y); }
std::string activations_text();

TILESMITH_SHARED_RULES(
    enum RuleKind{kRuleIntegers, kRuleS8, kRuleU8, kRuleWide, kRuleUniform24, kRuleUniform53, kRuleS32, kRuleS4,
        kRuleU4, kRuleBit};
    enum Fault{kFaultNone, kFaultWrong, kFaultOutside, kFaultSecondRun};

    struct ValueRule {
      int kind;
      int range;
      long long group;
      unsigned long long seed;
    };

    struct BlockScaleRule {
      int kind_a;
      int kind_b;
      long long matrix_a;
      long long matrix_b;
      long long first_row;
      long long m;
      long long n;
      long long k;
      ValueRule a;
      ValueRule b;
    };

    struct EpilogueRule {
      int scale_m;
      int scale_n;
      int bias;
      int bias_is_f32;
      int activation;
      int gate;
      int wraps;
      ValueRule scale_m_rule;
      ValueRule scale_n_rule;
      ValueRule bias_rule;
    };

    struct CaseRow {
      unsigned long long zone_slot;
      unsigned long long slots;
      unsigned long long first_slot;
      long long m;
      long long n;
      long long ldc;
      unsigned long long expected;
      double absolute;
      double relative;
      long long batch = 1;
      long long stride_c = 0;
    };

    TILESMITH_VERIFY_FN unsigned long long mixed(unsigned long long seed, unsigned long long x, unsigned long long y) {
      unsigned long long z = seed + x * 0x9e3779b97f4a7c15ull + y * 0xd1342543de82ef95ull;
      z = (z ^ (z >> 32)) * 0xbf58476d1ce4e5b9ull;
      z = (z ^ (z >> 29)) * 0x94d049bb133111ebull;
      return z ^ (z >> 31);
    }

    TILESMITH_VERIFY_FN long long nonzero_position(
        const ValueRule& rule, long long vector, long long k, long long depth) {
      const long long start = k / rule.group * rule.group;
      const long long length = depth - start < rule.group ? depth - start : rule.group;
      if (vector % 2 == 0 && start == 0) return 0;
      if (vector % 2 == 0 && start + length == depth) return depth - 1;
      const unsigned long long h = mixed(rule.seed ^ 0x5851f42d4c957f2dull, vector, start);
      return start + static_cast<long long>(h % static_cast<unsigned long long>(length));
    }

    TILESMITH_VERIFY_FN double rule_value(const ValueRule& rule, long long vector, long long k, long long depth) {
      if (rule.group > 1 && nonzero_position(rule, vector, k, depth) != k) return 0.0;
      const unsigned long long h = mixed(rule.seed, vector, k);
      const double sign = (h & 1ull) != 0 ? -1.0 : 1.0;
      const unsigned long long high = h >> 24;
      if (rule.kind == kRuleIntegers)
        return sign * (1.0 + static_cast<double>(high % static_cast<unsigned>(rule.range)));
      const double byte = static_cast<double>(high % 256);
      const bool extreme = (h & 14ull) == 0;
      if (rule.kind == kRuleS8) return !extreme ? byte - 128.0 : sign < 0 ? -128.0 : 127.0;
      if (rule.kind == kRuleU8) return !extreme ? byte : sign < 0 ? 0.0 : 255.0;
      const double nibble = static_cast<double>(high % 16);
      if (rule.kind == kRuleS4) return !extreme ? nibble - 8.0 : sign < 0 ? -8.0 : 7.0;
      if (rule.kind == kRuleU4) return !extreme ? nibble : sign < 0 ? 0.0 : 15.0;
      if (rule.kind == kRuleBit) return static_cast<double>(high % 2);
      const double rest = (h & 2ull) != 0 ? 3.0 : 1.0;
      if (rule.kind == kRuleWide) return sign * (4.0 * (1024.0 + static_cast<double>(high % 1023)) + rest);
      if (rule.kind == kRuleUniform24) return static_cast<double>((h >> 40) | 1ull) / 8388608.0 - 1.0;
      if (rule.kind == kRuleUniform53) return static_cast<double>(h >> 11) / 4503599627370496.0 - 1.0;
      return static_cast<double>(static_cast<int>(static_cast<unsigned>(h >> 32)));
    }

    TILESMITH_VERIFY_FN double block_scale(const BlockScaleRule& rule, bool of_a, long long x, long long k) {
      const int kind = of_a ? rule.kind_a : rule.kind_b;
      if (kind == 0) return 1.0;
      const long long matrix = of_a ? rule.matrix_a : rule.matrix_b;
      const long long at = of_a ? rule.first_row + x : x;
      const long long extent_blocks = ((of_a ? rule.m : rule.n) + 127) / 128;
      const ValueRule& values = of_a ? rule.a : rule.b;
      const double value = kind == 3 ? rule_value(values, matrix * ((rule.k + 127) / 128) + k / 128, at, 1)
                                     : rule_value(values, matrix * extent_blocks + at / 128, k / 128, 1);
      return static_cast<double>(static_cast<float>(value));
    }

    TILESMITH_VERIFY_FN unsigned group_bits(long long row, long long group, bool pairs) {
      const unsigned long long h = mixed(0x24ull, row, group);
      if (pairs) return (h & 1ull) != 0 ? 14u : 4u;
      return 0xedc984u >> (h % 6 * 4) & 15u;
    }

    TILESMITH_VERIFY_FN long long place_of_stored(long long row, long long stored, bool pairs) {
      if (pairs) return 2 * stored + (group_bits(row, stored, true) == 14u ? 1 : 0);
      const unsigned bits = group_bits(row, stored / 2, false);
      return stored / 2 * 4 + (stored % 2 != 0 ? bits >> 2 : bits & 3u);
    }

    TILESMITH_VERIFY_FN long long stored_of_place(long long row, long long k, bool pairs) {
      const long long first = pairs ? k / 2 : k / 4 * 2;
      if (place_of_stored(row, first, pairs) == k) return first;
      if (!pairs && place_of_stored(row, first + 1, pairs) == k) return first + 1;
      return -1;
    }

    TILESMITH_VERIFY_FN unsigned metadata_word(long long word, long long row_blocks, int element_bytes) {
      const long long block = word / 32;
      const int g = static_cast<int>(word % 32 / 4);
      const int t = static_cast<int>(word % 4);
      unsigned bits = 0;
      for (int i = 0; i < 8; ++i) {
        const int row = element_bytes == 1 ? t % 2 * 8 : i / 4 * 8;
        const int group = element_bytes == 1 ? t / 2 * 8 + i : 4 * t + i % 4;
        bits |= group_bits(block % row_blocks * 16 + g + row, block / row_blocks * 16 + group, element_bytes == 4)
                << (4 * i);
      }
      return bits;
    }

    TILESMITH_VERIFY_FN unsigned long long canary_bits(unsigned long long slot) { return mixed(0xc0a17ull, slot, 1); }

    TILESMITH_VERIFY_FN unsigned tf32_rounded_bits(
        unsigned bits) { return (bits & 0x7f800000u) == 0x7f800000u ? bits : (bits + 0x1000u) & 0xffffe000u; }

    TILESMITH_VERIFY_FN long long gate_column(int gate, long long pair, bool of_y, long long pairs) {
      if (gate == 2) return 2 * pair + (of_y ? 1 : 0);
      return of_y ? pairs + pair : pair;
    }

    TILESMITH_VERIFY_FN double epilogue_value(const EpilogueRule& rule, double value, double bias) {
      double sum = rule.bias == 0 ? value : value + bias;
      if (rule.wraps != 0)
        sum = static_cast<double>(static_cast<int>(static_cast<unsigned>(static_cast<long long>(sum))));
      return rule.gate == 0 ? activation_value(rule.activation, sum, 0.0) : sum;
    }

    TILESMITH_VERIFY_FN bool element_wrong(double got, double want, double absolute, double relative) {
      const double difference = got < want ? want - got : got - want;
      const double magnitude = want < 0 ? -want : want;
      return !(difference <= absolute + relative * magnitude);
    }

    TILESMITH_VERIFY_FN long long stored_index(long long at, long long rows, long long cols, long long row_stride,
        long long matrices, long long entry_stride) {
      const bool behind = entry_stride >= (rows - 1) * row_stride + cols;
      long long entry = 0;
      if (matrices > 1 && behind) {
        entry = at / entry_stride;
        at -= entry * entry_stride;
      }
      const long long i = at / row_stride;
      long long j = at % row_stride;
      if (matrices > 1 && !behind) {
        entry = j / entry_stride;
        j -= entry * entry_stride;
      }
      return entry < matrices && i < rows && j < cols ? (entry * rows + i) * cols + j : -1;
    }

    TILESMITH_VERIFY_FN long long stored_at(
        long long index, long long rows, long long cols, long long row_stride, long long entry_stride) {
      const long long row = index / cols;
      return row / rows * entry_stride + row % rows * row_stride + index % cols;
    }

    TILESMITH_VERIFY_FN long long element_index(const CaseRow& row, unsigned long long slot) {
      if (slot < row.first_slot) return -1;
      return stored_index(
          static_cast<long long>(slot - row.first_slot), row.m, row.n, row.ldc, row.batch, row.stride_c);
    }

    TILESMITH_VERIFY_FN int slot_fault(const CaseRow& row, bool inside, double want, unsigned long long canary,
        unsigned long long bits_1, unsigned long long bits_2, double value_1, double value_2, bool same_bits) {
      if (!inside) return bits_1 != canary || bits_2 != canary ? kFaultOutside : kFaultNone;
      if (element_wrong(value_1, want, row.absolute, row.relative)) return kFaultWrong;
      if (same_bits && bits_1 != bits_2) return kFaultSecondRun;
      return element_wrong(value_2, want, row.absolute, row.relative) ? kFaultSecondRun : kFaultNone;
    })

}  // namespace tilesmith::tuner::verify

#undef TILESMITH_SHARED_RULES
#undef TILESMITH_VERIFY_FN
