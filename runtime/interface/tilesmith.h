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
 * Or in one call, which plans when it first meets a problem and finds that plan from then on:
 *
 *   tilesmith_gemm(library, stream, &problem, &alpha, a, b, &beta, c);
 *
 * Errors: every function that can fail returns a status; tilesmith_last_error() then has one line of text. No exception
 * leaves the library. Output arguments are set to NULL on failure; null arguments are refused.
 * Threads: a library may be used by several threads at a time. tilesmith_plan_create takes a lock; tilesmith_gemm takes none
 * if its plan is known and needs no workspace. A plan is immutable but for a workspace of its own: tilesmith_plan_run takes
 * no lock and may be called by several threads at a time, each with its own workspace. Where another thread captures a
 * stream, in whichever mode, every function may be called and leaves that capture as it is.
 * CUDA contexts: the device's primary context is used, the one of the CUDA runtime API: pointers from cudaMalloc and a
 * cudaStream_t are passed as they are. Users of the driver API retain that context (cuDevicePrimaryCtxRetain), allocate
 * in it and keep it current for tilesmith_plan_run. The other functions leave the thread's current context as it was;
 * where there was none, the primary context is current after tilesmith_open, tilesmith_plan_create,
 * tilesmith_plan_reserve_workspace, tilesmith_prepare and tilesmith_gemm, and none again after the call that releases it
 * last. Libraries and plans end with that context: after cudaDeviceReset none of them can be used any more.
 * Log: warnings go to the callback of tilesmith_set_log_callback, else to stderr, unless the environment variable TILESMITH_LOG
 * is "off" ("warn": as without it).
 */
#ifndef TILESMITH_H
#define TILESMITH_H

#include <stddef.h>
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
  TILESMITH_INTERNAL = 9,          /* a defect of Tilesmith */
  TILESMITH_NOT_PLANNED = 10       /* tilesmith_gemm into a stream that is being captured, without tilesmith_prepare before */
} tilesmith_status;

/* Fill it with tilesmith_options_init, then change what differs. Later versions add fields at the end. */
typedef struct tilesmith_options {
  size_t size;           /* of the struct that the application was compiled with, in bytes */
  int32_t device;        /* ordinal, as the CUDA driver counts; 0 at first */
  int32_t allow_compile; /* 0: kernels are loaded from the database or bundle only; 1 at first */
  int32_t log_misses;    /* not 0: one line in the log for each problem that is not on the exact level or had to be compiled;
                            1 at first */
  int32_t trial_budget;  /* above 1: planning times so many candidates for a problem that was not measured, on scratch operands in
                            device memory, and keeps the fastest for the life of the library; 0 at first */
  const char* trial_database; /* path of a database that keeps the winners of trials for the next start, and is read beside what is opened;
                                 may be the opened database. It is made if there is none. What cannot be read or written is one line in
                                 the log. A winner was never verified: all that the tuner measured ranks before it. The text is copied.
                                 NULL or "": none; NULL at first */
  const char* family_dirs; /* folders of families of the application's own, colon-separated, beside those of the environment variable
                              TILESMITH_FAMILY_DIR. They are loaded for the whole process. Of such a family only kernels are run that the
                              tuner has verified. NULL or "": none; NULL at first */
  int32_t early_in_graphs;    /* not 0: on sm_90 a captured plan may start while a plan that the same thread captured right before it
                                 still ends, as in a stream. A graph so captured is no update of one that was not; 0 at first */
} tilesmith_options;

/* What is done with a sum x before it is stored, in the type pair's scale type; NaN stays NaN. Types with integer results have none but relu. */
typedef enum tilesmith_activation {
  TILESMITH_IDENTITY = 0,
  TILESMITH_RELU = 1,
  TILESMITH_GELU = 2,      /* x * Phi(x), by erf */
  TILESMITH_GELU_TANH = 3, /* the tanh approximation */
  TILESMITH_SILU = 4,      /* x * sigmoid(x) */
  /* Two columns of the product make one of D: silu(x) * y. D is then m x n/2 (ldc too), n is even, and beta must be 0, beta_is_zero not 0.
   * bias and scale_n have n elements: scales, alpha and bias come before the gate. Not of integer results. */
  TILESMITH_SWIGLU = 5,            /* x: the first n/2 columns, y: the others */
  TILESMITH_SWIGLU_INTERLEAVED = 6, /* x: the even columns, y: the odd ones */
  TILESMITH_RELU_SQUARED = 7       /* max(x, 0)^2 */
} tilesmith_activation;

/* What alpha*op(A)*op(B) is multiplied by: f32 in device memory, one for all rows (columns) of D, or one for each. Not of f64 and integer
 * results. */
typedef enum tilesmith_scaling { TILESMITH_UNSCALED = 0, TILESMITH_SCALE_ONE = 1, TILESMITH_SCALE_EACH = 2 } tilesmith_scaling;

/* What is added to alpha*op(A)*op(B) + beta*C: an element for each column of D (N: n elements) or each row (M: m), of D's type or f32. */
typedef enum tilesmith_bias {
  TILESMITH_NO_BIAS = 0,
  TILESMITH_BIAS_N = 1,
  TILESMITH_BIAS_M = 2,
  TILESMITH_BIAS_N_F32 = 3, /* these where D's type is narrower than f32 */
  TILESMITH_BIAS_M_F32 = 4
} tilesmith_bias;

/* Which operand is 2:4 sparse: of each 4 elements in a row along K 2 are stored, of each 2 of tf32 1 (tilesmith_sparse.h). A sparse A is
 * m x k/2 (transposes NN, NT), a sparse B n x k/2 (NT, TT), and k a multiple of 4 (of tf32 2). Operands of f16, bf16, tf32, s8, u8, e4m3 and e5m2;
 * no batches, no groups, no gates. */
typedef enum tilesmith_sparsity { TILESMITH_DENSE = 0, TILESMITH_A_2TO4 = 1, TILESMITH_B_2TO4 = 2 } tilesmith_sparsity;

/* A GEMM problem, row-major. Fill it with tilesmith_problem_init, then change what differs. It holds its texts: nothing in it
 * points elsewhere, and it can be copied and compared as bytes.
 * Operands of s4 and u4 (s4s32, u4s32) have two elements in a byte, those of b1s32 (the AND of bits is counted) and b1xors32 (their XOR) eight.
 * The element of lower index lies in the lower bits. Their rows are whole bytes: lda, ldb and strides are multiples of two (eight) elements,
 * packed rows are rounded up to these. What lies behind a row's end, in its last byte too, does not count. */
typedef struct tilesmith_problem {
  char type[16];         /* operand and output, or operand, accumulator and output: "f16f32", "f16f32f16", as
                            tilesmith_type_pair_name lists them; the rest 0 */
  int64_t m, n, k;       /* elements, 0 to 2^28 */
  int64_t lda, ldb, ldc; /* row strides, elements; 0: rows are packed. Of a matrix with one row any value will do */
  int32_t align_bytes;   /* every pointer given to tilesmith_plan_run is a multiple of this (1, 2, 4, 8 or 16) and of an
                            element's size; 16 at first */
  int32_t beta_is_zero;  /* not 0: beta will always be 0; 0: it may be anything; 1 at first */
  char transposes[8];    /* "NN", "NT", "TN", "TT": A stored m x k (N) or k x m (T), B stored k x n (N) or n x k (T); the rest 0 */
  int16_t bias;          /* a tilesmith_bias; 0 at first */
  int16_t activation;    /* a tilesmith_activation; 0 at first */
  int8_t scale_m;        /* a tilesmith_scaling, of D's rows; 0 at first */
  int8_t scale_n;        /* the same of its columns */
  int16_t c_is_apart;    /* not 0: of a problem without scales, bias and activation whose beta may be anything, the kernel reads C where it lies, so
                            that nothing is copied if it is not D. Problems with any of them do so anyway; 0 at first */
  int64_t batch_size;    /* 0; of the first member of a tilesmith_strided_batch, tilesmith_grouped, tilesmith_weighted or tilesmith_weighted_grouped, that struct's size in bytes */
  int32_t scalars_on_device; /* not 0: every run is given alpha and beta in device memory, where the kernel reads them when it runs; 0 at
                            first: in host memory, read before the call returns */
  int8_t sparsity;       /* a tilesmith_sparsity; 0 at first */
  int8_t reserved[3];    /* 0 */
} tilesmith_problem;

/* A stride of a strided batch: matrices are packed one behind the other, a stored matrix's rows times its leading dimension apart. */
#define TILESMITH_PACKED (-1)

/* All three strides of a strided batch: its matrices lie anywhere. a, b, c and d of a run are arrays of `count` pointers in device memory,
 * aligned to 8 bytes, which the kernel reads when it runs. Each pointer is a multiple of the problem's align_bytes, which nobody checks, nor
 * whether matrices overlap. The arrays stay as they are until the kernel has run. C in another place than D is one of the epilogue's. */
#define TILESMITH_BY_POINTERS (-2)

/* Many problems of one shape at fixed distances, its entries: D_i <- act(r*c^T o alpha*op(A_i)*op(B_i) + beta*C_i + bias), i < count;
 * scales and bias are one for all. Fill it with
 * tilesmith_strided_batch_init, then change what differs. Give `&batch.problem` where a tilesmith_problem is wanted, as long as it is part
 * of this struct: a copy of that member alone is refused or read beyond its end. Pointers of a run are those of entry 0. */
typedef struct tilesmith_strided_batch {
  tilesmith_problem problem; /* of one entry */
  int64_t count;             /* entries, 0 to 2^20; 0: nothing to do */
  int64_t stride_a;          /* elements from A of an entry to A of the next, which may overlap; 0: all entries read one A;
                                TILESMITH_PACKED at first, or TILESMITH_BY_POINTERS */
  int64_t stride_b;          /* the same of B */
  int64_t stride_c;          /* of C and D; TILESMITH_PACKED at first. Entries must not overlap, but may lie side by side within rows */
} tilesmith_strided_batch;

/* Rows of A and D that are split among groups, each with a B of its own, by ends in device memory (mixture of experts): rows of group g of D
 * <- act(r*c^T o alpha*A*op(B_g) + beta*C + bias), for the same rows of A, C and D. m is the most rows that all groups have together; A is m x k
 * (transposes NN or NT). How many rows each group has stands in tilesmith_run_args.offsets when the kernel runs; the host neither knows nor
 * waits. Fill it with tilesmith_grouped_init, then change what differs. Give `&grouped.problem` where a tilesmith_problem is wanted, as long
 * as it is part of this struct. */
typedef struct tilesmith_grouped {
  tilesmith_problem problem; /* of all rows */
  int64_t groups;            /* 0 to 65536; 0: nothing to do */
  int64_t stride_b;          /* elements from B of a group to B of the next; 0: all groups read one B; TILESMITH_PACKED at first */
} tilesmith_grouped;

/* One run of D <- act(r*c^T o alpha*op(A)*op(B) + beta*C + bias), where o multiplies element by element. Set it to 0, then `size`, then
 * the fields by name. Later versions add fields at the end. */
typedef struct tilesmith_run_args {
  size_t size;           /* sizeof(tilesmith_run_args), as the application was compiled */
  const void* alpha;     /* host memory, in the type pair's scale type: double for f64f64; int32_t where D is s32; float for all others.
                            Of a problem with scalars_on_device: device memory, aligned to that type. A captured graph then takes what stands
                            there at each launch. Nothing may change it until the kernel has run; D must not overlap it. a and b are read
                            even if it is 0, and nothing becomes of what they hold */
  const void* beta;      /* the same. On the device it is read, and c has to be there, where beta_is_zero is 0, whatever it comes to; nothing
                            becomes of what c holds if it is 0. Where beta_is_zero is not 0 it is not read there, and may be NULL */
  const void* a;         /* device memory, as the next three; not read if alpha or K is 0 */
  const void* b;         /* not read if alpha or K is 0 */
  const void* c;         /* m x n, row stride ldc; not read if beta is 0. NULL: D is overwritten in place. Another matrix than D, which then
                            must not overlap it, is copied to D first where the problem has no scales, no bias, no activation and not c_is_apart; of
                            groups it is refused there */
  void* d;               /* m x n, row stride ldc; must not overlap A or B */
  void* workspace;       /* for tilesmith_plan_run_args: NULL if none is needed or the plan owns one. Else NULL */
  const void* bias;      /* device memory, aligned to an element; must not overlap D. Not read if the problem has none */
  const void* scale_m;   /* r, device memory: f32, m or one; must not overlap D. Not read if the problem has none, as the next */
  const void* scale_n;   /* c, n or one */
  const void* offsets;   /* of a tilesmith_grouped or tilesmith_weighted_grouped, else not read. Device memory, int32_t: where the rows of each group end, one value a group.
                            They must not decrease and not pass m; rows of D behind the last end are not written. The kernel keeps to D
                            whatever they are. A wrong one is told by the next run of a grouped problem of the library, once that kernel has
                            run: it returns TILESMITH_BAD_ARGUMENT and launches nothing. Must not overlap D */
  const void* weight_scales; /* of a tilesmith_weighted or tilesmith_weighted_grouped (tilesmith_weights.h), whose b are codes; aligned as a and b, must not overlap D */
  const void* weight_zeros;  /* the same, if its weights have zeros; else neither is read */
  const void* metadata;  /* of a problem with sparsity, else not read. Device memory, aligned to 16 bytes: where the stored elements stand, as
                            tilesmith_sparse_compress makes it. Must not overlap D */
} tilesmith_run_args;

/* Where a plan's config came from. The strings live as long as the plan. */
typedef struct tilesmith_explanation {
  const char* rung;     /* the level: "exact", "trial", "model" or "generic" */
  const char* config;   /* canonical text */
  const char* reason;   /* one line */
  const char* measured; /* the problem it was measured on, on the model level the nearest of them; "" if there is none */
  const char* trust;    /* of the evidence; "" if there is none, on the level "trial" too. "valid"; or "reverify": the driver or NVRTC changed, the tuner has to verify it again; or
                           "remeasure": it was timed by a former measuring policy, the tuner has to time it again */
  const char* kernel;   /* "stored cubin (NVRTC 13.0)" or "compiled by NVRTC 13.0"; "" if m or n is 0: nothing is launched */
  double median_us;     /* its time there, as stored; 0 if there is none */
  double predicted_us;  /* on the model level, for this problem; elsewhere 0 */
  /* Of cuBLASLt, timed in turn with the plan's config in the final benchmark that median_us is of, on this very device: compare them with
     that. 0 where they are not known, and on other levels than "exact". They do not depend on trust, which says whether median_us is of today. */
  double vendor_us;      /* its first choice */
  double vendor_best_us; /* the fastest of what its heuristic offered */
  int64_t reserved[1];
} tilesmith_explanation;

/* "0.1.0" */
const char* tilesmith_version(void);
/* "no device"; "unknown status" for other numbers. */
const char* tilesmith_status_name(tilesmith_status status);

/* Why the calling thread's last failing call failed: one line, "" if none failed. Valid until its next call. */
const char* tilesmith_last_error(void);

/* The type pairs there are: their number, and the name of each ("f16f32"); null if the index is not below that number. */
int32_t tilesmith_type_pair_count(void);
const char* tilesmith_type_pair_name(int32_t index);

typedef enum tilesmith_log_level { TILESMITH_LOG_WARNING = 1, TILESMITH_LOG_ERROR = 2 } tilesmith_log_level;
/* Gets a line of the log, without the newline. Called by any thread, one at a time; must not call the library. */
typedef void (*tilesmith_log_callback)(void* user, tilesmith_log_level level, const char* line);

/* Of the process, for all libraries: from now on the log goes to the callback, with `user` as it is given here; to where it went
 * before if the callback is null. The former callback is not running any more when this returns. */
tilesmith_status tilesmith_set_log_callback(tilesmith_log_callback callback, void* user);

/* Opens a database (read-only; nothing is ever written) or a bundle, told apart by content, for a device (its ordinal
 * as the CUDA driver counts). A null path: no evidence, problems run what the kernel families' own estimates
 * say is fastest, compiled by NVRTC. */
tilesmith_status tilesmith_open(const char* path, int32_t device, tilesmith_library** library);

/* Sets the fields to what tilesmith_open uses. `size`: sizeof(tilesmith_options), as the application knows it. */
tilesmith_status tilesmith_options_init(tilesmith_options* options, size_t size);

/* tilesmith_open with more to choose. */
tilesmith_status tilesmith_open_with_options(const char* path, const tilesmith_options* options, tilesmith_library** library);

/* Wait for every tilesmith_gemm, and for every CUDA graph that holds one, before you close a library. Plans made from it stay
 * usable. Null is allowed. */
void tilesmith_close(tilesmith_library* library);

/* "NVIDIA H200/sm_90/132SM/...": as which device the evidence is looked up. Lives as long as the library; "" for null. */
const char* tilesmith_device(const tilesmith_library* library);

/* Packed rows, 16-byte aligned pointers, beta zero. Refuses texts and dimensions that there are not; the problem is then all 0. */
tilesmith_status tilesmith_problem_init(tilesmith_problem* problem, const char* type, const char* transposes, int64_t m,
                                        int64_t n, int64_t k);

/* The same of `count` entries, packed one behind the other. */
tilesmith_status tilesmith_strided_batch_init(tilesmith_strided_batch* batch, const char* type, const char* transposes, int64_t m,
                                              int64_t n, int64_t k, int64_t count);

/* Rows of all groups, m of them at the most, split among so many; each group's B packed behind the one before. */
tilesmith_status tilesmith_grouped_init(tilesmith_grouped* grouped, const char* type, const char* transposes, int64_t m, int64_t n,
                                        int64_t k, int64_t groups);

/* Writes the problem's canonical text, which is a line of a workload file: "f16f32 NT 64 64 64 beta=any". Problems that
 * differ only in what is never used, such as the row stride of a matrix with one row, have the same text. This is the judge of what
 * the library accepts: TILESMITH_BAD_ARGUMENT if it does not accept the problem (tilesmith_last_error names the field), or if `size`, the
 * bytes at `text`, is too small; 512 are always enough. What is then at `text` is an empty string. Needs no device and no library. */
tilesmith_status tilesmith_problem_text(const tilesmith_problem* problem, char* text, size_t size);

/* Plans that need a workspace share one workspace a stream. So:
 * - Wait for a stream before you destroy it, and before you end a thread that used its own default stream
 *   (cudaStreamPerThread): the next stream may get the same handle, and with it the workspace.
 * - Replay no two graphs that were captured from one stream at the same time, and none beside tilesmith_gemm into that stream.
 *   Where that cannot be, use tilesmith_plan_create and a workspace of your own.
 * - Call tilesmith_prepare or tilesmith_gemm with this problem and this stream before you capture the stream. While it is
 *   captured nothing is planned or allocated: tilesmith_gemm returns TILESMITH_NOT_PLANNED, and the capture goes on. While the
 *   calling thread captures another stream, a call that has to plan or allocate fails as tilesmith_plan_create does.
 *
 * Enqueues C <- alpha*op(A)*op(B) + beta*C as tilesmith_plan_run does, by a plan that the library keeps. The first call of a problem
 * makes the plan, as tilesmith_plan_create does. Later calls find it in less than 200 ns, in any number of threads at a time.
 * There is a plan for each set of the problem's fields. Two of them are the call's: align_bytes is the largest power of two, 16 at
 * most, that divides the pointers, and beta_is_zero is whether beta is 0 (the problem's own with scalars_on_device). A plan takes some
 * kilobytes; see tilesmith_clear_cache.
 * stream: null is the default stream. Calls into one stream wait for each other on the host if their plans need a workspace.
 * alpha, a, b, beta, c: as for tilesmith_plan_run. */
tilesmith_status tilesmith_gemm(tilesmith_library* library, struct CUstream_st* stream, const tilesmith_problem* problem,
                                const void* alpha, const void* a, const void* b, const void* beta, void* c);

/* The same, with C and D apart. */
tilesmith_status tilesmith_gemm_args(tilesmith_library* library, struct CUstream_st* stream, const tilesmith_problem* problem,
                                     const tilesmith_run_args* args);

/* Not while the calling thread captures a stream. Does what the first tilesmith_gemm of this problem into this stream would do, but
 * for the launch: plans, and allocates the stream's workspace if the plan needs one. align_bytes and beta_is_zero are the problem's. */
tilesmith_status tilesmith_prepare(tilesmith_library* library, struct CUstream_st* stream, const tilesmith_problem* problem);

/* Wait for every tilesmith_gemm, and for every graph that holds one, before you call it; none of those graphs may be launched again.
 * Destroys all plans and workspaces that tilesmith_gemm and tilesmith_prepare keep. Loaded kernels stay. Null is allowed. */
void tilesmith_clear_cache(tilesmith_library* library);

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
 * in a CUDA graph. A kernel of yours that is launched programmatically behind a plan (sm_90) must wait for it before it touches
 * memory, and before it ends.
 * a, b, c: device memory; a and b are not read if alpha or K is 0, c is not read if beta is 0. c must not overlap a or b.
 * alpha, beta: host memory, in the type pair's scale type: double for f64f64; int32_t where D is s32; float for
 * all others. Read before the call returns. Of a problem with scalars_on_device they are device memory, as
 * tilesmith_run_args says, and neither is NULL here.
 * workspace: null if none is needed or the plan owns one. */
tilesmith_status tilesmith_plan_run(const tilesmith_plan* plan, struct CUstream_st* stream, const void* alpha,
                                    const void* a, const void* b, const void* beta, void* c, void* workspace);

/* The same, with C and D apart. */
tilesmith_status tilesmith_plan_run_args(const tilesmith_plan* plan, struct CUstream_st* stream, const tilesmith_run_args* args);

#ifdef __cplusplus
}
#endif

#endif
