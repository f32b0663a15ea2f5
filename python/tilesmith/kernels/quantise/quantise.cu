// x / scale in 8 bits, and the scales: the kernel of tilesmith.quantise. A unit is a row of x, or `block` columns of a row. Its scale is its largest
// magnitude over `to`, the largest number of the result's type (448: e4m3, 127: s8), or 1 if that is zero; if `scaling` is 2, the next power of two.
// Every step is rounded as PyTorch rounds it.
// A NaN does not change a scale of e4m3, and makes one of s8 NaN. Scales lie as [ceil(cols / block)][rows].
//
//   block of threads: [units][threads]. The threads of a unit load `vector` elements each, `per_thread` times, and keep them in registers until the
//   scale is known. They load what is beyond that twice.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

template <typename Element, int size>
struct alignas(sizeof(Element) * size) Load {
  Element at[size];
};

/// The type of x, by its number in kernel.json.
template <int from>
struct Input {
  using Element = float;
};
template <>
struct Input<1> {
  using Element = __half;
};
template <>
struct Input<2> {
  using Element = __nv_bfloat16;
};

/// The largest magnitude of what a thread loads. NaN does not count for e4m3, and is the largest for s8.
template <int to, typename Element>
struct Largest {
  unsigned most = 0;  // as bits, which are in the order of the numbers

  template <int size>
  __device__ void take(const Load<Element, size>& load) {
#pragma unroll
    for (const float element : load.at) {
      const unsigned magnitude = __float_as_uint(element) & 0x7fffffffu;
      if (to == 127 || magnitude <= 0x7f800000u) most = max(most, magnitude);
    }
  }
  __device__ unsigned bits() const { return most; }
};
/// The same of elements of 16 bits, two at a time.
template <int to, typename Element, typename Pair>
struct LargestOfPairs {
  Pair most{Element(0.0f), Element(0.0f)};

  template <int size>
  __device__ void take(const Load<Element, size>& load) {
#pragma unroll
    for (int i = 0; i < size; i += 2) {
      const Pair magnitudes = __habs2(Pair{load.at[i], load.at[size == 1 ? i : i + 1]});
      most = to == 127 ? __hmax2_nan(most, magnitudes) : __hmax2(most, magnitudes);
    }
  }
  __device__ unsigned bits() const { return max(__float_as_uint(float(most.x)), __float_as_uint(float(most.y))); }
};
template <int to>
struct Largest<to, __half> : LargestOfPairs<to, __half, __half2> {};
template <int to>
struct Largest<to, __nv_bfloat16> : LargestOfPairs<to, __nv_bfloat16, __nv_bfloat162> {};

/// The largest of a unit's threads, for all of them. `of_warps` has a place for each warp of the block.
template <int threads>
__device__ unsigned largest_of_unit(unsigned most, unsigned* of_warps) {
#pragma unroll
  for (int distance = (threads < 32 ? threads : 32) / 2; distance > 0; distance /= 2)
    most = max(most, __shfl_xor_sync(0xffffffffu, most, distance));
  if constexpr (threads > 32) {
    of_warps += threadIdx.y * (threads / 32);
    if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32] = most;
    __syncthreads();
    for (int warp = 0; warp < threads / 32; ++warp) most = max(most, of_warps[warp]);
  }
  return most;
}

/// The least power of two that is not below a positive number, from 2^-126 on. Infinity if f32 has none.
__device__ float next_power(float scale) { return __uint_as_float((__float_as_uint(scale) + 0x7fffffu) & 0x7f800000u); }

/// Divides by a unit's scale. Each correction adds what the remainder says, by one reciprocal for the whole unit. After two a quotient is that of
/// IEEE's division, unless it is too small to become an element. After one it becomes the same element if x has 16 bits: this was tried for all pairs of x
/// and largest magnitude. Remainders are exact, as `factor` moves the scale away from the ends of f32's range.
template <int corrections>
struct Divider {
  float factor, divisor, reciprocal;

  __device__ explicit Divider(float scale) : factor(scale < 0x1p-60f ? 0x1p100f : scale > 0x1p60f ? 0x1p-64f : 1.0f) {
    reciprocal = __frcp_rn(scale * factor);
    divisor = isfinite(scale) ? scale * factor : 0;  // else reciprocal is 0 or NaN, and has the last word
  }
  __device__ float quotient_of(float value) const {
    value *= factor;
    float quotient = value * reciprocal;
#pragma unroll
    for (int i = 0; i < corrections; ++i) quotient = fmaf(fmaf(quotient, divisor, -value), -reciprocal, quotient);  // signed so that -0 remains
    return quotient;
  }
};

template <int to, typename Element, int size>
__device__ Load<unsigned char, size> quantised(const Load<Element, size>& load, const Divider<sizeof(Element) == 2 ? 1 : 2>& by) {
  float quotients[size];
#pragma unroll
  for (int i = 0; i < size; ++i) quotients[i] = by.quotient_of(static_cast<float>(load.at[i]));
  Load<unsigned char, size> result;
#pragma unroll
  for (int i = 0; i < size; ++i) {
    if constexpr (to == 127) {
      result.at[i] = max(-127, min(127, __float2int_rn(quotients[i])));  // 0 of NaN
    } else if constexpr (size == 1) {
      result.at[i] = __nv_cvt_float_to_fp8(quotients[i], __NV_SATFINITE, __NV_E4M3);
    } else if (i % 2 == 0) {
      reinterpret_cast<__nv_fp8x2_storage_t&>(result.at[i]) =
          __nv_cvt_float2_to_fp8x2(make_float2(quotients[i], quotients[i + 1]), __NV_SATFINITE, __NV_E4M3);
    }
  }
  return result;
}

template <int from, int to, int threads, int units, int vector, int per_thread>
__global__ void __launch_bounds__(threads* units)
    quantise(unsigned char* __restrict__ elements, float* __restrict__ scales, const __half* __restrict__ f16, const __nv_bfloat16* __restrict__ bf16,
             const float* __restrict__ f32, int rows, int cols, long long step, int block, int, int, int scaling) {
  __shared__ unsigned of_warps[units * threads / 32];
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;");  // a product that waits for this kernel by itself starts meanwhile
#endif
  const unsigned blocks = (cols - 1) / block + 1, unit = blockIdx.x * units + threadIdx.y;
  const long long row = unit / blocks;
  const int of_row = unit % blocks, first = of_row * block, loads = row < rows ? min(block, cols - first) / vector : 0;
  using Element = typename Input<from>::Element;
  const void* const x = from == 1 ? static_cast<const void*>(f16) : from == 2 ? static_cast<const void*>(bf16) : f32;
  const auto* const in = reinterpret_cast<const Load<Element, vector>*>(static_cast<const Element*>(x) + row * step + first);
  auto* const out = reinterpret_cast<Load<unsigned char, vector>*>(elements + row * cols + first);

  Load<Element, vector> kept[per_thread];
  Largest<to, Element> largest;
#pragma unroll
  for (int i = 0, at = threadIdx.x; i < per_thread; ++i, at += threads)
    if (at < loads) kept[i] = in[at];
#pragma unroll
  for (int i = 0, at = threadIdx.x; i < per_thread; ++i, at += threads)
    if (at < loads) largest.take(kept[i]);
#pragma unroll 1
  for (int at = threadIdx.x + per_thread * threads; at < loads; at += threads) {
    const Load<Element, vector> load = in[at];
    largest.take(load);
  }

  float scale = __fdiv_rn(__uint_as_float(largest_of_unit<threads>(largest.bits(), of_warps)), to);
  if (scale == 0) scale = 1;
  if (scaling == 2 && isfinite(scale)) scale = next_power(scale);
  const Divider<sizeof(Element) == 2 ? 1 : 2> by(scale);
  if (threadIdx.x == 0 && row < rows) scales[static_cast<long long>(of_row) * rows + row] = scale;
#pragma unroll
  for (int i = 0, at = threadIdx.x; i < per_thread; ++i, at += threads)
    if (at < loads) out[at] = quantised<to>(kept[i], by);
#pragma unroll 1
  for (int at = threadIdx.x + per_thread * threads; at < loads; at += threads) out[at] = quantised<to>(in[at], by);
}

/// A thread a unit.
__global__ void quantise_reference(unsigned char* elements, float* scales, const __half* f16, const __nv_bfloat16* bf16, const float* f32, int rows,
                                   int cols, long long step, int block, int input, int highest, int scaling) {
  const int blocks = (cols - 1) / block + 1, first = blockIdx.x % blocks * block, end = min(first + block, cols);
  const long long row = blockIdx.x / blocks;
  const auto x = [&](int i) { return input == 1 ? float(f16[row * step + i]) : input == 2 ? float(bf16[row * step + i]) : f32[row * step + i]; };
  float most = 0;
  for (int i = first; i < end; ++i) most = isnan(x(i)) ? (highest == 127 ? x(i) : most) : isnan(most) ? most : fmaxf(most, fabsf(x(i)));
  float scale = most / highest == 0 ? 1 : most / highest;
  if (scaling == 2 && isfinite(scale)) {
    float power = 0x1p-126f;
    while (power < scale) power *= 2;
    scale = power;
  }
  scales[static_cast<long long>(first / block) * rows + row] = scale;
  for (int i = first; i < end; ++i) {
    const float quotient = x(i) / scale;
    elements[row * cols + i] = highest == 448 ? __nv_cvt_float_to_fp8(quotient, __NV_SATFINITE, __NV_E4M3)
                               : isnan(quotient) ? 0 : static_cast<signed char>(rintf(fminf(fmaxf(quotient, -127), 127)));
  }
}
