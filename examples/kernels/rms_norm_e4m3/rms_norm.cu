// sum = in + residual; row = sum / rms(sum) * weight; quantised = row / scale, where the row's largest becomes the
// largest number of the format, and scale is stored beside it. `is_fp8`: to e4m3, else to 8-bit integers.
#include <cuda_bf16.h>
#include <cuda_fp8.h>

template <int size>
struct __align__(2 * size) Row {
  __nv_bfloat16 at[size];
};
template <int size>
struct __align__(size) Quantised {
  unsigned char at[size];
};

template <int is_fp8>
__device__ constexpr float largest() {
  return is_fp8 ? 448.0f : 127.0f;
}

template <int is_fp8>
__device__ unsigned char quantised_of(float value) {
  if constexpr (is_fp8) return __nv_cvt_float_to_fp8(value, __NV_SATFINITE, __NV_E4M3);
  return static_cast<unsigned char>(static_cast<signed char>(__float2int_rn(value)));
}

/// All of a load: fp8 is made in pairs.
template <int is_fp8, int vector>
__device__ Quantised<vector> quantised_of(const float (&values)[vector], float by) {
  Quantised<vector> result;
  if constexpr (is_fp8 && vector > 1) {
#pragma unroll
    for (int j = 0; j < vector; j += 2) {
      const __nv_fp8x2_storage_t pair =
          __nv_cvt_float2_to_fp8x2(make_float2(values[j] * by, values[j + 1] * by), __NV_SATFINITE, __NV_E4M3);
      result.at[j] = pair & 0xff;
      result.at[j + 1] = pair >> 8;
    }
  } else {
#pragma unroll
    for (int j = 0; j < vector; ++j) result.at[j] = quantised_of<is_fp8>(values[j] * by);
  }
  return result;
}

/// Combines what the threads of a row have; all get the result. `scratch` has a place for each warp of the block.
template <int threads, typename Combine>
__device__ float combined(float value, float* scratch, Combine combine) {
  for (int distance = 16; distance > 0; distance /= 2)
    value = combine(value, __shfl_xor_sync(0xffffffffu, value, distance));
  if constexpr (threads > 32) {
    const int first = threadIdx.y * (threads / 32);
    if (threadIdx.x % 32 == 0) scratch[first + threadIdx.x / 32] = value;
    __syncthreads();
    value = scratch[first];
    for (int warp = 1; warp < threads / 32; ++warp) value = combine(value, scratch[first + warp]);
  }
  return value;
}

/// `early`: whether weights are loaded with the row, which takes registers, or when the row's sum is known.
template <int threads, int rows_per_block, int vector, int per_thread, int early, int is_fp8>
__global__ void __launch_bounds__(threads* rows_per_block)
    rms_norm(unsigned char* __restrict__ quantised, float* __restrict__ scale, __nv_bfloat16* __restrict__ sum,
        const __nv_bfloat16* __restrict__ in, const __nv_bfloat16* __restrict__ residual,
        const __nv_bfloat16* __restrict__ weight, float epsilon, int rows, int cols) {
  __shared__ float of_squares[rows_per_block * threads / 32], of_largest[rows_per_block * threads / 32];
  const long long row = static_cast<long long>(blockIdx.x) * rows_per_block + threadIdx.y;
  const int loads = row < rows ? cols / vector : 0;
  const long long first = row * cols;
  const auto* weights = reinterpret_cast<const Row<vector>*>(weight);
  Row<vector> a[per_thread] = {}, b[per_thread] = {}, by[per_thread] = {};
#pragma unroll
  for (int i = 0; i < per_thread; ++i) {
    const int at = threadIdx.x + i * threads;
    if (at >= loads) continue;
    a[i] = reinterpret_cast<const Row<vector>*>(in + first)[at];
    b[i] = reinterpret_cast<const Row<vector>*>(residual + first)[at];
    if constexpr (early) by[i] = weights[at];
  }
  float values[per_thread][vector];
  float squares = 0;
#pragma unroll
  for (int i = 0; i < per_thread; ++i) {
    const int at = threadIdx.x + i * threads;
    Row<vector> both;
#pragma unroll
    for (int j = 0; j < vector; ++j) {
      both.at[j] = __float2bfloat16(__bfloat162float(a[i].at[j]) + __bfloat162float(b[i].at[j]));
      values[i][j] = __bfloat162float(both.at[j]);
      squares += values[i][j] * values[i][j];
    }
    if (at < loads) reinterpret_cast<Row<vector>*>(sum + first)[at] = both;
  }
  squares = combined<threads>(squares, of_squares, [](float a, float b) { return a + b; });
  const float norm = rsqrtf(squares / cols + epsilon);
  float most = 0;
#pragma unroll
  for (int i = 0; i < per_thread; ++i) {
    const int at = threadIdx.x + i * threads;
    if (at >= loads) continue;
    if constexpr (!early) by[i] = weights[at];
#pragma unroll
    for (int j = 0; j < vector; ++j) {
      values[i][j] *= norm * __bfloat162float(by[i].at[j]);
      most = fmaxf(most, fabsf(values[i][j]));
    }
  }
  most = combined<threads>(most, of_largest, [](float a, float b) { return fmaxf(a, b); });
  const float step = most / largest<is_fp8>(), inverse = most > 0 ? largest<is_fp8>() / most : 0;
  if (threadIdx.x == 0 && row < rows) scale[row] = step;
#pragma unroll
  for (int i = 0; i < per_thread; ++i) {
    const int at = threadIdx.x + i * threads;
    if (at >= loads) continue;
    reinterpret_cast<Quantised<vector>*>(quantised + first)[at] = quantised_of<is_fp8>(values[i], inverse);
  }
}

/// A thread a row, in double precision.
template <int is_fp8>
__global__ void rms_norm_reference(unsigned char* quantised, float* scale, __nv_bfloat16* sum, const __nv_bfloat16* in,
    const __nv_bfloat16* residual, const __nv_bfloat16* weight, float epsilon, int rows, int cols) {
  const long long first = static_cast<long long>(blockIdx.x) * cols;
  double squares = 0, most = 0;
  for (int i = 0; i < cols; ++i) {
    sum[first + i] = __float2bfloat16(__bfloat162float(in[first + i]) + __bfloat162float(residual[first + i]));
    const double value = __bfloat162float(sum[first + i]);
    squares += value * value;
  }
  const double norm = 1 / sqrt(squares / cols + epsilon);
  for (int i = 0; i < cols; ++i)
    most = fmax(most, fabs(__bfloat162float(sum[first + i]) * norm * __bfloat162float(weight[i])));
  scale[blockIdx.x] = static_cast<float>(most / largest<is_fp8>());
  for (int i = 0; i < cols; ++i) {
    const double value = __bfloat162float(sum[first + i]) * norm * __bfloat162float(weight[i]);
    quantised[first + i] = quantised_of<is_fp8>(most > 0 ? static_cast<float>(value / most * largest<is_fp8>()) : 0);
  }
}
