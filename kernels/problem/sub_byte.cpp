#include "kernels/problem/sub_byte.hpp"

#include "kernels/shared/load/pass_layout.cuh"

namespace tilesmith {
namespace {

std::int64_t of_byte(Scalar element) { return 8 / std::int64_t(size_bits(element)); }

}  // namespace

bool is_sub_byte(Scalar element) { return size_bits(element) < 8; }
bool is_bit(Scalar element) { return size_bits(element) == 1; }

Problem strides_in_bytes(const Problem& problem) {
  Problem in_bytes = problem;
  if (!is_sub_byte(problem.type.a)) return in_bytes;
  const std::int64_t elements = of_byte(problem.type.a);
  for (std::int64_t* stride : {&in_bytes.lda, &in_bytes.ldb, &in_bytes.stride_a, &in_bytes.stride_b})
    *stride /= elements;
  return in_bytes;
}

Problem as_multiplied(const Problem& problem, Widening widening) {
  Problem multiplied = strides_in_bytes(problem);
  if (!is_sub_byte(problem.type.a)) return multiplied;
  multiplied.type.a = multiplied.type.b =
      widening == Widening::bytes && problem.type.a == Scalar::s4 ? Scalar::s8 : Scalar::u8;
  multiplied.k = multiplied_row_bytes(problem, widening);
  return multiplied;
}

std::int64_t multiplied_row_bytes(const Problem& problem, Widening widening) {
  if (widening == Widening::bytes) return problem.k;
  const std::int64_t bytes = storage_bytes(problem.type.a, problem.k);
  return widening == Widening::complement ? 2 * packed_row_stride(bytes, 1) : bytes;
}

bool ends_within_byte(const Problem& problem) {
  return is_sub_byte(problem.type.a) && problem.k % of_byte(problem.type.a) != 0;
}

}  // namespace tilesmith
