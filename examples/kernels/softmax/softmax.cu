// Softmax of the rows of a matrix. `threads` of a block share a row, and a block has `rows_per_block` of them.

template <int size>
struct __align__(4 * size) Vector {
  float at[size];
};

/// Combines what `threads` neighbours have; all get the result. `scratch` has a place for each warp of the block.
template <int threads, typename Combine>
__device__ float combined(float value, float* scratch, Combine combine) {
  for (int distance = min(threads, 32) / 2; distance > 0; distance /= 2)
    value = combine(value, __shfl_xor_sync(0xffffffffu, value, distance));
  if constexpr (threads > 32) {
    constexpr int warps = threads / 32;
    const int first = threadIdx.y * warps;
    __syncthreads();  // others may still read what was there
    if (threadIdx.x % 32 == 0) scratch[first + threadIdx.x / 32] = value;
    __syncthreads();
    value = scratch[first];
    for (int warp = 1; warp < warps; ++warp) value = combine(value, scratch[first + warp]);
  }
  return value;
}

template <int threads, int rows_per_block, int vector, int per_thread, int online>
__global__ void __launch_bounds__(threads* rows_per_block) softmax(float* out, const float* in, int rows, int cols) {
  using Load = Vector<vector>;
  __shared__ float scratch[rows_per_block * threads / 32];
  const float least = __int_as_float(0xff800000);  // minus infinity
  const long long row = static_cast<long long>(blockIdx.x) * rows_per_block + threadIdx.y;
  const bool is_there = row < rows;
  const int loads = is_there ? cols / vector : 0;
  const Load* from = reinterpret_cast<const Load*>(in + (is_there ? row : 0) * cols);
  Load* to = reinterpret_cast<Load*>(out + (is_there ? row : 0) * cols);
  const auto larger = [](float a, float b) { return fmaxf(a, b); };
  const auto sum_of = [](float a, float b) { return a + b; };

  if constexpr (online) {
    float most = least, sum = 0;
    for (int at = threadIdx.x; at < loads; at += threads * per_thread) {
      Load values[per_thread];
      float here = most;
#pragma unroll
      for (int i = 0; i < per_thread; ++i) {
        if (at + i * threads >= loads) continue;
        values[i] = from[at + i * threads];
#pragma unroll
        for (int j = 0; j < vector; ++j) here = fmaxf(here, values[i].at[j]);
      }
      sum *= __expf(most - here);
      most = here;
#pragma unroll
      for (int i = 0; i < per_thread; ++i) {
        if (at + i * threads >= loads) continue;
#pragma unroll
        for (int j = 0; j < vector; ++j) sum += __expf(values[i].at[j] - most);
      }
    }
    const float of_row = combined<threads>(most, scratch, larger);
    sum = combined<threads>(most > least ? sum * __expf(most - of_row) : 0.0f, scratch, sum_of);
    const float scale = 1 / sum;
#pragma unroll per_thread
    for (int at = threadIdx.x; at < loads; at += threads) {
      Load values = from[at];
#pragma unroll
      for (int j = 0; j < vector; ++j) values.at[j] = __expf(values.at[j] - of_row) * scale;
      to[at] = values;
    }
  } else {
    Load values[per_thread];
    float most = least, sum = 0;
#pragma unroll
    for (int i = 0; i < per_thread; ++i) {
      const int at = threadIdx.x + i * threads;
      if (at < loads) values[i] = from[at];
#pragma unroll
      for (int j = 0; j < vector; ++j) {
        if (at >= loads) values[i].at[j] = least;
        most = fmaxf(most, values[i].at[j]);
      }
    }
    most = combined<threads>(most, scratch, larger);
#pragma unroll
    for (int i = 0; i < per_thread; ++i) {
#pragma unroll
      for (int j = 0; j < vector; ++j) {
        values[i].at[j] = __expf(values[i].at[j] - most);
        sum += values[i].at[j];
      }
    }
    const float scale = 1 / combined<threads>(sum, scratch, sum_of);
#pragma unroll
    for (int i = 0; i < per_thread; ++i) {
      const int at = threadIdx.x + i * threads;
#pragma unroll
      for (int j = 0; j < vector; ++j) values[i].at[j] *= scale;
      if (at < loads) to[at] = values[i];
    }
  }
}

/// A thread a row, in double precision.
__global__ void softmax_reference(float* out, const float* in, int rows, int cols) {
  const long long row = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  const float* from = in + row * cols;
  double most = from[0], sum = 0;
  for (int i = 1; i < cols; ++i) most = fmax(most, static_cast<double>(from[i]));
  for (int i = 0; i < cols; ++i) sum += exp(from[i] - most);
  for (int i = 0; i < cols; ++i) out[row * cols + i] = static_cast<float>(exp(from[i] - most) / sum);
}
