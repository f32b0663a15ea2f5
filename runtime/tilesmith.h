/* The C interface of libtilesmith: open a tuned database or bundle, plan a GEMM once, run it many times.
 *
 *   tilesmith_library* library = NULL;
 *   tilesmith_problem problem;
 *   tilesmith_plan* plan = NULL;
 *   if (tilesmith_open("tuned.db", 0, &library) != TILESMITH_OK) puts(tilesmith_last_error());
 *   tilesmith_problem_init(&problem, "f16f32", "NN", m, n, k);
 *   tilesmith_plan_create(library, &problem, &plan);
 *   tilesmith_plan_reserve_workspace(plan);
 *   tilesmith_plan_run(plan, stream, &alpha, a, b, &beta, c, NULL);      C <- alpha*op(A)*op(B) + beta*C
 *   tilesmith_plan_destroy(plan);
 *   tilesmith_close(library);
 *
 * Errors: every function that can fail returns a status; tilesmith_last_error() then has one line of text. No exception
 * leaves the library. Output arguments are set to NULL on failure; null arguments are refused.
 * Threads: a library may be used by several threads at a time (tilesmith_plan_create takes a lock). A plan is immutable
 * but for a workspace of its own: tilesmith_plan_run takes no lock and may be called by several threads at a time, each
 * with its own workspace. Where another thread captures a stream, in whichever mode, every function may be called and
 * leaves that capture as it is.
 * CUDA contexts: the device's primary context is used, the one of the CUDA runtime API: pointers from cudaMalloc and a
 * cudaStream_t are passed as they are. Users of the driver API retain that context (cuDevicePrimaryCtxRetain), allocate
 * in it and keep it current for tilesmith_plan_run. The other functions leave the thread's current context as it was;
 * where there was none, the primary context is current after tilesmith_open, tilesmith_plan_create and
 * tilesmith_plan_reserve_workspace, and none again after the call that releases it last. Libraries and plans end with
 * that context: after cudaDeviceReset none of them can be used any more.
 */
#ifndef TILESMITH_H
#define TILESMITH_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Of this header; tilesmith_version() is the library's. Before 1.0 another minor version is another interface. */
#define TILESMITH_VERSION_MAJOR 0
#define TILESMITH_VERSION_MINOR 1
#define TILESMITH_VERSION_PATCH 0

struct CUstream_st; /* cudaStream_t and CUstream are pointers to this */

typedef struct tilesmith_library tilesmith_library;
typedef struct tilesmith_plan tilesmith_plan;

typedef enum tilesmith_status {
  TILESMITH_OK = 0,
  TILESMITH_BAD_ARGUMENT = 1,      /* an argument names nothing, is null, or does not fit the plan */
  TILESMITH_BAD_DATABASE = 2,      /* the file is missing, of another kind, newer or corrupt */
  TILESMITH_NO_DEVICE = 3,         /* no driver, no such device, or one that is not supported */
  TILESMITH_NO_KERNEL = 4,         /* no stored kernel can be loaded, and NVRTC is not there to compile one */
  TILESMITH_MISALIGNED = 5,        /* a pointer is not a multiple of the problem's align_bytes, or of an element's size */
  TILESMITH_MISSING_WORKSPACE = 6, /* the plan needs a workspace and was given none */
  TILESMITH_DEVICE_FAILED = 7,     /* a driver call failed */
  TILESMITH_OUT_OF_MEMORY = 8,
  TILESMITH_INTERNAL = 9           /* a defect of Tilesmith */
} tilesmith_status;

/* A GEMM problem, row-major. Fill it with tilesmith_problem_init, then change what differs. */
typedef struct tilesmith_problem {
  const char* type;       /* operand and output, or operand, accumulator and output: "f16f32", "f16f16", "f16f32f16",
                             "bf16f32", "bf16f32bf16", "tf32f32", "s8s32", "u8s32", "e4m3f32", "e4m3f32bf16", "e5m2f32", "e5m2f32bf16", "f64f64" */
  const char* transposes; /* "NN", "NT", "TN", "TT": A stored m x k (N) or k x m (T), B stored k x n (N) or n x k (T) */
  int64_t m, n, k;        /* elements, 0 to 2^28 */
  int64_t lda, ldb, ldc;  /* row strides, elements; 0: rows are packed */
  int32_t align_bytes;    /* every pointer given to tilesmith_plan_run is a multiple of this (1, 2, 4, 8 or 16) and of an
                             element's size */
  int32_t beta_is_zero;   /* not 0: beta will always be 0; 0: it may be anything */
  int64_t reserved[4];    /* 0 */
} tilesmith_problem;

/* Where a plan's config came from. The strings live as long as the plan. */
typedef struct tilesmith_explanation {
  const char* rung;     /* "exact", "model" or "generic" */
  const char* config;   /* canonical text */
  const char* reason;   /* one line */
  const char* measured; /* the problem it was measured on, on the model rung the nearest of them; "" if there is none */
  const char* trust;    /* "valid"; or "reverify": the driver or NVRTC changed, the tuner has to verify it again; or
                           "remeasure": it was timed by a former measuring policy, the tuner has to time it again */
  const char* kernel;   /* "stored cubin (NVRTC 13.0)" or "compiled by NVRTC 13.0"; "" if m or n is 0: nothing is launched */
  double median_us;     /* its time there, as stored; 0 if there is none */
  double predicted_us;  /* on the model rung, for this problem; elsewhere 0 */
  int64_t reserved[3];
} tilesmith_explanation;

/* "0.1.0" */
const char* tilesmith_version(void);

/* "no device"; "unknown status" for other numbers. */
const char* tilesmith_status_name(tilesmith_status status);

/* Why the calling thread's last failing call failed: one line, "" if none failed. Valid until its next call. */
const char* tilesmith_last_error(void);

/* Opens a database (read-only; nothing is ever written) or a bundle, told apart by content, for a device (its ordinal
 * as the CUDA driver counts). A null path: no evidence, problems run what the kernel families' own estimates
 * say is fastest, compiled by NVRTC. */
tilesmith_status tilesmith_open(const char* path, int32_t device, tilesmith_library** library);

/* Plans made from it stay usable. Null is allowed. */
void tilesmith_close(tilesmith_library* library);

/* Packed rows, 16-byte aligned pointers, any beta. The texts are not copied: keep them until the plan is created. */
tilesmith_status tilesmith_problem_init(tilesmith_problem* problem, const char* type, const char* transposes, int64_t m,
                                        int64_t n, int64_t k);

/* Chooses the config (exact entry, else predicted by a model, else generic), loads its kernel from the stored cubin or
 * compiles it in memory, resolves its launches. Not while the calling thread captures a stream. */
tilesmith_status tilesmith_plan_create(tilesmith_library* library, const tilesmith_problem* problem,
                                       tilesmith_plan** plan);

/* Destroy a plan only when its runs, and every CUDA graph that holds one, have ended. Null is allowed. */
void tilesmith_plan_destroy(tilesmith_plan* plan);

/* Bytes of device memory, 256-byte aligned, that tilesmith_plan_run needs; 0 for most configs. */
tilesmith_status tilesmith_plan_workspace_bytes(const tilesmith_plan* plan, uint64_t* bytes);

/* Lets the plan own its workspace, allocated now. Then at most one run of this plan may be in flight at a time. */
tilesmith_status tilesmith_plan_reserve_workspace(tilesmith_plan* plan);

tilesmith_status tilesmith_plan_explain(const tilesmith_plan* plan, tilesmith_explanation* explanation);

/* Enqueues C <- alpha*op(A)*op(B) + beta*C on the stream (null: the default stream) and nothing else; can be captured
 * in a CUDA graph. In the stream's order; on sm_90 blocks may come while the kernel before still ends (programmatic
 * dependent launch), and wait for its results on the device: if that kernel lets them, as plans do; in a graph if it is a
 * plan's that this thread captured right before. A kernel of the application's own that so comes behind a plan may touch
 * nothing that any kernel before it writes until it has waited. And it has to wait before it ends: behind one that came
 * early and ended without, a plan is promised that one's end alone, not that of the kernels before it.
 * a, b, c: device memory; a and b are not read if alpha or K is 0, c is not read if beta is 0. c must not overlap a or b.
 * alpha, beta: host memory, in the type pair's scale type: double for f64f64; int32_t for s8s32, u8s32; float for all
 * others. Read before the call returns.
 * workspace: null if none is needed or the plan owns one. */
tilesmith_status tilesmith_plan_run(const tilesmith_plan* plan, struct CUstream_st* stream, const void* alpha,
                                    const void* a, const void* b, const void* beta, void* c, void* workspace);

#ifdef __cplusplus
}
#endif

#endif
