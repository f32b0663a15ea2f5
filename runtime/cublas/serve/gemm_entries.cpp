// The functions of cuBLAS that the shim defines in its place. Each says what was called and how it is forwarded.
#include <atomic>
#include <cstdint>

#include "runtime/cublas/serve/serve.hpp"
#include "runtime/cublas/shim/real_library.hpp"

#define TILESMITH_ENTRY extern "C" [[gnu::visibility("default")]] tilesmith::cublas::Status

namespace tilesmith::cublas {
namespace {

/// Types and compute type of cublasSgemm and its like.
struct Plain {
  int type, compute;
};
constexpr Plain kSingle{kF32, kCompute32F}, kDouble{kF64, kCompute64F}, kHalf{kF16, kCompute16F};

struct Matrix {
  const void* first;
  int type;
  std::int64_t ld, stride = 0;
};

GemmCall call_of(int op_a, int op_b, std::int64_t m, std::int64_t n, std::int64_t k, const void* alpha, const Matrix& a,
    const Matrix& b, const void* beta, const Matrix& c, int compute, BatchKind batch_kind = BatchKind::single,
    std::int64_t batch = 1) {
  void* const d = const_cast<void*>(c.first);
  return {.op_a = op_a,
      .op_b = op_b,
      .m = m,
      .n = n,
      .k = k,
      .alpha = alpha,
      .a = a.first,
      .type_a = a.type,
      .lda = a.ld,
      .b = b.first,
      .type_b = b.type,
      .ldb = b.ld,
      .beta = beta,
      .c = d,
      .d = d,
      .type_d = c.type,
      .ldd = c.ld,
      .compute = compute,
      .scale_type = scale_type_of(compute),
      .batch_kind = batch_kind,
      .batch = batch,
      .stride_a = a.stride,
      .stride_b = b.stride,
      .stride_d = c.stride};
}

struct HandleSlot {
  std::atomic<Handle> handle{nullptr};
  std::atomic<void*> memory{nullptr};
  std::atomic<std::size_t> bytes{0};
};
constexpr std::size_t kHandleSlots = 512;
HandleSlot handle_slots[kHandleSlots];

/// A handle is one thread's at a time, as cuBLAS demands, and keeps its slot for ever: where it is destroyed, its
/// workspace is taken away. No lock, no allocation; of very many handles some have none.
HandleSlot* slot_of(Handle handle, bool may_add) noexcept {
  std::size_t at = (reinterpret_cast<std::uintptr_t>(handle) * 0x9E3779B97F4A7C15u >> 40) % kHandleSlots;
  for (std::size_t tried = 0; tried < kHandleSlots; ++tried, at = (at + 1) % kHandleSlots) {
    Handle known = handle_slots[at].handle.load(std::memory_order_acquire);
    if (known == nullptr && may_add && handle_slots[at].handle.compare_exchange_strong(known, handle))
      return &handle_slots[at];
    if (known == handle) return &handle_slots[at];
    if (known == nullptr) return nullptr;
  }
  return nullptr;
}

void note_workspace(Handle handle, Workspace workspace) noexcept {
  HandleSlot* const slot = slot_of(handle, workspace.memory != nullptr);
  if (slot == nullptr) return;
  slot->bytes.store(workspace.bytes, std::memory_order_relaxed);
  slot->memory.store(workspace.memory, std::memory_order_relaxed);
}

/// `real` is looked up, called with the same arguments.
template <typename Function, typename... Arguments>
auto forwarding(RealFunction<Function>& real, Arguments... arguments) {
  return [&real, arguments...]() -> Status {
    Function* const function = real.get();
    return function != nullptr ? function(arguments...) : kNotInitialized;
  };
}

}  // namespace

Workspace workspace_of(Handle handle) noexcept {
  const HandleSlot* const slot = slot_of(handle, false);
  if (slot == nullptr) return {};
  return {slot->memory.load(std::memory_order_relaxed), slot->bytes.load(std::memory_order_relaxed)};
}

}  // namespace tilesmith::cublas

using namespace tilesmith::cublas;

// The body of an entry: forwards the call with its arguments, or serves CALL.
#define TILESMITH_SERVE(NAME, CALL, ...)                                            \
  static RealFunction<decltype(NAME)> real{Library::cublas, #NAME};                 \
  auto forward = forwarding(real, handle, op_a, op_b, m, n, k, alpha, __VA_ARGS__); \
  if (!is_wanted()) return forward();                                               \
  GemmCall call = CALL;                                                             \
  return serve_gemm(call, handle, forward_to(forward));

// NAME, the integer type of its extents.
#define TILESMITH_GEMM_EX(NAME, INT)                                                                                 \
  TILESMITH_ENTRY NAME(Handle handle, int op_a, int op_b, INT m, INT n, INT k, const void* alpha, const void* a,     \
      int type_a, INT lda, const void* b, int type_b, INT ldb, const void* beta, void* c, int type_c, INT ldc,       \
      int compute, int algorithm) {                                                                                  \
    TILESMITH_SERVE(NAME,                                                                                            \
        call_of(op_a, op_b, m, n, k, alpha, {a, type_a, lda}, {b, type_b, ldb}, beta, {c, type_c, ldc}, compute), a, \
        type_a, lda, b, type_b, ldb, beta, c, type_c, ldc, compute, algorithm)                                       \
  }

#define TILESMITH_GEMM_STRIDED_EX(NAME, INT)                                                                           \
  TILESMITH_ENTRY NAME(Handle handle, int op_a, int op_b, INT m, INT n, INT k, const void* alpha, const void* a,       \
      int type_a, INT lda, long long stride_a, const void* b, int type_b, INT ldb, long long stride_b,                 \
      const void* beta, void* c, int type_c, INT ldc, long long stride_c, INT count, int compute, int algorithm) {     \
    TILESMITH_SERVE(NAME,                                                                                              \
        call_of(op_a, op_b, m, n, k, alpha, {a, type_a, lda, stride_a}, {b, type_b, ldb, stride_b}, beta,              \
            {c, type_c, ldc, stride_c}, compute, BatchKind::strided, count),                                           \
        a, type_a, lda, stride_a, b, type_b, ldb, stride_b, beta, c, type_c, ldc, stride_c, count, compute, algorithm) \
  }

#define TILESMITH_GEMM_BATCHED_EX(NAME, INT)                                                                     \
  TILESMITH_ENTRY NAME(Handle handle, int op_a, int op_b, INT m, INT n, INT k, const void* alpha,                \
      const void* const* a, int type_a, INT lda, const void* const* b, int type_b, INT ldb, const void* beta,    \
      void* const* c, int type_c, INT ldc, INT count, int compute, int algorithm) {                              \
    TILESMITH_SERVE(NAME,                                                                                        \
        call_of(op_a, op_b, m, n, k, alpha, {a, type_a, lda}, {b, type_b, ldb}, beta, {c, type_c, ldc}, compute, \
            BatchKind::pointers, count),                                                                         \
        a, type_a, lda, b, type_b, ldb, beta, c, type_c, ldc, count, compute, algorithm)                         \
  }

// cublasSgemm and its like: TYPES, the element's type here.
#define TILESMITH_GEMM(NAME, TYPES, ELEMENT, INT)                                                                      \
  TILESMITH_ENTRY NAME(Handle handle, int op_a, int op_b, INT m, INT n, INT k, const ELEMENT* alpha, const ELEMENT* a, \
      INT lda, const ELEMENT* b, INT ldb, const ELEMENT* beta, ELEMENT* c, INT ldc) {                                  \
    TILESMITH_SERVE(NAME,                                                                                              \
        call_of(op_a, op_b, m, n, k, alpha, {a, TYPES.type, lda}, {b, TYPES.type, ldb}, beta, {c, TYPES.type, ldc},    \
            TYPES.compute),                                                                                            \
        a, lda, b, ldb, beta, c, ldc)                                                                                  \
  }

#define TILESMITH_GEMM_STRIDED(NAME, TYPES, ELEMENT, INT)                                                              \
  TILESMITH_ENTRY NAME(Handle handle, int op_a, int op_b, INT m, INT n, INT k, const ELEMENT* alpha, const ELEMENT* a, \
      INT lda, long long stride_a, const ELEMENT* b, INT ldb, long long stride_b, const ELEMENT* beta, ELEMENT* c,     \
      INT ldc, long long stride_c, INT count) {                                                                        \
    TILESMITH_SERVE(NAME,                                                                                              \
        call_of(op_a, op_b, m, n, k, alpha, {a, TYPES.type, lda, stride_a}, {b, TYPES.type, ldb, stride_b}, beta,      \
            {c, TYPES.type, ldc, stride_c}, TYPES.compute, BatchKind::strided, count),                                 \
        a, lda, stride_a, b, ldb, stride_b, beta, c, ldc, stride_c, count)                                             \
  }

#define TILESMITH_GEMM_BATCHED(NAME, TYPES, ELEMENT, INT)                                                           \
  TILESMITH_ENTRY NAME(Handle handle, int op_a, int op_b, INT m, INT n, INT k, const ELEMENT* alpha,                \
      const ELEMENT* const* a, INT lda, const ELEMENT* const* b, INT ldb, const ELEMENT* beta, ELEMENT* const* c,   \
      INT ldc, INT count) {                                                                                         \
    TILESMITH_SERVE(NAME,                                                                                           \
        call_of(op_a, op_b, m, n, k, alpha, {a, TYPES.type, lda}, {b, TYPES.type, ldb}, beta, {c, TYPES.type, ldc}, \
            TYPES.compute, BatchKind::pointers, count),                                                             \
        a, lda, b, ldb, beta, c, ldc, count)                                                                        \
  }

#define TILESMITH_BOTH(KIND, NAME) \
  KIND(NAME, int)                  \
  KIND(NAME##_64, std::int64_t)
#define TILESMITH_BOTH_PLAIN(KIND, NAME, TYPES, ELEMENT) \
  KIND(NAME, TYPES, ELEMENT, int)                        \
  KIND(NAME##_64, TYPES, ELEMENT, std::int64_t)

TILESMITH_BOTH(TILESMITH_GEMM_EX, cublasGemmEx)
TILESMITH_BOTH(TILESMITH_GEMM_STRIDED_EX, cublasGemmStridedBatchedEx)
TILESMITH_BOTH(TILESMITH_GEMM_BATCHED_EX, cublasGemmBatchedEx)
// cublasSgemm and cublasDgemm without _v2 are functions of the first cuBLAS, which take other arguments.
TILESMITH_BOTH_PLAIN(TILESMITH_GEMM, cublasSgemm_v2, kSingle, float)
TILESMITH_BOTH_PLAIN(TILESMITH_GEMM, cublasDgemm_v2, kDouble, double)
TILESMITH_BOTH_PLAIN(TILESMITH_GEMM, cublasHgemm, kHalf, void)
TILESMITH_BOTH_PLAIN(TILESMITH_GEMM_STRIDED, cublasSgemmStridedBatched, kSingle, float)
TILESMITH_BOTH_PLAIN(TILESMITH_GEMM_STRIDED, cublasDgemmStridedBatched, kDouble, double)
TILESMITH_BOTH_PLAIN(TILESMITH_GEMM_STRIDED, cublasHgemmStridedBatched, kHalf, void)
TILESMITH_BOTH_PLAIN(TILESMITH_GEMM_BATCHED, cublasSgemmBatched, kSingle, float)
TILESMITH_BOTH_PLAIN(TILESMITH_GEMM_BATCHED, cublasDgemmBatched, kDouble, double)
TILESMITH_BOTH_PLAIN(TILESMITH_GEMM_BATCHED, cublasHgemmBatched, kHalf, void)

#define TILESMITH_SGEMM_EX(NAME, INT)                                                                                 \
  TILESMITH_ENTRY NAME(Handle handle, int op_a, int op_b, INT m, INT n, INT k, const float* alpha, const void* a,     \
      int type_a, INT lda, const void* b, int type_b, INT ldb, const float* beta, void* c, int type_c, INT ldc) {     \
    TILESMITH_SERVE(NAME,                                                                                             \
        call_of(op_a, op_b, m, n, k, alpha, {a, type_a, lda}, {b, type_b, ldb}, beta, {c, type_c, ldc}, kCompute32F), \
        a, type_a, lda, b, type_b, ldb, beta, c, type_c, ldc)                                                         \
  }
TILESMITH_BOTH(TILESMITH_SGEMM_EX, cublasSgemmEx)

TILESMITH_ENTRY cublasSetWorkspace_v2(Handle handle, void* memory, std::size_t bytes) {
  static RealFunction<decltype(cublasSetWorkspace_v2)> real{Library::cublas, "cublasSetWorkspace_v2"};
  const Status status = forwarding(real, handle, memory, bytes)();
  if (status == kSuccess) note_workspace(handle, {memory, bytes});
  return status;
}

TILESMITH_ENTRY cublasSetStream_v2(Handle handle, Stream stream) {
  static RealFunction<decltype(cublasSetStream_v2)> real{Library::cublas, "cublasSetStream_v2"};
  note_workspace(handle, {});  // cuBLAS goes back to its own
  return forwarding(real, handle, stream)();
}

TILESMITH_ENTRY cublasDestroy_v2(Handle handle) {
  static RealFunction<decltype(cublasDestroy_v2)> real{Library::cublas, "cublasDestroy_v2"};
  note_workspace(handle, {});  // the next handle may lie there
  return forwarding(real, handle)();
}
