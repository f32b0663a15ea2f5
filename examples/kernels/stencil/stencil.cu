// out[y][x] = sum of weights[j][i] * in[y + j - 1][x + i - 1], with zeros around `in`. A thread has `vector` columns, and
// goes down `per_thread` rows with the three rows that it needs in registers.

template <int size>
struct __align__(4 * size) Vector {
  float at[size];
};

/// The row's columns from `x` - 1 on: one more on either side than a thread has.
template <int vector>
__device__ void load_row(float (&row)[vector + 2], const float* in, int y, int x, int rows, int cols) {
  const bool is_there = y >= 0 && y < rows && x < cols;
  const float* from = in + static_cast<long long>(is_there ? y : 0) * cols + (is_there ? x : 0);
  const Vector<vector> middle = is_there ? *reinterpret_cast<const Vector<vector>*>(from) : Vector<vector>{};
#pragma unroll
  for (int i = 0; i < vector; ++i) row[i + 1] = middle.at[i];
  row[0] = is_there && x > 0 ? from[-1] : 0.0f;
  row[vector + 1] = is_there && x + vector < cols ? from[vector] : 0.0f;
}

template <int block_x, int block_y, int vector, int per_thread>
__global__ void __launch_bounds__(block_x* block_y)
    stencil(float* out, const float* in, const float* weights, int rows, int cols) {
  const int x = (static_cast<int>(blockIdx.x) * block_x + threadIdx.x) * vector;
  const int first = (static_cast<int>(blockIdx.y) * block_y + threadIdx.y) * per_thread;
  if (x >= cols) return;
  float by[9];
#pragma unroll
  for (int i = 0; i < 9; ++i) by[i] = weights[i];
  float row[per_thread + 2][vector + 2];
  load_row<vector>(row[0], in, first - 1, x, rows, cols);
  load_row<vector>(row[1], in, first, x, rows, cols);
#pragma unroll
  for (int k = 0; k < per_thread; ++k) {
    const int y = first + k;
    load_row<vector>(row[k + 2], in, y + 1, x, rows, cols);
    if (y >= rows) continue;
    Vector<vector> result;
#pragma unroll
    for (int i = 0; i < vector; ++i) {
      result.at[i] = 0;
#pragma unroll
      for (int j = 0; j < 9; ++j) result.at[i] += by[j] * row[k + j / 3][i + j % 3];
    }
    *reinterpret_cast<Vector<vector>*>(out + static_cast<long long>(y) * cols + x) = result;
  }
}

__global__ void stencil_reference(float* out, const float* in, const float* weights, int rows, int cols) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
  if (x >= cols) return;
  double sum = 0;
  for (int j = -1; j <= 1; ++j) {
    for (int i = -1; i <= 1; ++i) {
      const bool is_there = y + j >= 0 && y + j < rows && x + i >= 0 && x + i < cols;
      if (is_there)
        sum += static_cast<double>(weights[(j + 1) * 3 + i + 1]) * in[static_cast<long long>(y + j) * cols + x + i];
    }
  }
  out[static_cast<long long>(y) * cols + x] = static_cast<float>(sum);
}
