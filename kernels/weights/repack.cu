// Brings weights into the canonical layout, once: codes, then scales and zeros. Not tuned: a model's weights pass here
// when they are loaded.
#include "kernels/weights/repack.cuh"

namespace {

__device__ long long thread_number() { return static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; }
__device__ long long thread_count() { return static_cast<long long>(gridDim.x) * blockDim.x; }

}  // namespace

// Four bytes a thread and step.
extern "C" __global__ void repack_codes(const __grid_constant__ tilesmith::RepackArgs args) {
  const long long words = tilesmith::all_code_bytes(args.bits, args.n, args.k) / 4;
  for (long long word = thread_number(); word < words; word += thread_count()) {
    unsigned bytes = 0;
#pragma unroll
    for (int i = 0; i < 4; ++i) bytes |= unsigned(tilesmith::canonical_byte(args, word * 4 + i)) << 8 * i;
    reinterpret_cast<unsigned*>(args.to_codes)[word] = bytes;
  }
}

extern "C" __global__ void repack_scales(const __grid_constant__ tilesmith::RepackArgs args) {
  const long long count = args.groups * args.n;
  for (long long index = thread_number(); index < count; index += thread_count())
    tilesmith::put_scale_and_zero(args, index);
}

// Before anything is repacked: `fault` becomes the lowest number, from 1 on, of what is refused. It holds INT_MAX at
// first.
extern "C" __global__ void find_unordered(const __grid_constant__ tilesmith::RepackArgs args) {
  for (long long k = thread_number(); k < args.k; k += thread_count()) {
    if (!tilesmith::is_in_order(args, k)) atomicMin(args.fault, int(k) + 1);
  }
}

extern "C" __global__ void find_lost_scales(const __grid_constant__ tilesmith::RepackArgs args) {
  const long long count = args.groups * args.n;
  for (long long index = thread_number(); index < count; index += thread_count()) {
    if (!tilesmith::is_held_by_f16(args, index)) atomicMin(args.fault, int(index) + 1);
  }
}

extern "C" __global__ void find_lost_zeros(const __grid_constant__ tilesmith::RepackArgs args) {
  const long long count = args.groups * args.n;
  for (long long index = thread_number(); index < count; index += thread_count()) {
    if (!tilesmith::has_code_of_zero(args, index)) atomicMin(args.fault, int(index) + 1);
  }
}

extern "C" __global__ void find_endless_factors(const __grid_constant__ tilesmith::RepackArgs args) {
  const long long count = args.k / tilesmith::kSuperColumns * args.n;
  for (long long block = thread_number(); block < count; block += thread_count()) {
    if (!tilesmith::has_finite_factors(args, block)) atomicMin(args.fault, int(block) + 1);
  }
}

extern "C" __global__ void find_zeros(const __grid_constant__ tilesmith::RepackArgs args) {
  const long long count = args.groups * args.n;
  for (long long index = thread_number(); index < count; index += thread_count()) {
    if (!tilesmith::is_expected_zero(args, index)) atomicMin(args.fault, int(index) + 1);
  }
}
