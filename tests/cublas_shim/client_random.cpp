// Makes random calls of cuBLAS and cuBLASLt: types, transposes, strides, batches and epilogues, with sizes of 0 and 1,
// and what no library takes. Prints how many. Usage: client_random CALLS SEED
#include <cinttypes>
#include <random>

#include "tests/cublas_shim/client_calls.hpp"

namespace {

std::mt19937_64 source;

template <typename Value, std::size_t kCount>
Value one_of(const Value (&values)[kCount]) {
  return values[source() % kCount];
}
bool one_in(int count) { return source() % std::uint64_t(count) == 0; }

struct Types {
  int ab, c, compute, scale;
  const void *one, *zero;
};
constexpr int COMPUTE_32F_PEDANTIC = 69, E5M2 = 29;
const Types kTypes[] = {{F16, F16, COMPUTE_32F, F32, &kOne, &kZero}, {F16, F32, COMPUTE_32F, F32, &kOne, &kZero},
    {F16, F16, COMPUTE_16F, F16, &kOneH, &kZeroH}, {BF16, BF16, COMPUTE_32F, F32, &kOne, &kZero},
    {BF16, F32, COMPUTE_32F, F32, &kOne, &kZero}, {F32, F32, COMPUTE_32F, F32, &kOne, &kZero},
    {F32, F32, FAST_TF32, F32, &kOne, &kZero}, {F64, F64, COMPUTE_64F, F64, &kOneD, &kZeroD},
    {S8, S32, COMPUTE_32I, S32, &kOneI, &kZeroI}, {S8, S8, COMPUTE_32I, F32, &kOne, &kZero},
    {E4M3, BF16, COMPUTE_32F, F32, &kOne, &kZero}, {E5M2, F16, COMPUTE_32F, F32, &kOne, &kZero},
    {F16, BF16, COMPUTE_32F, F32, &kOne, &kZero}, {F32, F32, COMPUTE_32F_PEDANTIC, F32, &kOne, &kZero}};

std::int64_t size() {
  if (one_in(40)) return one_of<std::int64_t>({0, 1 << 28, (1 << 28) + 1, 1 << 30});
  return one_in(4) ? 1 : one_of<std::int64_t>({2, 3, 5, 8, 16, 17, 64, 100, 1000});
}
std::int64_t ld(std::int64_t least) {
  least = least > 0 ? least : 1;
  if (one_in(40)) return one_in(2) ? least - 1 : std::int64_t{1} << 29;
  return one_in(2) ? least : least + one_of<std::int64_t>({1, 2, 8, 13, 147200});
}
std::int64_t stride(std::int64_t columns, std::int64_t ld) {
  if (one_in(8))
    return one_of<std::int64_t>({-1, -8, 1, std::int64_t{1} << 36, (std::int64_t{1} << 36) + 1, std::int64_t{1} << 62});
  return one_in(2) ? columns * ld : one_of<std::int64_t>({0, ld, 16, 64, columns * ld + 24});
}
void* place(std::size_t at) { return memory + at + (one_in(6) ? one_of<std::size_t>({1, 2, 4, 8}) : 0); }

void gemm(const Types& t, int ta, int tb, std::int64_t m, std::int64_t n, std::int64_t k) {
  const std::int64_t lda = ld(ta == N ? m : k), ldb = ld(tb == N ? k : n), ldc = ld(m);
  const std::int64_t of_a = ta == N ? k : m, of_b = tb == N ? n : k;
  void *const a = place(4096), *const b = place(8192), *const c = place(16384);
  const void* const beta = one_in(3) ? t.one : t.zero;
  const auto count =
      one_in(10) ? one_of<std::int64_t>({0, -1, 1 << 20, (1 << 20) + 1}) : one_of<std::int64_t>({1, 2, 3, 12});
  cublasSetPointerMode_v2(handle, one_in(20) ? 1 : 0);
  switch (source() % 3) {
    case 0:
      cublasGemmEx_64(handle, ta, tb, m, n, k, t.one, a, t.ab, lda, b, t.ab, ldb, beta, c, t.c, ldc, t.compute, -1);
      break;
    case 1:
      cublasGemmStridedBatchedEx_64(handle, ta, tb, m, n, k, t.one, a, t.ab, lda, stride(of_a, lda), b, t.ab, ldb,
          stride(of_b, ldb), beta, c, t.c, ldc, stride(n, ldc), count, t.compute, -1);
      break;
    default:
      cublasGemmBatchedEx_64(handle, ta, tb, m, n, k, t.one, static_cast<void**>(a), t.ab, lda, static_cast<void**>(b),
          t.ab, ldb, beta, static_cast<void**>(c), t.c, ldc, count, t.compute, -1);
  }
  cublasSetPointerMode_v2(handle, 0);
}

void set(void* layout, int attribute, const void* value, std::size_t bytes) {
  cublasLtMatrixLayoutSetAttribute(layout, attribute, value, bytes);
}

void matmul(const Types& t, int ta, int tb, std::int64_t m, std::int64_t n, std::int64_t k) {
  Matmul call(8);
  cublasLtMatmulDescCreate(&call.desc, t.compute, t.scale);
  call.set(3, std::int32_t(ta));
  call.set(4, std::int32_t(tb));
  const std::int64_t rows[] = {ta == N ? m : k, tb == N ? k : n, m}, cols[] = {ta == N ? k : m, tb == N ? n : k, n};
  void** const layouts[] = {&call.a, &call.b, &call.d};
  const std::int32_t batch = one_in(3) ? one_of<std::int32_t>({1, 2, 5, 1 << 21}) : 1;
  for (int i = 0; i < 3; ++i) {
    const std::int64_t of = ld(rows[i]), apart = stride(cols[i], of);
    cublasLtMatrixLayoutCreate(layouts[i], i == 2 ? t.c : t.ab, std::uint64_t(rows[i]), std::uint64_t(cols[i]), of);
    set(*layouts[i], 5, &batch, sizeof batch);
    set(*layouts[i], 6, &apart, sizeof apart);
  }
  call.set(7, one_of<std::uint32_t>({1, 1, 2, 4, 6, 32, 36, 130, 256}));
  call.set(8, static_cast<const void*>(kB));
  if (one_in(2)) call.set(26, one_of<std::int32_t>({F32, F16, BF16, F64}));
  if (t.ab == E4M3 || t.ab == E5M2 || t.c == S8) {
    call.set(25, std::int8_t(one_in(3) ? 0 : 1));
    const std::int32_t mode = one_of<std::int32_t>({0, 3, 4});
    for (const int operand : {0, 1}) {
      if (!one_in(4)) call.set(17 + operand, static_cast<const void*>(kB));
      call.set(31 + operand, mode == 4 && one_in(2) ? 5 : mode);
    }
  }
  const void* const beta = one_in(3) ? t.one : t.zero;
  cublasLtMatmul(handle, call.desc, t.one, place(4096), call.a, place(8192), call.b, beta, place(16384), call.d,
      place(16384), call.d, nullptr, nullptr, 0, nullptr);
}

}  // namespace

int main(int count, char** words) {
  const int calls = count > 1 ? std::atoi(words[1]) : 1000;
  source.seed(count > 2 ? std::strtoull(words[2], nullptr, 10) : 1);
  cublasCreate_v2(&handle);
  for (int i = 0; i < calls; ++i) {
    const Types& types = one_of(kTypes);
    const int ta = one_of({N, T, 2}), tb = one_of({N, T, 2});
    const std::int64_t m = size(), n = size(), k = size();
    if (one_in(3)) matmul(types, ta == 2 ? T : ta, tb, m, n, k);
    else gemm(types, ta, tb, m, n, k);
  }
  cublasDestroy_v2(handle);
  std::printf("%d calls\n", calls);
  return 0;
}
