// The verifier's device kernels for weights, behind those of reference_source.cpp.
#include "tuner/verify/weights_data.hpp"

namespace tilesmith::tuner {

const char* const kWeightsKernelsText = R"device(
// A whole zone of codes: garbage in the guards, or nothing but NaN where the type has it.
extern "C" __global__ void fill_weights(unsigned char* zone, u64 bytes, u64 first, u64 length, i64 n, i64 depth, WeightsRule rule) {
  for (u64 at = thread_index(); at < bytes; at += thread_count()) {
    const bool inside = at >= first && at - first < length;
    zone[at] = inside ? (unsigned char)weights_byte(rule, (i64)(at - first), n, depth)
                      : rule.kind == kE4m3Weights ? (unsigned char)0x7f : (unsigned char)canary_bits(at);
  }
}

__device__ inline double weight_term(const unsigned char* terms, int element, i64 index) {
  if (element == 2) return ((const float*)terms)[index];
  const unsigned short bits = ((const unsigned short*)terms)[index];
  return element == 1 ? bf16_value(bits) : f16_value(bits);
}

// Their scales or their zeros, [experts][groups][n]. element: f16, bf16, f32, bytes by number.
extern "C" __global__ void fill_weight_terms(unsigned char* zone, u64 slots, u64 first, i64 experts, i64 groups, i64 n, int element, int of_zeros, WeightsRule rule) {
  for (u64 slot = thread_index(); slot < slots; slot += thread_count()) {
    const bool inside = slot >= first && slot - first < (u64)(experts * groups * n);
    const i64 index = inside ? (i64)(slot - first) : 0;
    const double value = weight_term_of(rule, of_zeros != 0, index, groups, n);
    if (element == 3) zone[slot] = inside ? (unsigned char)(int)value : 0xff;
    else if (element == 2) ((u32*)zone)[slot] = inside ? __float_as_uint((float)value) : 0x7fffffffu;
    else ((unsigned short*)zone)[slot] = !inside ? (unsigned short)0x7fffu : element == 1 ? bf16_bits(value) : f16_bits(value);
  }
}

// W in B's place.
template <typename Sum>
static __device__ void multiply_by_weights(const OperandBits* a, i64 lda, int trans_a, const unsigned char* codes, const unsigned char* scales,
                                           const unsigned char* zeros, int element, WeightsRule rule, const i64* rows, i64 first_row, i64 count,
                                           i64 n, i64 k, Sum* sums) {
  const auto weight = [=](i64 at_k, i64 j) {
    const int code = stored_code(rule.kind, rule.for_bytes, codes, j, at_k, k);
    const i64 term = at_k / rule.group * n + j;
    if (rule.kind == kQ4kWeights) {
      const i64 factors = 2 * (at_k / 256 * n + j);
      return weight_term(zeros, 0, factors) * scales[2 * term] * code - weight_term(zeros, 0, factors + 1) * scales[2 * term + 1];
    }
    if (rule.kind == kQ6kWeights) {
      const int scale = ((const signed char*)scales)[4 * (at_k / 64 * n + j) + at_k / 16 % 4];
      return weight_term(zeros, 0, at_k / 256 * n + j) * scale * (code - 32);
    }
    const double zero = zeros != nullptr ? weight_term(zeros, element, term) : 0.0;
    return weight_term(scales, element, term) * (code_value(rule.kind, code) - zero);
  };
  multiply_by(a, lda, trans_a, false, BlockScaleRule(), weight, 1, rows, first_row, count, n, k, sums);
}

extern "C" __global__ void multiply_weights_exact(const OperandBits* a, i64 lda, int trans_a, const unsigned char* codes, const unsigned char* scales,
                                                  const unsigned char* zeros, int element, WeightsRule rule, const i64* rows, i64 first_row,
                                                  i64 count, i64 n, i64 k, ExactSum* sums) {
  multiply_by_weights<ExactSum>(a, lda, trans_a, codes, scales, zeros, element, rule, rows, first_row, count, n, k, sums);
}

extern "C" __global__ void multiply_weights_real(const OperandBits* a, i64 lda, int trans_a, const unsigned char* codes, const unsigned char* scales,
                                                 const unsigned char* zeros, int element, WeightsRule rule, const i64* rows, i64 first_row,
                                                 i64 count, i64 n, i64 k, double* sums) {
  multiply_by_weights<double>(a, lda, trans_a, codes, scales, zeros, element, rule, rows, first_row, count, n, k, sums);
}
)device";

std::vector<std::string> weights_entries() {
  return {"fill_weights", "fill_weight_terms", "multiply_weights_exact", "multiply_weights_real"};
}

}  // namespace tilesmith::tuner
