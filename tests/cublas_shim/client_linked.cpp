// A program that is linked with cuBLAS, and knows nothing of Tilesmith but what it asks the stand-ins. Its argument
// says what it does.
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstring>
#include <ctime>
#include <string>
#include <thread>
#include <vector>

#include "tests/cublas_shim/client_calls.hpp"

namespace {

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
  EXPECT(cublasGemmEx(handle, T, N, 3, 5, 64, &kOne, kA, F16, 63, kB, F16, 64, &kZero, kC, F16, 3, COMPUTE_32F, -1) ==
         0);  // lda too small
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
  EXPECT(from_pool() == 1 && last_run().workspace == memory + 65536);
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
  EXPECT(last_run().workspace == memory + 131072 && from_pool() == 1);
}

/// Sixteen threads ask for the same 40 problems at once. Each problem is planned once; once its plan is there, every
/// call runs it.
void threads() {
  const auto call_from_all = [] {
    std::vector<std::thread> all;
    for (int number = 0; number < 16; ++number) {
      all.emplace_back([number] {
        void* own = nullptr;
        cublasCreate_v2(&own);
        for (int i = 0; i < 1000; ++i) {
          const int m = 3 + (i + number) % 40;
          if (cublasGemmEx(own, T, N, m, 5, 61, &kOne, kA, F16, 61, kB, F16, 61, &kZero, kC, F16, m, COMPUTE_32F, -1) !=
              0)
            std::abort();
          if (i % 100 == 0) usleep(1000);
        }
        cublasDestroy_v2(own);
      });
    }
    for (std::thread& one : all) one.join();
  };
  call_from_all();
  for (int m = 3; m < 43; ++m) {
    EXPECT(is_taken_over([m] {
      return cublasGemmEx(handle, T, N, m, 5, 61, &kOne, kA, F16, 61, kB, F16, 61, &kZero, kC, F16, m, COMPUTE_32F, -1);
    }));
  }
  EXPECT(plans() == 40);
  const int before = runs();
  call_from_all();
  EXPECT(runs() == before + 16 * 1000 && plans() == 40);
}

/// `ends_at_once`: the child leaves as Python's workers do. With STAND_IN_LOADING the child begins while the parent
/// loads libtilesmith.
void forks(bool ends_at_once) {
  for (int i = 0; i < 5; ++i) gemm_ex(64);
  if (const char* const marker = std::getenv("STAND_IN_LOADING"))
    for (int i = 0; i < 5000 && access(marker, R_OK) != 0; ++i) usleep(2000);
  if (std::strcmp(std::getenv("TILESMITH_CUBLAS"), "run") == 0) EXPECT(is_taken_over([] { return gemm_ex(64); }));
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    const int before = runs();
    EXPECT(gemm_ex(64) == 0);
    EXPECT(runs() == before);  // its plans are the parent's
    if (std::strcmp(std::getenv("TILESMITH_CUBLAS"), "run") == 0) EXPECT(is_taken_over([] { return gemm_ex(64); }));
    if (ends_at_once) {
      const std::string file = std::to_string(getpid()) + ".workload";
      for (int i = 0; i < 5000 && access(file.c_str(), R_OK) != 0; ++i) usleep(2000);
      _exit(failures);
    }
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
  EXPECT(is_taken_over([] { return BlockScaled(512)(); }));
}

/// Until the file that is captured into is there.
void wait_for_capture() {
  for (int i = 0; i < 5000 && access(std::getenv("TILESMITH_CAPTURE"), R_OK) != 0; ++i) usleep(2000);
}

/// Until the shim has told why it forwards. Stderr is a file that has nothing else.
void wait_for_words() {
  struct stat of {};
  for (int i = 0; i < 10000 && fstat(STDERR_FILENO, &of) == 0 && of.st_size == 0; ++i) usleep(2000);
}

/// The file's number becomes that of stderr.
void writes_as_stderr(const char* file) {
  close(STDERR_FILENO);
  EXPECT(open(file, O_CREAT | O_TRUNC | O_WRONLY, 0644) == STDERR_FILENO);
  EXPECT(write(STDERR_FILENO, "user data\n", 10) == 10);
  EXPECT(gemm_ex(64) == 0);
}

/// No file may grow; what the program itself prints goes nowhere then.
void without_room() {
  const rlimit none{0, 0};
  EXPECT(std::freopen("/dev/null", "w", stdout) != nullptr && setrlimit(RLIMIT_FSIZE, &none) == 0);
  EXPECT(gemm_ex(64) == 0);
}

/// What other processes take is not counted.
double thread_ns() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return double(now.tv_sec) * 1e9 + double(now.tv_nsec);
}

template <typename Call>
double ns_a_call(Call call) {
  constexpr int kCalls = 50000;
  double best = 1e9;
  for (int round = 0; round < 5; ++round) {
    const double begin = thread_ns();
    for (int i = 0; i < kCalls; ++i) call();
    best = std::min(best, (thread_ns() - begin) / kCalls);
  }
  return best;
}

/// Of this thread's own time. Where it is exact, see docs/notes/cublas_shim.md.
void overhead() {
  const auto sgemm = [] {
    return cublasSgemm_v2(handle, N, N, 1, 1, 7, &kOne, (float*)kA, 8, (float*)kB, 8, &kZero, (float*)kC, 8);
  };
  const Matmul matmul(7);
  is_forwarded(sgemm);
  is_forwarded([&] { return matmul(); });
  const double of_sgemm = ns_a_call(sgemm), of_matmul = ns_a_call([&] { return matmul(); });
  std::printf("cublasSgemm %.0f ns, cublasLtMatmul %.0f ns", of_sgemm, of_matmul);
  EXPECT(of_sgemm < 1000 && of_matmul < 1000);
  const Matmul taken(61);
  const auto sgemm_taken = [] {
    return cublasSgemm_v2(handle, N, N, 1, 1, 61, &kOne, (float*)kA, 8, (float*)kB, 61, &kZero, (float*)kC, 8);
  };
  is_taken_over(sgemm_taken);
  is_taken_over([&] { return taken(); });
  std::printf("; taken over (but for the launch) %.0f and %.0f ns\n", ns_a_call(sgemm_taken),
      ns_a_call([&] { return taken(); }));
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
  if (what == "block-scales") block_scales();
  if (what == "block-scales-once") EXPECT(BlockScaled(512)() == 0 && BlockScaled(640)() == 0);
  if (what == "reasons") reasons();
  if (what == "workspaces") workspaces();
  if (what == "threads") threads();
  if (what == "fork") forks(false);
  if (what == "fork-at-once") forks(true);
  if (what == "checks") checks();
  if (what == "overhead") overhead();
  if (what == "writes-as-stderr") writes_as_stderr(arguments[2]);
  if (what == "without-room") without_room();
  if (what == "once") EXPECT(gemm_ex(65) == 0);
  if (what == "execs" || what == "changes-folder") {
    EXPECT(gemm_ex(64) == 0);
    wait_for_capture();
    if (what == "execs") execl(arguments[0], arguments[0], "once", nullptr);
    EXPECT(chdir("..") == 0 && gemm_ex(65) == 0);
  }
  if (what == "taken") EXPECT(is_taken_over([] { return gemm_ex(64); }));
  if (what == "forwarded" || what == "forwarded-once-told") {
    for (int i = 0; i < 20; ++i) {
      EXPECT(gemm_ex(64 + i % 2) == 0);
      if (what == "forwarded-once-told" && i == 1) wait_for_words();
      usleep(what == "forwarded-once-told" ? 20000 : 1000);
    }
    EXPECT(runs() == 0);
  }
  cublasDestroy_v2(handle);
  if (failures == 0) std::puts("as expected");
  return failures == 0 ? 0 : 1;
}
