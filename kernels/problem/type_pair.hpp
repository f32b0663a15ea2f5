// Type pairs: which types of operands, accumulator, output and scale a GEMM uses.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace tilesmith {

/// Element types. `tf32` is stored as 32-bit float and rounded to nearest tf32 on the way into the multiplier. `f32x3`
/// is stored so too; the multiplier takes it as a sum of two tf32, and a product as three of theirs. `e4m3` and `e5m2`
/// are 8-bit floats with as many bits of exponent and of fraction. `s4`, `u4`: two in a byte, the one of lower index in
/// its lower bits. `b1` and `b1xor`: eight in a byte, in the same order; the product of two bits is their AND or their
/// XOR.
enum class Scalar { f16, bf16, tf32, f32, f32x3, f64, s8, u8, s32, e4m3, e5m2, s4, u4, b1, b1xor };

/// Bits one element takes in memory (tf32, f32x3: 32).
std::size_t size_bits(Scalar scalar);
/// Bytes one element takes; 1 of elements that share a byte. What a pointer to an element is a multiple of.
std::size_t size_bytes(Scalar scalar);
/// Bytes of so many elements in a row, the first of which begins a byte.
std::int64_t storage_bytes(Scalar scalar, std::int64_t elements);
std::string_view name(Scalar scalar);
bool is_integer(Scalar scalar);
bool is_fp8(Scalar scalar);
/// Operands that are multiplied to the last bit of f32: `f32`, and `f32x3` nearly.
inline bool is_whole_f32(Scalar scalar) { return scalar == Scalar::f32 || scalar == Scalar::f32x3; }

/// One row of the table of type pairs. `name` is the canonical text (`f16f32`, `bf16f32bf16`, ...). `a` and `b` are the
/// types of the operands. `scale` is the type of α and β: f32 for outputs up to 32 bits but s32, whose own it is, and
/// f64 for f64. Results that s8 or e4m3 cannot hold become its nearest end, as infinities do; NaN is 0 as s8. All round
/// to nearest, ties to even.
struct TypePair {
  std::string_view name;
  Scalar a;
  Scalar b;
  Scalar accumulator;
  Scalar output;
  Scalar scale;

  friend bool operator==(const TypePair& a, const TypePair& b) { return a.name == b.name; }
};

/// Products of integers whose results are real numbers, or are rounded from some: α, scales, β, bias and activation are
/// f32, and so are sums from then on.
inline bool makes_integers_real(const TypePair& type) {
  return is_integer(type.accumulator) && !is_integer(type.scale);
}
/// Results of a byte each: they are stored in other ways than wider ones.
inline bool has_byte_results(const TypePair& type) { return size_bits(type.output) == 8; }

/// All type pairs this build knows, in the order in which they are documented.
std::span<const TypePair> type_pairs();

/// The type pair of that name, or nullptr.
const TypePair* find_type_pair(std::string_view name);

/// For errors: "f16f32, bf16f32, ...".
std::string type_pair_names();
/// "unknown type pair 'f17f32': expected one of f16f32, bf16f32, ...".
std::string unknown_type_pair(std::string_view name);

}  // namespace tilesmith
