// A program that uses cuBLAS and knows nothing of Tilesmith. Run it as it is, then under the shim
// (docs/applications.md):
//
//   cublas_app                                             what cuBLAS takes
//   tilesmith capture -o app.workload -- cublas_app
//   tilesmith tune --workload app.workload --budget 2m --db app.db
//   tilesmith run --db app.db -- cublas_app                what Tilesmith takes
//
// Each case runs call by call, then 20 times in a captured graph. Results are compared with a plain loop. Exit status:
// 0 right, 1 wrong, 2 could not be run (one line says why).
#include <cublasLt.h>
#include <cublas_v2.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <unistd.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <vector>

namespace {

void require(int status, const char* call) {
  if (status == 0) return;
  std::fprintf(stderr, "error: %s failed with status %d\n", call, status);
  std::exit(2);
}
#define REQUIRE(call) require(int(call), #call)

/// -1, 0 or 1: every product and sum here is exact in f32, so only the result is rounded.
std::vector<__half> small_integers(std::size_t count, unsigned seed) {
  std::vector<__half> values(count);
  unsigned state = seed;
  for (__half& value : values) {
    state = state * 1664525u + 1013904223u;
    value = __float2half(float(int(state >> 16) % 3 - 1));
  }
  return values;
}

struct DeviceMatrix {
  explicit DeviceMatrix(const std::vector<__half>& values) : count(values.size()) {
    REQUIRE(cudaMalloc(&data, count * sizeof(__half)));
    REQUIRE(cudaMemcpy(data, values.data(), count * sizeof(__half), cudaMemcpyHostToDevice));
  }
  ~DeviceMatrix() { cudaFree(data); }
  DeviceMatrix(const DeviceMatrix&) = delete;
  DeviceMatrix& operator=(const DeviceMatrix&) = delete;
  std::vector<__half> download() const {
    std::vector<__half> values(count);
    REQUIRE(cudaMemcpy(values.data(), data, count * sizeof(__half), cudaMemcpyDeviceToHost));
    return values;
  }
  __half* data = nullptr;
  std::size_t count;
};

/// C(m x n) = act(A^T * B + bias), column-major, for each entry; A is stored k x m, as a linear layer's weights are.
struct Shape {
  const char* name;
  int m, n, k, batch;
  bool has_epilogue;
};

double gelu(double x) { return 0.5 * x * (1 + std::tanh(0.7978845608028654 * (x + 0.044715 * x * x * x))); }

class Case {
 public:
  Case(const Shape& shape, cublasHandle_t blas, cublasLtHandle_t lt, cudaStream_t stream)
      : shape_(shape),
        blas_(blas),
        lt_(lt),
        stream_(stream),
        host_a_(small_integers(size(shape.k, shape.m), 1)),
        host_b_(small_integers(size(shape.k, shape.n), 2)),
        host_bias_(small_integers(std::size_t(shape.m), 3)),
        a_(host_a_),
        b_(host_b_),
        bias_(host_bias_),
        c_(std::vector<__half>(size(shape.m, shape.n))),
        workspace_(std::vector<__half>(16u << 20)) {
    if (!shape_.has_epilogue) return;
    REQUIRE(cublasLtMatmulDescCreate(&matmul_, CUBLAS_COMPUTE_32F, CUDA_R_32F));
    const cublasOperation_t transposed = CUBLAS_OP_T;
    const cublasLtEpilogue_t epilogue = CUBLASLT_EPILOGUE_GELU_BIAS;
    REQUIRE(cublasLtMatmulDescSetAttribute(matmul_, CUBLASLT_MATMUL_DESC_TRANSA, &transposed, sizeof transposed));
    REQUIRE(cublasLtMatmulDescSetAttribute(matmul_, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue, sizeof epilogue));
    REQUIRE(cublasLtMatmulDescSetAttribute(matmul_, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &bias_.data, sizeof bias_.data));
    REQUIRE(cublasLtMatrixLayoutCreate(&of_a_, CUDA_R_16F, shape.k, shape.m, shape.k));
    REQUIRE(cublasLtMatrixLayoutCreate(&of_b_, CUDA_R_16F, shape.k, shape.n, shape.k));
    REQUIRE(cublasLtMatrixLayoutCreate(&of_c_, CUDA_R_16F, shape.m, shape.n, shape.m));
  }

  void call() {
    const auto [name, m, n, k, batch, has_epilogue] = shape_;
    const float one = 1, zero = 0;
    if (has_epilogue) {
      REQUIRE(cublasLtMatmul(lt_, matmul_, &one, a_.data, of_a_, b_.data, of_b_, &zero, c_.data, of_c_, c_.data, of_c_,
          nullptr, workspace_.data, workspace_.count * sizeof(__half), stream_));
    } else if (batch == 1) {
      REQUIRE(cublasGemmEx(blas_, CUBLAS_OP_T, CUBLAS_OP_N, m, n, k, &one, a_.data, CUDA_R_16F, k, b_.data, CUDA_R_16F,
          k, &zero, c_.data, CUDA_R_16F, m, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
    } else {
      REQUIRE(cublasGemmStridedBatchedEx(blas_, CUBLAS_OP_T, CUBLAS_OP_N, m, n, k, &one, a_.data, CUDA_R_16F, k,
          (long long)k * m, b_.data, CUDA_R_16F, k, (long long)k * n, &zero, c_.data, CUDA_R_16F, m, (long long)m * n,
          batch, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
    }
  }

  /// The largest difference from a plain loop, in units of the larger of 1 and the value; columns are sampled.
  double error() const {
    const std::vector<__half> found = c_.download();
    const auto [name, m, n, k, batch, has_epilogue] = shape_;
    double worst = 0;
    for (int entry = 0; entry < batch; ++entry) {
      for (int sample = 0; sample < 4; ++sample) {
        const int j = sample * (n - 1) / 3;
        for (int i = 0; i < m; ++i) {
          const __half* const a = host_a_.data() + (std::size_t(entry) * m + i) * k;
          const __half* const b = host_b_.data() + (std::size_t(entry) * n + j) * k;
          double sum = has_epilogue ? __half2float(host_bias_[std::size_t(i)]) : 0;
          for (int l = 0; l < k; ++l) sum += double(__half2float(a[l])) * double(__half2float(b[l]));
          if (has_epilogue) sum = gelu(sum);
          const double difference =
              std::fabs(__half2float(found[(std::size_t(entry) * n + j) * m + i]) - sum) / std::fmax(1, std::fabs(sum));
          if (std::isnan(difference)) return INFINITY;
          worst = std::fmax(worst, difference);
        }
      }
    }
    return worst;
  }

  void forget() { REQUIRE(cudaMemset(c_.data, 0xFF, c_.count * sizeof(__half))); }  // NaN
  const char* name() const { return shape_.name; }

 private:
  std::size_t size(int rows, int cols) const { return std::size_t(rows) * cols * shape_.batch; }

  Shape shape_;
  cublasHandle_t blas_;
  cublasLtHandle_t lt_;
  cudaStream_t stream_;
  std::vector<__half> host_a_, host_b_, host_bias_;
  DeviceMatrix a_, b_, bias_, c_, workspace_;
  cublasLtMatmulDesc_t matmul_ = nullptr;
  cublasLtMatrixLayout_t of_a_ = nullptr, of_b_ = nullptr, of_c_ = nullptr;
};

/// us a run of what is enqueued, and of the enqueuing alone.
struct Times {
  double device_us, host_us;
};
Times time(cudaStream_t stream, int runs, const std::function<void()>& enqueue) {
  cudaEvent_t begin, end;
  REQUIRE(cudaEventCreate(&begin));
  REQUIRE(cudaEventCreate(&end));
  REQUIRE(cudaStreamSynchronize(stream));
  REQUIRE(cudaEventRecord(begin, stream));
  const auto started = std::chrono::steady_clock::now();
  for (int i = 0; i < runs; ++i) enqueue();
  const std::chrono::duration<double, std::micro> host = std::chrono::steady_clock::now() - started;
  REQUIRE(cudaEventRecord(end, stream));
  REQUIRE(cudaEventSynchronize(end));
  float ms = 0;
  REQUIRE(cudaEventElapsedTime(&ms, begin, end));
  cudaEventDestroy(begin);
  cudaEventDestroy(end);
  return {ms * 1000.0 / runs, host.count() / runs};
}

bool run(Case& one, cudaStream_t stream) {
  constexpr double kTolerance = 2e-3;  // two roundings to f16
  one.forget();
  one.call();
  REQUIRE(cudaStreamSynchronize(stream));
  double error = one.error();
  usleep(300000);  // where the shim plans, it does so now
  for (int i = 0; i < 10; ++i) one.call();
  one.forget();
  const Times direct = time(stream, 200, [&] { one.call(); });
  error = std::fmax(error, one.error());

  cudaGraph_t graph;
  cudaGraphExec_t exec;
  REQUIRE(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  for (int i = 0; i < 20; ++i) one.call();
  REQUIRE(cudaStreamEndCapture(stream, &graph));
  REQUIRE(cudaGraphInstantiate(&exec, graph, 0));
  one.forget();
  const Times graphed = time(stream, 20, [&] { REQUIRE(cudaGraphLaunch(exec, stream)); });
  error = std::fmax(error, one.error());
  cudaGraphExecDestroy(exec);
  cudaGraphDestroy(graph);
  const bool right = error <= kTolerance;
  std::printf("%-32s %9.2f us a call (%5.2f us of the host's), %9.2f us in a graph, error %.1e%s\n", one.name(),
      direct.device_us, direct.host_us, graphed.device_us / 20, error, right ? "" : ": wrong");
  return right;
}

}  // namespace

int main() {
  cudaStream_t stream;
  cublasHandle_t blas;
  cublasLtHandle_t lt;
  REQUIRE(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  REQUIRE(cublasCreate(&blas));
  REQUIRE(cublasLtCreate(&lt));
  REQUIRE(cublasSetStream(blas, stream));
  constexpr Shape kShapes[] = {
      {"GemmEx 4096 x 16 x 4096", 4096, 16, 4096, 1, false},
      {"GemmEx 1024 x 1024 x 1024", 1024, 1024, 1024, 1, false},
      {"GemmEx 1000 x 333 x 504", 1000, 333, 504, 1, false},
      {"GemmStridedBatchedEx 32: 128^2 x 64", 128, 128, 64, 32, false},
      {"LtMatmul 3072 x 128 x 768, GELU", 3072, 128, 768, 1, true},
  };
  bool right = true;
  for (const Shape& shape : kShapes) {
    Case one(shape, blas, lt, stream);
    right = run(one, stream) && right;
  }
  cublasDestroy(blas);
  return right ? 0 : 1;
}
