"""Seven kernels tuned by the same call of tilesmith or of kernel_tuner, and twelve planted bugs that a tuner should refuse.

    python3 kernel_tuner_examples.py [tilesmith|kernel_tuner] [NAME ...]   the best time of each, how many configs were tried, and the seconds
    python3 kernel_tuner_examples.py --bugs [tilesmith|kernel_tuner] [NAME ...]   whether any of six configs of a wrong kernel gets a time

kernel_tuner runs with CuPy. Needs NumPy.
"""

import argparse
import importlib
import time

import numpy as np

random = np.random.default_rng(1)


def floats(*shape):
    return random.uniform(-1, 1, shape).astype(np.float32)


def vector_add():
    """The sum of two vectors, whose length no block divides."""
    n = 10_000_003
    a, b = floats(n), floats(n)
    return dict(kernel_name="vector_add", problem_size=n, arguments=[np.zeros_like(a), a, b, np.int32(n)], answer=[a + b, None, None, None],
                tune_params={"block_size_x": [64, 128, 256, 512, 1024], "per_thread": [1, 2, 4, 8]}, grid_div_x=["block_size_x", "per_thread"],
                kernel_source="""
__global__ void vector_add(float* c, const float* a, const float* b, int n) {
  for (int k = 0; k < per_thread; k++) {
    const int i = (blockIdx.x * per_thread + k) * block_size_x + threadIdx.x;
    if (i < n) c[i] = a[i] + b[i];
  }
}
""")


def matrix_product():
    """C = A B in f32. A block's slabs of A and B lie in shared memory."""
    size = 1024
    a, b = floats(size, size), floats(size, size)
    return dict(kernel_name="matrix_product", problem_size=(size, size), arguments=[np.zeros_like(a), a, b],
                answer=[(a.astype(np.float64) @ b).astype(np.float32), None, None], atol=1e-3,
                tune_params={"block_size_x": [16, 32], "block_size_y": [4, 8, 16, 32], "tile_size_x": [1, 2, 4, 8], "tile_size_y": [1, 2, 4, 8]},
                grid_div_x=["block_size_x", "tile_size_x"], grid_div_y=["block_size_y", "tile_size_y"],
                restrictions=["block_size_x * block_size_y >= 64",
                              "block_size_x * (block_size_y * tile_size_y + block_size_x * tile_size_x) <= 48 * 1024 / 4"],
                kernel_source="""
#define SIZE 1024
__global__ void matrix_product(float* c, const float* a, const float* b) {
  __shared__ float a_slab[block_size_y * tile_size_y][block_size_x];
  __shared__ float b_slab[block_size_x][block_size_x * tile_size_x];
  const int tx = threadIdx.x, ty = threadIdx.y;
  const int x0 = blockIdx.x * block_size_x * tile_size_x + tx, y0 = blockIdx.y * block_size_y * tile_size_y + ty;
  float sums[tile_size_y][tile_size_x] = {};
  for (int k0 = 0; k0 < SIZE; k0 += block_size_x) {
    for (int j = 0; j < tile_size_y; j++)
      a_slab[ty + j * block_size_y][tx] = a[(y0 + j * block_size_y) * SIZE + k0 + tx];
    for (int row = ty; row < block_size_x; row += block_size_y)
      for (int i = 0; i < tile_size_x; i++)
        b_slab[row][tx + i * block_size_x] = b[(k0 + row) * SIZE + x0 + i * block_size_x];
    __syncthreads();
    for (int k = 0; k < block_size_x; k++)
      for (int j = 0; j < tile_size_y; j++)
        for (int i = 0; i < tile_size_x; i++)
          sums[j][i] += a_slab[ty + j * block_size_y][k] * b_slab[k][tx + i * block_size_x];
    __syncthreads();  // before the next slabs
  }
  for (int j = 0; j < tile_size_y; j++)
    for (int i = 0; i < tile_size_x; i++) c[(y0 + j * block_size_y) * SIZE + x0 + i * block_size_x] = sums[j][i];
}
""")


def convolution():
    """An image under a filter of 9 x 9 in constant memory."""
    size, width = 2048, 9
    image, weights = floats(size + width - 1, size + width - 1), floats(width, width)
    result = np.zeros((size, size))
    for y in range(width):
        for x in range(width):
            result += image[y:y + size, x:x + size] * np.float64(weights[y, x])
    return dict(kernel_name="convolution", problem_size=(size, size), arguments=[np.zeros((size, size), np.float32), image],
                answer=[result.astype(np.float32), None], atol=1e-4, cmem_args={"weights": weights},
                tune_params={"block_size_x": [16, 32, 64, 128], "block_size_y": [2, 4, 8, 16], "tile_size_x": [1, 2, 4], "tile_size_y": [1, 2, 4],
                             "padding": [0, 1]},
                grid_div_x=["block_size_x", "tile_size_x"], grid_div_y=["block_size_y", "tile_size_y"],
                restrictions=["64 <= block_size_x * block_size_y <= 1024", "padding == 0 or block_size_x % 32 != 0",
                              "(block_size_x * tile_size_x + 8 + padding) * (block_size_y * tile_size_y + 8) <= 12288"],
                kernel_source="""
#define FILTER 9
#define SIZE 2048
#define IN_SIZE (SIZE + FILTER - 1)
#define TILE_X (block_size_x * tile_size_x)
#define TILE_Y (block_size_y * tile_size_y)
__constant__ float weights[FILTER * FILTER];
__global__ void convolution(float* out, const float* in) {
  __shared__ float tile[TILE_Y + FILTER - 1][TILE_X + FILTER - 1 + padding];
  const int x0 = blockIdx.x * TILE_X, y0 = blockIdx.y * TILE_Y;
  for (int y = threadIdx.y; y < TILE_Y + FILTER - 1; y += block_size_y)
    for (int x = threadIdx.x; x < TILE_X + FILTER - 1; x += block_size_x) tile[y][x] = in[(y0 + y) * IN_SIZE + x0 + x];
  __syncthreads();
  for (int y = threadIdx.y; y < TILE_Y; y += block_size_y)
    for (int x = threadIdx.x; x < TILE_X; x += block_size_x) {
      float sum = 0;
      for (int fy = 0; fy < FILTER; fy++)
        for (int fx = 0; fx < FILTER; fx++) sum += tile[y + fy][x + fx] * weights[fy * FILTER + fx];
      out[(y0 + y) * SIZE + x0 + x] = sum;
    }
}
""")


def stencil():
    """The mean of a cell and its four neighbours; cells at the edge are their own neighbours."""
    width, height = 4096, 2048
    cells = floats(height, width)
    around = np.pad(cells.astype(np.float64), 1, mode="edge")
    mean = 0.2 * (around[1:-1, 1:-1] + around[:-2, 1:-1] + around[2:, 1:-1] + around[1:-1, :-2] + around[1:-1, 2:])
    return dict(kernel_name="stencil", problem_size=(width, height), arguments=[np.zeros_like(cells), cells],
                answer=[mean.astype(np.float32), None],
                tune_params={"block_size_x": [32, 64, 128, 256], "block_size_y": [1, 2, 4, 8], "rows": [1, 2, 4, 8]},
                grid_div_y=["block_size_y", "rows"], restrictions=["64 <= block_size_x * block_size_y <= 512"],
                kernel_source="""
#define WIDTH 4096
#define HEIGHT 2048
__global__ void stencil(float* out, const float* in) {
  const int x = blockIdx.x * block_size_x + threadIdx.x, y0 = (blockIdx.y * block_size_y + threadIdx.y) * rows;
  for (int y = y0; y < y0 + rows; y++) {
    const float* row = in + y * WIDTH;
    const float beside = row[max(x - 1, 0)] + row[min(x + 1, WIDTH - 1)];
    const float above = in[max(y - 1, 0) * WIDTH + x], below = in[min(y + 1, HEIGHT - 1) * WIDTH + x];
    out[y * WIDTH + x] = 0.2f * (row[x] + beside + above + below);
  }
}
""")


def reduction():
    """The sum of a vector: each block adds its own to the result."""
    n = 30_000_001
    x = random.uniform(0, 1, n).astype(np.float32)
    return dict(kernel_name="reduction", problem_size="num_blocks", arguments=[np.zeros(1, np.float32), x, np.int32(n)],
                answer=[np.array([x.sum(dtype=np.float64)], np.float32), None, None], grid_div_x=[],
                tune_params={"block_size_x": [64, 128, 256, 512, 1024], "num_blocks": [132 * 2**i for i in range(6)], "vector": [1, 2, 4],
                             "use_shuffle": [0, 1]},
                kernel_source="""
__global__ void reduction(float* sum, const float* x, int n) {
  __shared__ float partial[block_size_x];
  float mine = 0;
  for (int i = (blockIdx.x * block_size_x + threadIdx.x) * vector; i < n; i += num_blocks * block_size_x * vector)
    for (int v = 0; v < vector && i + v < n; v++) mine += x[i + v];
  partial[threadIdx.x] = mine;
  __syncthreads();
  for (int step = block_size_x / 2; step >= (use_shuffle ? 32 : 1); step /= 2) {
    if (threadIdx.x < step) partial[threadIdx.x] += partial[threadIdx.x + step];
    __syncthreads();
  }
  if (threadIdx.x >= 32) return;
  mine = partial[threadIdx.x];
  if (use_shuffle)
    for (int step = 16; step > 0; step /= 2) mine += __shfl_down_sync(0xffffffffu, mine, step);
  if (threadIdx.x == 0) atomicAdd(sum, mine);
}
""")


def distance():
    """For each particle of one set, the sum of Gaussians of its distances to all of another."""
    n, m = 8001, 4003
    a, b, scales = floats(2, n), floats(2, m), random.uniform(0.5, 1, n).astype(np.float32)
    cost = np.zeros(n)
    for j in range(m):
        cost += np.exp(-((a - b[:, j:j + 1]).astype(np.float64) ** 2).sum(axis=0) / (2 * scales))
    return dict(kernel_name="distance", problem_size=n, arguments=[np.zeros(n, np.float32), a, b, scales, np.int32(n), np.int32(m)],
                answer=[cost.astype(np.float32), None, None, None, None, None], atol=1e-1,
                tune_params={"block_size_x": [64, 96, 128, 192, 256, 512], "tile_size_x": [1, 2, 3, 4], "use_shared": [0, 1]},
                grid_div_x=["block_size_x", "tile_size_x"], smem_args={"size": "8 * block_size_x * use_shared"},
                kernel_source="""
extern __shared__ float2 loaded[];
__global__ void distance(float* cost, const float* a, const float* b, const float* scales, int n, int m) {
  const int i0 = blockIdx.x * block_size_x * tile_size_x + threadIdx.x;
  float sums[tile_size_x] = {};
  for (int j0 = 0; j0 < m; j0 += block_size_x) {
    const int j1 = min(j0 + block_size_x, m);
    if (use_shared) {
      if (j0 + threadIdx.x < m) loaded[threadIdx.x] = make_float2(b[j0 + threadIdx.x], b[m + j0 + threadIdx.x]);
      __syncthreads();
    }
    for (int t = 0; t < tile_size_x; t++) {
      const int i = min(i0 + t * block_size_x, n - 1);
      const float x = a[i], y = a[n + i], factor = -0.5f / scales[i];
      for (int j = j0; j < j1; j++) {
        const float2 other = use_shared ? loaded[j - j0] : make_float2(b[j], b[m + j]);
        sums[t] += __expf(factor * ((x - other.x) * (x - other.x) + (y - other.y) * (y - other.y)));
      }
    }
    if (use_shared) __syncthreads();
  }
  for (int t = 0; t < tile_size_x; t++)
    if (i0 + t * block_size_x < n) cost[i0 + t * block_size_x] = sums[t];
}
""")


def points_in_polygon():
    """Whether each point lies in a polygon in constant memory. Coordinates are small integers, so that every product is exact."""
    n, count = 1_000_003, 128
    angles = np.sort(random.uniform(0, 2 * np.pi, count))
    vx, vy = (np.round(400 * f(angles)).astype(np.float32) for f in (np.cos, np.sin))
    x, y = (random.integers(-512, 512, n).astype(np.float32) for _ in range(2))
    inside = np.zeros(n, bool)
    for v in range(count):
        x1, y1, x2, y2 = vx[v - 1], vy[v - 1], vx[v], vy[v]
        side = (x2 - x1) * (y - y1) - (x - x1) * (y2 - y1)
        inside ^= ((y1 > y) != (y2 > y)) & ((side > 0) == (y2 > y1))
    return dict(kernel_name="points_in_polygon", problem_size=n, arguments=[np.zeros(n, np.int32), x, y, np.int32(n)],
                answer=[inside.astype(np.int32), None, None, None], cmem_args={"vx": vx, "vy": vy},
                tune_params={"block_size_x": [32 * i for i in (2, 4, 8, 16)], "tile_size": [1, 2, 4, 8], "between": [0, 1], "use_select": [0, 1]},
                grid_div_x=["block_size_x", "tile_size"],
                kernel_source="""
#define VERTICES 128
__constant__ float vx[VERTICES], vy[VERTICES];
__device__ bool is_between(float y, float y1, float y2) {
  return between ? (y1 - y) * (y2 - y) < 0 || (y1 > y) != (y2 > y) : (y1 > y) != (y2 > y);
}
__global__ void points_in_polygon(int* inside, const float* x, const float* y, int n) {
  for (int t = 0; t < tile_size; t++) {
    const int i = (blockIdx.x * tile_size + t) * block_size_x + threadIdx.x;
    if (i < n) {
      int odd = 0;
      for (int v = 0, before = VERTICES - 1; v < VERTICES; before = v++) {
        const float side = (vx[v] - vx[before]) * (y[i] - vy[before]) - (x[i] - vx[before]) * (vy[v] - vy[before]);
        const bool crosses = (side > 0) == (vy[v] > vy[before]);
        if (use_select) odd ^= is_between(y[i], vy[before], vy[v]) & crosses;
        else if (is_between(y[i], vy[before], vy[v]) && crosses) odd = !odd;
      }
      inside[i] = odd;
    }
  }
}
""")


EXAMPLES = {f.__name__: f for f in (vector_add, matrix_product, convolution, stencil, reduction, distance, points_in_polygon)}

BUGS = {  # the example, a text of its source that occurs once, what takes its place, and parameters for which it is wrong
    "writes one past the end": ("vector_add", "if (i < n)", "if (i <= n)"),
    "leaves a tail unwritten": ("vector_add", "if (i < n)", "if (i < n - n % 32)"),
    "next slabs before all have read": ("matrix_product", "    __syncthreads();  // before the next slabs\n", ""),
    "last slab left out": ("matrix_product", "k0 < SIZE", "k0 < SIZE - block_size_x"),
    "reads the tile before it is there": ("convolution", "  __syncthreads();\n", ""),
    "last column of weights left out": ("convolution", "fx < FILTER", "fx < FILTER - 1"),
    "reads past the row's end": ("stencil", "min(x + 1, WIDTH - 1)", "min(x + 1, WIDTH)"),
    "wrong constant": ("stencil", "0.2f", "0.2001f"),
    "reads one past the end": ("reduction", "i + v < n", "i + v <= n", {"vector": [2, 4]}),
    "blocks race for the sum": ("reduction", "atomicAdd(sum, mine)", "*sum += mine"),
    "reads before the others have loaded": ("distance", "      __syncthreads();\n    }\n", "    }\n", {"use_shared": [1]}),
    "writes results one past the end": ("points_in_polygon", "if (i < n)", "if (i <= n)"),
}


def tune(module, call, **options):
    tuner = importlib.import_module(module)
    return tuner.tune_kernel(**call, lang="CuPy", quiet=True, **options)[0]


def run_examples(module, names):
    print(f"{'example':20} {'best ms':>9} {'configs':>8} {'right':>6} {'seconds':>8}")
    for name in names:
        call = EXAMPLES[name]()
        start = time.perf_counter()
        results = tune(module, call)
        times = [one["time"] for one in results if isinstance(one.get("time"), float)]
        print(f"{name:20} {min(times, default=float('nan')):9.4f} {len(results):8} {len(times):6} {time.perf_counter() - start:8.1f}", flush=True)


def run_bugs(module, names):
    calls = {}
    for bug, (name, right, wrong, *parameters) in BUGS.items():
        if name not in names:
            continue
        call = calls.setdefault(name, EXAMPLES[name]())
        if call["kernel_source"].count(right) != 1:
            raise SystemExit(f"{bug}: the text to replace occurs {call['kernel_source'].count(right)} times; expected once")
        call = dict(call, kernel_source=call["kernel_source"].replace(right, wrong), tune_params=dict(call["tune_params"], **dict(*parameters)))
        try:
            results = tune(module, call, strategy="random_sample", strategy_options={"max_fevals": 6})
        except Exception as why:  # kernel_tuner ends at the first wrong config
            print(f"caught  {name}: {bug}: {str(why).splitlines()[0][:80]}", flush=True)
            continue
        passed = sum(isinstance(one.get("time"), float) for one in results)
        print(f"{'missed' if passed else 'caught'}  {name}: {bug}: {passed} of {len(results)} configs have a time", flush=True)
        for one in results:
            if isinstance(one.get("time"), float):
                print("        ", {key: one[key] for key in call["tune_params"]}, flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("module", nargs="?", default="tilesmith", choices=["tilesmith", "kernel_tuner"])
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(EXAMPLES))
    parser.add_argument("--bugs", action="store_true", help="run the planted bugs of these examples")
    given = parser.parse_args()
    (run_bugs if given.bugs else run_examples)(given.module, given.names or list(EXAMPLES))


if __name__ == "__main__":
    main()
