// A program that is linked with cuBLAS, and knows nothing of Tilesmith but what it asks the stand-ins. Its argument says what it does.
#include <sys/wait.h>

#include <algorithm>
#include <cstring>
#include <ctime>
#include <thread>
#include <vector>

#include "tests/cublas_shim/client.hpp"

namespace {

void* handle = nullptr;
// "Device memory", 256-byte aligned.
alignas(256) char memory[1 << 20];
void* const kA = memory;
void* const kB = memory + 4096;
void* const kC = memory + 8192;
const float kOne = 1, kZero = 0, kTwo = 2;
const double kOneD = 1, kZeroD = 0;
const std::uint16_t kOneH = 0x3C00, kZeroH = 0, kHalfH = 0x3800;
const std::int32_t kOneI = 1, kZeroI = 0;
constexpr int N = 0, T = 1, F32 = 0, F64 = 1, F16 = 2, S8 = 3, S32 = 10, BF16 = 14, E4M3 = 28;
constexpr int COMPUTE_16F = 64, COMPUTE_32F = 68, COMPUTE_64F = 70, COMPUTE_32I = 72, FAST_16BF = 75, FAST_TF32 = 77;

int gemm_ex(int k, int type = F16, int type_c = F16, int compute = COMPUTE_32F, const void* alpha = &kOne, const void* beta = &kZero) {
  return cublasGemmEx(handle, T, N, 3, 5, k, alpha, kA, type, k, kB, type, k, beta, kC, type_c, 3, compute, -1);
}
int f32_gemm(int k) { return cublasSgemm_v2(handle, N, N, 8, 5, k, &kOne, (float*)kA, 8, (float*)kB, k, &kZero, (float*)kC, 8); }

#define TAKES(call, expected)                                                     \
  do {                                                                            \
    EXPECT(is_taken_over([&] { return call; }));                                  \
    if (runs() > 0) expect_text(__FILE__, __LINE__, last_problem(), expected);    \
  } while (false)

void types() {
  TAKES(gemm_ex(64), "f16f32f16 NT 5 3 64 ld 64 64 3");
  const tilesmith_run_args args = last_args();
  EXPECT(args.a == kB && args.b == kA && args.c == kC && args.d == kC && args.alpha == &kOne && args.beta == &kZero);
  TAKES(gemm_ex(64, F16, F32), "f16f32 NT 5 3 64 ld 64 64 3");
  TAKES(gemm_ex(64, BF16, BF16), "bf16f32bf16 NT 5 3 64 ld 64 64 3");
  TAKES(gemm_ex(64, BF16, F32), "bf16f32 NT 5 3 64 ld 64 64 3");
  TAKES(gemm_ex(64, F32, F32), "f32f32 NT 5 3 64 ld 64 64 3");
  TAKES(gemm_ex(64, F32, F32, FAST_TF32), "tf32f32 NT 5 3 64 ld 64 64 3");
  TAKES(gemm_ex(48, F32, F32, FAST_16BF), "tf32f32 NT 5 3 48 ld 48 48 3");
  TAKES(gemm_ex(64, F64, F64, COMPUTE_64F, &kOneD, &kZeroD), "f64f64 NT 5 3 64 ld 64 64 3");
  TAKES(gemm_ex(64, S8, S32, COMPUTE_32I, &kOneI, &kZeroI), "s8s32 NT 5 3 64 ld 64 64 3");
  TAKES(gemm_ex(64, F16, F16, COMPUTE_16F, &kHalfH, &kZeroH), "f16f16 NT 5 3 64 ld 64 64 3");
  EXPECT(last_alpha() == 0.5F);
  cublasSetMathMode(handle, 3);
  TAKES(gemm_ex(72, F32, F32), "tf32f32 NT 5 3 72 ld 72 72 3");
  TAKES(f32_gemm(72), "tf32f32 NN 5 8 72 ld 72 8 8");
  cublasSetMathMode(handle, 16);  // sums are never reduced in narrow types anyway
  TAKES(gemm_ex(80, F16, F16), "f16f32f16 NT 5 3 80 ld 80 80 3");
  cublasSetMathMode(handle, 0);
}

/// Each form of each function.
void forms() {
  auto* const f = static_cast<float*>(kC);
  auto* const d = static_cast<double*>(kC);
  TAKES(cublasGemmEx_64(handle, N, T, 4, 6, 10, &kOne, kA, BF16, 9, kB, BF16, 7, &kTwo, kC, BF16, 5, COMPUTE_32F, -1), "bf16f32bf16 TN 6 4 10 ld 7 9 5 beta=1");
  TAKES(f32_gemm(12), "f32f32 NN 5 8 12 ld 12 8 8");
  TAKES(cublasSgemm_v2_64(handle, T, T, 8, 5, 12, &kOne, f, 12, f, 5, &kZero, f, 8), "f32f32 TT 5 8 12 ld 5 12 8");
  TAKES(cublasDgemm_v2(handle, N, N, 8, 5, 12, &kOneD, d, 8, d, 12, &kZeroD, d, 8), "f64f64 NN 5 8 12 ld 12 8 8");
  TAKES(cublasDgemm_v2_64(handle, N, N, 8, 5, 14, &kOneD, d, 8, d, 14, &kZeroD, d, 8), "f64f64 NN 5 8 14 ld 14 8 8");
  TAKES(cublasHgemm(handle, N, N, 8, 5, 12, &kOneH, kA, 8, kB, 12, &kZeroH, kC, 8), "f16f16 NN 5 8 12 ld 12 8 8");
  TAKES(cublasHgemm_64(handle, N, N, 8, 5, 14, &kOneH, kA, 8, kB, 14, &kZeroH, kC, 8), "f16f16 NN 5 8 14 ld 14 8 8");
  TAKES(cublasSgemmEx(handle, N, N, 8, 5, 12, &kOne, kA, F16, 8, kB, F16, 12, &kZero, kC, F16, 8), "f16f32f16 NN 5 8 12 ld 12 8 8");
  TAKES(cublasSgemmEx_64(handle, N, N, 8, 5, 14, &kOne, kA, BF16, 8, kB, BF16, 14, &kZero, kC, F32, 8), "bf16f32 NN 5 8 14 ld 14 8 8");
  const char* const strided = " batch=3 stride_a=200 stride_b=100 stride_c=300";
  const auto with_strides = [&](const char* head) { return std::string(head) + strided; };
  TAKES(cublasGemmStridedBatchedEx(handle, N, N, 8, 5, 12, &kOne, kA, F16, 8, 100, kB, F16, 12, 200, &kZero, kC, F16, 8, 300, 3, COMPUTE_32F, -1),
        with_strides("f16f32f16 NN 5 8 12 ld 12 8 8"));
  TAKES(cublasGemmStridedBatchedEx_64(handle, N, N, 8, 5, 14, &kOne, kA, F16, 8, 100, kB, F16, 14, 200, &kZero, kC, F16, 8, 300, 3, COMPUTE_32F, -1),
        with_strides("f16f32f16 NN 5 8 14 ld 14 8 8"));
  TAKES(cublasSgemmStridedBatched(handle, N, N, 8, 5, 12, &kOne, f, 8, 100, f, 12, 200, &kZero, f, 8, 300, 3), with_strides("f32f32 NN 5 8 12 ld 12 8 8"));
  TAKES(cublasSgemmStridedBatched_64(handle, N, N, 8, 5, 14, &kOne, f, 8, 100, f, 14, 200, &kZero, f, 8, 300, 3),
        with_strides("f32f32 NN 5 8 14 ld 14 8 8"));
  TAKES(cublasDgemmStridedBatched(handle, N, N, 8, 5, 12, &kOneD, d, 8, 100, d, 12, 200, &kZeroD, d, 8, 300, 3),
        with_strides("f64f64 NN 5 8 12 ld 12 8 8"));
  TAKES(cublasHgemmStridedBatched(handle, N, N, 8, 5, 12, &kOneH, kA, 8, 100, kB, 12, 200, &kZeroH, kC, 8, 300, 3),
        with_strides("f16f16 NN 5 8 12 ld 12 8 8"));
  TAKES(cublasGemmStridedBatchedEx(handle, N, N, 8, 5, 15, &kOne, kA, F16, 8, 100, kB, F16, 15, 200, &kZero, kC, F16, 8, 300, 1, COMPUTE_32F, -1),
        "f16f32f16 NN 5 8 15 ld 15 8 8");  // a batch of one is none
  const void* const a[3] = {kA, kA, kA};
  void* const c[3] = {kC, kC, kC};
  const char* const pointers = " batch=3 stride_a=-2 stride_b=-2 stride_c=-2";
  TAKES(cublasGemmBatchedEx(handle, N, N, 8, 5, 12, &kOne, a, F16, 8, a, F16, 12, &kZero, c, F16, 8, 3, COMPUTE_32F, -1),
        std::string("f16f32f16 NN 5 8 12 ld 12 8 8 align=2") + pointers);
  EXPECT(last_args().a == a && last_args().d == c);
  TAKES(cublasGemmBatchedEx_64(handle, N, N, 8, 5, 14, &kOne, a, F16, 8, a, F16, 14, &kZero, c, F32, 8, 3, COMPUTE_32F, -1),
        std::string("f16f32 NN 5 8 14 ld 14 8 8 align=4") + pointers);
  TAKES(cublasSgemmBatched(handle, N, N, 8, 5, 12, &kOne, (const float* const*)a, 8, (const float* const*)a, 12, &kZero, (float* const*)c, 8, 3),
        std::string("f32f32 NN 5 8 12 ld 12 8 8 align=4") + pointers);
  TAKES(cublasDgemmBatched_64(handle, N, N, 8, 5, 12, &kOneD, (const double* const*)a, 8, (const double* const*)a, 12, &kZeroD, (double* const*)c, 8, 3),
        std::string("f64f64 NN 5 8 12 ld 12 8 8 align=8") + pointers);
  TAKES(cublasHgemmBatched(handle, N, N, 8, 5, 12, &kOneH, a, 8, a, 12, &kZeroH, c, 8, 3), std::string("f16f16 NN 5 8 12 ld 12 8 8 align=2") + pointers);
  // Alignment is part of the key; so is where alpha and beta lie.
  TAKES(cublasGemmEx(handle, T, N, 3, 5, 64, &kOne, (char*)kA + 4, F16, 64, kB, F16, 64, &kZero, kC, F16, 3, COMPUTE_32F, -1), "f16f32f16 NT 5 3 64 ld 64 64 3 align=4");
  cublasSetPointerMode_v2(handle, 1);
  TAKES(gemm_ex(64), "f16f32f16 NT 5 3 64 ld 64 64 3 beta=1 device=1");
  cublasSetPointerMode_v2(handle, 0);
}

struct Matmul {
  void* desc = nullptr;
  void* a = nullptr;
  void* b = nullptr;
  void* d = nullptr;
  const void* beta = &kZero;
  void* c = kC;
  void* workspace = nullptr;
  std::size_t bytes = 0;

  explicit Matmul(int k, int type = BF16, int type_d = BF16, int compute = COMPUTE_32F) {
    cublasLtMatmulDescCreate(&desc, compute, F32);
    cublasLtMatrixLayoutCreate(&a, type, 8, std::uint64_t(k), 8);
    cublasLtMatrixLayoutCreate(&b, type, std::uint64_t(k), 5, k);
    cublasLtMatrixLayoutCreate(&d, type_d, 8, 5, 8);
  }
  template <typename Value>
  void set(int attribute, Value value) {
    EXPECT(cublasLtMatmulDescSetAttribute(desc, attribute, &value, sizeof value) == 0);
  }
  int operator()() const {
    return cublasLtMatmul(handle, desc, &kOne, kA, a, kB, b, beta, c, d, kC, d, nullptr, workspace, bytes, nullptr);
  }
};

void matmuls() {
  TAKES(Matmul(12)(), "bf16f32bf16 NN 5 8 12 ld 12 8 8");
  Matmul biased(12);
  biased.set(7, 4);
  biased.set(8, (const void*)memory);
  TAKES(biased(), "bf16f32bf16 NN 5 8 12 ld 12 8 8 bias=1");
  EXPECT(last_args().bias == memory);
  biased.set(7, 4 | 2);
  TAKES(biased(), "bf16f32bf16 NN 5 8 12 ld 12 8 8 bias=1 activation=1");
  biased.set(7, 4 | 32);
  biased.set(26, F32);
  TAKES(biased(), "bf16f32bf16 NN 5 8 12 ld 12 8 8 bias=3 activation=3");
  Matmul apart(14);
  apart.beta = &kTwo;
  apart.c = kA;
  TAKES(apart(), "bf16f32bf16 NN 5 8 14 ld 14 8 8 beta=1 apart=1");
  EXPECT(last_args().c == kA && last_args().d == kC);
  apart.set(7, 2);
  TAKES(apart(), "bf16f32bf16 NN 5 8 14 ld 14 8 8 beta=1 activation=1");
  Matmul transposed(8);  // A as 8 x 8
  transposed.set(3, T);
  TAKES(transposed(), "bf16f32bf16 NT 5 8 8 ld 8 8 8");
  const int row_major = 1;
  cublasLtMatrixLayoutSetAttribute(transposed.a, 1, &row_major, 4);
  TAKES(transposed(), "bf16f32bf16 NN 5 8 8 ld 8 8 8");
  Matmul batch(12);
  const int three = 3;
  const std::int64_t strides[] = {100, 200, 300};
  void* const layouts[] = {batch.a, batch.b, batch.d};
  for (int i = 0; i < 3; ++i) {
    cublasLtMatrixLayoutSetAttribute(layouts[i], 5, &three, 4);
    cublasLtMatrixLayoutSetAttribute(layouts[i], 6, &strides[i], 8);
  }
  TAKES(batch(), "bf16f32bf16 NN 5 8 12 ld 12 8 8 batch=3 stride_a=200 stride_b=100 stride_c=300");
  Matmul eight_bit(16, E4M3, BF16);
  eight_bit.set(17, (const void*)kA);
  eight_bit.set(18, (const void*)kB);
  eight_bit.set(25, std::int8_t{1});
  TAKES(eight_bit(), "e4m3f32bf16 NN 5 8 16 ld 16 8 8 scale_m=1 scale_n=1");
  EXPECT(last_args().scale_m == kB && last_args().scale_n == kA);
  eight_bit.set(31, 3);
  eight_bit.set(32, 3);
  TAKES(eight_bit(), "e4m3f32bf16 NN 5 8 16 ld 16 8 8 scale_m=2 scale_n=2");
  TAKES(Matmul(12, F32, F32, FAST_TF32)(), "tf32f32 NN 5 8 12 ld 12 8 8");

  eight_bit.set(25, std::int8_t{0});
  biased.set(7, 4 | 128);
  const int before = runs();
  for (int i = 0; i < 50; ++i) {
    EXPECT(eight_bit() == 0 && biased() == 0);
    usleep(1000);
  }
  EXPECT(runs() == before);
  const int calls = stand_in_cublaslt_calls();
  biased();
  EXPECT(stand_in_cublaslt_calls() == calls + 1);
}

/// What is not taken over, for each reason that can be brought about. The table at the end is the test's to look at.
void reasons() {
  for (const int k : {7, 11, 13, 17, 19, 37}) EXPECT(is_forwarded([&] { return gemm_ex(k); }));
  EXPECT(is_forwarded([&] { return gemm_ex(23); }));  // its launch fails
  EXPECT(is_taken_over([&] { return gemm_ex(64); }));
  const int before = runs(), calls = stand_in_cublas_calls();
  cublasSetMathMode(handle, 2);
  EXPECT(gemm_ex(64) == 0);  // pedantic
  cublasSetMathMode(handle, 4);
  EXPECT(f32_gemm(64) == 0);  // emulated
  cublasSetMathMode(handle, 0);
  EXPECT(gemm_ex(64, F16, F16, 65, &kOneH, &kZeroH) == 0);  // pedantic by its compute type
  EXPECT(gemm_ex(64, 4, 4) == 0);                           // complex
  EXPECT(gemm_ex(64, F16, BF16) == 0);
  EXPECT(gemm_ex(0) == 0);
  cublasSetPointerMode_v2(handle, 1);
  EXPECT(cublasHgemm(handle, N, N, 8, 5, 12, &kOneH, kA, 8, kB, 12, &kZeroH, kC, 8) == 0);
  cublasSetPointerMode_v2(handle, 0);
  EXPECT(cublasGemmEx(handle, T, N, 3, 5, 64, &kOne, kA, F16, 63, kB, F16, 64, &kZero, kC, F16, 3, COMPUTE_32F, -1) == 0);  // lda too small
  cublasSetStream_v2(handle, (void*)0x77);
  EXPECT(gemm_ex(65) == 0);  // captured, without a plan
  cublasSetStream_v2(handle, nullptr);
  of_cuda<void(int)>("stand_in_set_context")(0);
  EXPECT(gemm_ex(64) == 0);
  of_cuda<void(int)>("stand_in_set_context")(2);
  EXPECT(gemm_ex(64) == 0);
  of_cuda<void(int)>("stand_in_set_context")(1);
  EXPECT(runs() == before && stand_in_cublas_calls() >= calls + 11);
  cublasSetStream_v2(handle, (void*)0x77);
  EXPECT(gemm_ex(64) == 0 && runs() == before + 1);  // captured, its plan is known
  cublasSetStream_v2(handle, nullptr);
}

void workspaces() {
  auto* const from_pool = of_cuda<int()>("stand_in_pool_allocations");
  EXPECT(is_taken_over([] { return gemm_ex(29); }));
  EXPECT(from_pool() == 1);
  cublasSetWorkspace_v2(handle, memory + 65536, 65536);
  EXPECT(is_taken_over([] { return gemm_ex(29); }));
  EXPECT(from_pool() == 1 && last_args().workspace == memory + 65536);
  cublasSetStream_v2(handle, (void*)0x77);  // which takes the workspace away; a captured stream gets none
  const int before = runs();
  EXPECT(gemm_ex(29) == 0 && runs() == before);
  cublasSetWorkspace_v2(handle, memory + 65536, 65536);
  EXPECT(gemm_ex(29) == 0 && runs() == before + 1);
  cublasSetStream_v2(handle, nullptr);
  Matmul matmul(29);
  matmul.workspace = memory + 131072;
  matmul.bytes = 65536;
  EXPECT(is_taken_over([&] { return matmul(); }));
  EXPECT(last_args().workspace == memory + 131072 && from_pool() == 1);
}

void threads() {
  std::vector<std::thread> all;
  for (int number = 0; number < 16; ++number) {
    all.emplace_back([number] {
      void* own = nullptr;
      cublasCreate_v2(&own);
      for (int i = 0; i < 2000; ++i) {
        const int m = 3 + (i + number) % 40;
        if (cublasGemmEx(own, T, N, m, 5, 61, &kOne, kA, F16, 61, kB, F16, 61, &kZero, kC, F16, m, COMPUTE_32F, -1) != 0) std::abort();
        if (i % 100 == 0) usleep(1000);
      }
      cublasDestroy_v2(own);
    });
  }
  for (std::thread& one : all) one.join();
  EXPECT(plans() == 40);  // each problem once
  EXPECT(runs() > 16000);
}

/// `ends_at_once`: the child leaves as Python's workers do.
void forks(bool ends_at_once) {
  for (int i = 0; i < 5; ++i) gemm_ex(64);
  if (std::strcmp(std::getenv("TILESMITH_CUBLAS"), "run") == 0) EXPECT(is_taken_over([] { return gemm_ex(64); }));
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    const int before = runs();
    EXPECT(gemm_ex(64) == 0);
    EXPECT(runs() == before);  // its plans are the parent's
    if (std::strcmp(std::getenv("TILESMITH_CUBLAS"), "run") == 0) EXPECT(is_taken_over([] { return gemm_ex(64); }));
    if (ends_at_once) usleep(1500000);
    if (ends_at_once) _exit(failures);
    std::exit(failures);
  }
  int status = -1;
  EXPECT(waitpid(child, &status, 0) == child && status == 0);
  if (std::strcmp(std::getenv("TILESMITH_CUBLAS"), "run") == 0) EXPECT(is_taken_over([] { return gemm_ex(64); }));
}

void checks() {
  EXPECT(is_taken_over([] { return f32_gemm(32); }));
  EXPECT(static_cast<float*>(kC)[10] == 1);
  EXPECT(is_taken_over([] { return f32_gemm(31); }));
  EXPECT(static_cast<float*>(kC)[10] == 1);  // the application has cuBLAS's
}

/// What other processes take is not counted.
double thread_ns() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return double(now.tv_sec) * 1e9 + double(now.tv_nsec);
}

template <typename Call>
double ns_a_call(Call call) {
  constexpr int kCalls = 200000;
  double best = 1e9;
  for (int round = 0; round < 5; ++round) {
    const double begin = thread_ns();
    for (int i = 0; i < kCalls; ++i) call();
    best = std::min(best, (thread_ns() - begin) / kCalls);
  }
  return best;
}

/// Beside the same calls without a shim, or with TILESMITH_CUBLAS=off.
void overhead() {
  const auto sgemm = [] { return cublasSgemm_v2(handle, N, N, 1, 1, 7, &kOne, (float*)kA, 8, (float*)kB, 8, &kZero, (float*)kC, 8); };
  const Matmul matmul(7);
  is_forwarded(sgemm);
  is_forwarded([&] { return matmul(); });
  std::printf("cublasSgemm %.0f ns, cublasLtMatmul %.0f ns", ns_a_call(sgemm), ns_a_call([&] { return matmul(); }));
  const Matmul taken(61);
  const auto sgemm_taken = [] { return cublasSgemm_v2(handle, N, N, 1, 1, 61, &kOne, (float*)kA, 8, (float*)kB, 61, &kZero, (float*)kC, 8); };
  is_taken_over(sgemm_taken);
  is_taken_over([&] { return taken(); });
  std::printf("; taken over (but for the launch) %.0f and %.0f ns\n", ns_a_call(sgemm_taken), ns_a_call([&] { return taken(); }));
}

void others() {
  float x[2] = {1, 2}, y[2] = {10, 20};
  const double values[3] = {1, -2, 3};
  float c = 0;
  EXPECT(cublasSaxpy_v2(handle, 2, &kTwo, x, 1, y, 1) == 0 && y[0] == 12 && y[1] == 24);
  EXPECT(cublasDasum(3, values, 1) == 6);
  cublasSgemm('n', 't', 1, 2, 3, 2.0F, x, 4, x, 5, 0.5F, &c, 6);
  EXPECT(c == 42.5F);
}

}  // namespace

int main(int, char** arguments) {
  const std::string what = arguments[1];
  EXPECT(cublasCreate_v2(&handle) == 0);
  others();
  if (what == "types") types();
  if (what == "forms") forms();
  if (what == "matmuls") matmuls();
  if (what == "reasons") reasons();
  if (what == "workspaces") workspaces();
  if (what == "threads") threads();
  if (what == "fork") forks(false);
  if (what == "fork-at-once") forks(true);
  if (what == "checks") checks();
  if (what == "overhead") overhead();
  if (what == "taken") EXPECT(is_taken_over([] { return gemm_ex(64); }));
  if (what == "forwarded") {
    for (int i = 0; i < 20; ++i) {
      EXPECT(gemm_ex(64 + i % 2) == 0);
      usleep(1000);
    }
    EXPECT(runs() == 0);
  }
  cublasDestroy_v2(handle);
  if (failures == 0) std::puts("as expected");
  return failures == 0 ? 0 : 1;
}
