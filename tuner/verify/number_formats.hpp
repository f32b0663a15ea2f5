// Element formats on the host, bit by bit: the verifier's own conversions, so that it needs no CUDA header and shares
// no code with the kernels it judges.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/problem/type_pair.hpp"

namespace tilesmith::tuner {

std::uint16_t to_f16(float value);  ///< round to nearest, ties to even
float from_f16(std::uint16_t bits);
std::uint16_t to_bf16(float value);  ///< round to nearest, ties to even
float from_bf16(std::uint16_t bits);
std::uint8_t to_fp8(
    Scalar element, double value);  ///< round to nearest, ties to even; beyond the range NaN (e4m3) or infinity
double from_fp8(Scalar element, std::uint8_t bits);
float round_to_tf32(float value);  ///< round to nearest, ties away from zero, as cvt.rna.tf32.f32 does

/// `value`, or the nearest end of what s8 or e4m3 hold: results beyond are stored so. NaN, and other elements' values,
/// stay.
double bounded(Scalar element, double value);

/// Writes `value` in the element's format (tf32: as f32, unrounded). s8 is rounded to nearest, ties to even, and
/// bounded; the other integer formats take integers in their range. Of an element below a byte: the lowest one, the
/// others become 0.
void encode(Scalar element, double value, std::byte* at);
/// Reads what is stored.
double decode(Scalar element, const std::byte* at);
/// Reads an operand as the multiplier sees it: tf32 is rounded on the way in.
double decode_operand(Scalar element, const std::byte* at);
/// The same of the element so many behind the first of a row or a matrix. Elements of less than a byte have no address
/// of their own; the one of lower index lies in the lower bits. What lies beside it in its byte stays.
void encode_at(Scalar element, double value, std::byte* first, std::int64_t at);
double decode_operand_at(Scalar element, const std::byte* first, std::int64_t at);
/// What the multiplier makes of two operands: of b1xor 1 where they differ.
double product(Scalar element, double a, double b);
/// The same for `count` consecutive elements.
void decode_operands(Scalar element, const std::byte* from, std::size_t count, double* to);

/// The element's bits that poison a result: a quiet NaN in the float formats, `garbage` (truncated) in the others.
std::uint64_t poison_bits(Scalar element, std::uint64_t garbage);
/// On little-endian machines, as all are that have such devices.
void store_bits(Scalar element, std::uint64_t bits, std::byte* at);
std::uint64_t load_bits(Scalar element, const std::byte* at);

}  // namespace tilesmith::tuner
