// A program of cuBLAS's for scripts/check_shim.sh, which runs it on a device under the shims. Its results are compared
// with sums that are exact.
//
// Usage: device_client threads | fork | graph | cost M N K
//   threads    16 threads, each with a stream and a handle of its own.
//   fork       a child before CUDA is used, and one that ends at once after it was.
//   graph      calls that are captured, by a handle without and with a workspace.
//   cost       ns of the host's for a call of f16, M x N x K, as the program reaches it and by cuBLAS's own function, in turn. The best of 25
//              rounds of 200 each. Not of the program that opens cuBLAS by name.
// Built three times: linked with cuBLAS, opening it by name (TILESMITH_BY_NAME), and linked with its archive where that
// is installed. Exit status: 0 right, 1 wrong results, 2 could not be run (one line says why).
#include <cublas_v2.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

namespace {

[[noreturn]] void stop(const char* what, const char* why) {
  std::fprintf(stderr, "error: %s: %s\n", what, why);
  std::_Exit(2);
}
void require(int status, const char* call) {
  if (status != 0) stop(call, ("status " + std::to_string(status)).c_str());
}
#define REQUIRE(call) require(int(call), #call)

// TEXT() expands the header's macros: of a function it gives the name with which a program is linked.
#define TEXT_OF(name) #name
#define TEXT(name) TEXT_OF(name)
#ifdef TILESMITH_BY_NAME
void* function(const char* name) {
  static void* const library = dlopen("libcublas.so." TEXT(CUBLAS_VER_MAJOR), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) stop("dlopen", dlerror());
  void* const found = dlsym(library, name);
  if (found == nullptr) stop(name, dlerror());
  return found;
}
#define BLAS(name) reinterpret_cast<decltype(&name)>(function(TEXT(name)))
#define GEMM_EX reinterpret_cast<GemmEx>(function("cublasGemmEx"))
#else
#define BLAS(name) name
#define GEMM_EX static_cast<GemmEx>(cublasGemmEx)
#endif
/// The header has another for C++, of the former interface.
using GemmEx = cublasStatus_t (*)(cublasHandle_t, cublasOperation_t, cublasOperation_t, int, int, int, const void*,
    const void*, cudaDataType, int, const void*, cudaDataType, int, const void*, void*, cudaDataType, int,
    cublasComputeType_t, cublasGemmAlgo_t);

struct Shape {
  int m, n, k;
};
constexpr Shape kShapes[] = {{256, 256, 256}, {1024, 16, 1024}, {512, 384, 128}, {96, 1000, 520}};

/// C(m x n) = transpose(A) * B, column-major, f16 with sums in f32. Elements are -1, 0 or 1, and every sum is below
/// 2048: exact in f16 too.
class Product {
 public:
  Product(const Shape& shape, cublasHandle_t handle, cudaStream_t stream, GemmEx gemm = GEMM_EX)
      : shape_(shape),
        handle_(handle),
        stream_(stream),
        gemm_(gemm),
        a_(elements(shape.m, 1)),
        b_(elements(shape.n, 2)) {
    device_a_ = upload(a_);
    device_b_ = upload(b_);
    REQUIRE(cudaMalloc(&device_c_, std::size_t(shape.m) * shape.n * sizeof(__half)));
  }
  ~Product() {
    for (void* matrix : {device_a_, device_b_, device_c_}) cudaFree(matrix);
  }
  Product(const Product&) = delete;
  Product& operator=(const Product&) = delete;

  void call() {
    const float one = 1, zero = 0;
    const auto [m, n, k] = shape_;
    REQUIRE(gemm_(handle_, CUBLAS_OP_T, CUBLAS_OP_N, m, n, k, &one, device_a_, CUDA_R_16F, k, device_b_, CUDA_R_16F, k,
        &zero, device_c_, CUDA_R_16F, m, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
  }
  void forget() {
    REQUIRE(cudaMemsetAsync(device_c_, 0xFF, std::size_t(shape_.m) * shape_.n * sizeof(__half), stream_));
  }  // NaN
  bool is_right() {
    const auto [m, n, k] = shape_;
    std::vector<__half> found(std::size_t(m) * n);
    REQUIRE(cudaMemcpyAsync(found.data(), device_c_, found.size() * sizeof(__half), cudaMemcpyDeviceToHost, stream_));
    REQUIRE(cudaStreamSynchronize(stream_));
    for (int j = 0; j < n; j += std::max(1, n / 7)) {
      for (int i = 0; i < m; ++i) {
        float sum = 0;
        for (int l = 0; l < k; ++l)
          sum += __half2float(a_[std::size_t(i) * k + l]) * __half2float(b_[std::size_t(j) * k + l]);
        if (!(__half2float(found[std::size_t(j) * m + i]) == sum)) {
          std::printf("wrong: %d x %d x %d, row %d, column %d\n", m, n, k, i, j);
          return false;
        }
      }
    }
    return true;
  }

 private:
  std::vector<__half> elements(int rows, unsigned seed) const {
    std::vector<__half> values(std::size_t(rows) * shape_.k);
    for (__half& value : values) {
      seed = seed * 1664525u + 1013904223u;
      value = __float2half(float(int(seed >> 16) % 3 - 1));
    }
    return values;
  }
  static void* upload(const std::vector<__half>& values) {
    void* data = nullptr;
    REQUIRE(cudaMalloc(&data, values.size() * sizeof(__half)));
    REQUIRE(cudaMemcpy(data, values.data(), values.size() * sizeof(__half), cudaMemcpyHostToDevice));
    return data;
  }

  Shape shape_;
  cublasHandle_t handle_;
  cudaStream_t stream_;
  GemmEx gemm_;
  std::vector<__half> a_, b_;
  void *device_a_ = nullptr, *device_b_ = nullptr, *device_c_ = nullptr;
};

struct Session {
  Session() {
    REQUIRE(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    REQUIRE(BLAS(cublasCreate)(&handle));
    REQUIRE(BLAS(cublasSetStream)(handle, stream));
  }
  cudaStream_t stream;
  cublasHandle_t handle;
};

bool run_all(int rounds) {
  Session session;
  bool right = true;
  for (const Shape& shape : kShapes) {
    Product product(shape, session.handle, session.stream);
    for (int round = 0; round < rounds; ++round) {
      product.forget();
      for (int i = 0; i < 50; ++i) product.call();
      right = product.is_right() && right;
    }
  }
  return right;
}

bool threads() {
  run_all(1);
  usleep(500000);  // where the shim plans, it does so now
  std::vector<char> right(16, 0);
  std::vector<std::thread> all;
  for (char& one : right) all.emplace_back([&one] { one = run_all(10); });
  for (std::thread& one : all) one.join();
  return std::count(right.begin(), right.end(), 1) == 16;
}

int status_of(pid_t child) {
  int status = 0;
  return waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

bool fork_twice() {
  const pid_t early = fork();
  bool right = run_all(1);
  usleep(500000);
  right = run_all(2) && right;
  if (early == 0) std::exit(right ? 0 : 1);
  const pid_t late = fork();  // CUDA cannot be used in it
  if (late == 0) std::exit(0);
  return status_of(early) == 0 && status_of(late) == 0 && right;
}

bool graph() {
  Session session;
  void* workspace = nullptr;
  REQUIRE(cudaMalloc(&workspace, 32u << 20));
  bool right = true;
  for (const bool has_workspace : {false, true}) {
    if (has_workspace) REQUIRE(BLAS(cublasSetWorkspace)(session.handle, workspace, 32u << 20));
    for (const Shape& shape : kShapes) {
      Product product(shape, session.handle, session.stream);
      product.call();
      usleep(500000);
      cudaGraph_t captured;
      cudaGraphExec_t exec;
      REQUIRE(cudaStreamBeginCapture(session.stream, cudaStreamCaptureModeThreadLocal));
      product.forget();
      for (int i = 0; i < 5; ++i) product.call();
      REQUIRE(cudaStreamEndCapture(session.stream, &captured));
      REQUIRE(cudaGraphInstantiate(&exec, captured, 0));
      for (int i = 0; i < 3; ++i) REQUIRE(cudaGraphLaunch(exec, session.stream));
      right = product.is_right() && right;
      cudaGraphExecDestroy(exec);
      cudaGraphDestroy(captured);
    }
  }
  return right;
}

double ns_of_a_call(Product& product, cudaStream_t stream) {
  constexpr int kCalls = 200;
  REQUIRE(cudaStreamSynchronize(stream));
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < kCalls; ++i) product.call();
  const std::chrono::duration<double, std::nano> taken = std::chrono::steady_clock::now() - begin;
  return taken.count() / kCalls;
}

bool cost(const Shape& shape) {
  Session session;
  Product product(shape, session.handle, session.stream);
  // What a library's own handle finds is that library's, whatever is preloaded.
  void* const library = dlopen("libcublas.so." TEXT(CUBLAS_VER_MAJOR), RTLD_NOW | RTLD_NOLOAD);
  if (library == nullptr) stop("dlopen", dlerror());
  Product direct(shape, session.handle, session.stream, reinterpret_cast<GemmEx>(dlsym(library, "cublasGemmEx")));
  product.call();
  usleep(500000);
  double best = 1e30, best_direct = 1e30;
  for (int round = 0; round < 25; ++round) {
    best = std::min(best, ns_of_a_call(product, session.stream));
    best_direct = std::min(best_direct, ns_of_a_call(direct, session.stream));
  }
  std::printf("cost %.0f direct %.0f\n", best, best_direct);
  return product.is_right() && direct.is_right();
}

}  // namespace

int main(int count, char** arguments) {
  const std::string what = count > 1 ? arguments[1] : "";
  bool right = false;
  if (what == "threads" && count == 2) right = threads();
  else if (what == "fork" && count == 2) right = fork_twice();
  else if (what == "graph" && count == 2) right = graph();
  else if (what == "cost" && count == 5)
    right = cost({std::atoi(arguments[2]), std::atoi(arguments[3]), std::atoi(arguments[4])});
  else stop(what.c_str(), "expected threads, fork, graph, or cost M N K");
  std::printf("%s %s\n", what.c_str(), right ? "right" : "wrong");
  return right ? 0 : 1;
}
