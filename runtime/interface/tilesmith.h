/* The C interface of libtilesmith. docs/library.md explains it with examples; this header states the contracts.
 *
 *   tilesmith_library* library = NULL;
 *   tilesmith_problem problem = TILESMITH_PROBLEM_OF("f16f32", "NN", m, n, k);
 *   tilesmith_run run = {sizeof run, NULL, {a, b, NULL, d}};
 *   if (tilesmith_open_default(0, &library) != TILESMITH_OK) puts(tilesmith_last_error());
 *   tilesmith_gemm(library, stream, &problem, &run);                               D <- op(A)*op(B)
 *   tilesmith_close(library);
 *
 * Hazards: destroy a library or plan, and clear the cache, only after all runs and CUDA graphs that use them have
 * ended. Plans that need a workspace share one for each stream: see tilesmith_gemm. After cudaDeviceReset no library or
 * plan can be used.
 * Errors: every function that can fail returns a status, and tilesmith_last_error() then has one line of text. Output
 * arguments are set to NULL or 0 on failure. Null arguments are refused.
 * Threads: all functions may be called from several threads at a time, even while another thread captures a stream.
 * Planning takes a lock. A plan that is known and needs no workspace is found and run without one.
 * Contexts: the primary context of the device is used, which is that of the CUDA runtime API. Pointers from cudaMalloc
 * and a cudaStream_t are passed as they are. tilesmith_plan_run needs that context to be current; all others set it and
 * restore what was current, if anything was.
 * Log: warnings go to stderr, unless TILESMITH_LOG is "off", or to the callback of tilesmith_set_log_callback.
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
typedef struct tilesmith_kernel tilesmith_kernel;

typedef enum tilesmith_status {
  TILESMITH_OK = 0,
  TILESMITH_BAD_ARGUMENT = 1,      /* an argument is unknown, null, or does not fit the plan */
  TILESMITH_BAD_DATABASE = 2,      /* the file is missing, of another kind, newer or corrupt */
  TILESMITH_NO_DEVICE = 3,         /* no driver, no such device, or one that is not supported */
  TILESMITH_NO_KERNEL = 4,         /* no stored kernel can be loaded, and NVRTC is not there to compile one */
  TILESMITH_MISALIGNED = 5,        /* a pointer is not a multiple of the problem's align_bytes, or of an element */
  TILESMITH_MISSING_WORKSPACE = 6, /* the plan needs a workspace and was given none */
  TILESMITH_DEVICE_FAILED = 7,     /* a driver call failed */
  TILESMITH_OUT_OF_MEMORY = 8,
  TILESMITH_INTERNAL = 9,    /* a defect of Tilesmith */
  TILESMITH_NOT_PLANNED = 10 /* tilesmith_gemm into a captured stream, without tilesmith_prepare before */
} tilesmith_status;

/* Structs that begin with `size` hold the size of the struct that the application was compiled with. Later versions add
 * fields at the end. A shorter struct gets defaults for the rest; a longer one is refused if it has anything but 0
 * there. */

/* Begin with TILESMITH_OPTIONS, then change what differs. */
typedef struct tilesmith_options {
  size_t size;
  int32_t device;        /* ordinal, as the CUDA driver counts; default 0 */
  int32_t allow_compile; /* 0: kernels are loaded from the database or bundle, or the cache on disk; 1 */
  /* one line in the log for each problem that is not on the level "exact" or had to be compiled; default 1 */
  int32_t log_misses;
  /* above 1: planning an unmeasured problem times so many candidates, unverified, and keeps the fastest; 0 */
  int32_t trial_budget;
  /* database that keeps the winners of trials for the next start; made if missing; NULL or "": none */
  const char* trial_database;
  /* colon-separated folders of families of your own, beside $TILESMITH_FAMILY_DIR; NULL or "": none */
  const char* family_dirs;
  /* sm_90: captured plans may overlap the end of the plan captured before them; default 0 */
  int32_t early_in_graphs;
} tilesmith_options;

#define TILESMITH_OPTIONS {sizeof(tilesmith_options), 0, 1, 1, 0, NULL, NULL, 0}

/* Applied to each sum before it is stored, in the scale type. NaN stays NaN. Integer results support relu only. Gates
 * make one column of D of two columns of the product, silu(x) * y: D is m x n/2, n is even and beta 0. */
typedef enum tilesmith_activation {
  TILESMITH_IDENTITY = 0,
  TILESMITH_RELU = 1,
  TILESMITH_GELU = 2,              /* x * Phi(x), by erf */
  TILESMITH_GELU_TANH = 3,         /* the tanh approximation */
  TILESMITH_SILU = 4,              /* x * sigmoid(x) */
  TILESMITH_SWIGLU = 5,            /* x: the first n/2 columns, y: the others */
  TILESMITH_SWIGLU_INTERLEAVED = 6, /* x: the even columns, y: the odd ones */
  TILESMITH_RELU_SQUARED = 7       /* max(x, 0)^2 */
} tilesmith_activation;

/* Scales of alpha*op(A)*op(B): f32 in device memory, one for all rows (columns) of D or one for each. Not for f64 and
 * integer results.
 *
 * Of 8-bit floats and s8 A and B may instead have scales of blocks of K, both of them: one for each row of A (column of B)
 * and 128 of K, [blocks of K][rows] packed, or one for 128 rows and 128 of K, [blocks of rows][blocks of K] packed.
 * Last blocks may be shorter. Entries of a batch and groups have theirs one behind the other, unless they share A (B).
 * Sums of each block are added in f32. Not for sparse operands, weights, batches by pointers and results of a byte;
 * groups need TILESMITH_SCALE_EACH_BY_BLOCK for A. */
typedef enum tilesmith_scaling {
  TILESMITH_UNSCALED = 0,
  TILESMITH_SCALE_ONE = 1,
  TILESMITH_SCALE_EACH = 2,
  TILESMITH_SCALE_EACH_BY_BLOCK = 3, /* 1 x 128 */
  TILESMITH_SCALE_BLOCK = 4          /* 128 x 128 */
} tilesmith_scaling;

/* A bias has one element for each column of D (n elements) or for each row (m). */
typedef enum tilesmith_bias { TILESMITH_NO_BIAS = 0, TILESMITH_BIAS_N = 1, TILESMITH_BIAS_M = 2 } tilesmith_bias;

/* Which operand is 2:4 sparse (tilesmith_sparse.h). It is stored as m x k/2 (A, transposes NN or NT) or n x k/2 (B, NT
 * or TT). */
typedef enum tilesmith_sparsity { TILESMITH_DENSE = 0, TILESMITH_A_2TO4 = 1, TILESMITH_B_2TO4 = 2 } tilesmith_sparsity;

typedef enum tilesmith_batch_mode {
  TILESMITH_SINGLE = 0,
  /* `batch` entries at fixed distances, up to 2^20; pointers are those of entry 0; scales and bias are shared */
  TILESMITH_STRIDED = 1,
  /* A, B, C and D are arrays of `batch` pointers in device memory, read when the kernel runs; nobody checks them */
  TILESMITH_POINTERS = 2,
  /* the rows of A and D are split among `batch` groups, up to 65536, each with its own B (mixture of experts) */
  TILESMITH_GROUPED = 3
} tilesmith_batch_mode;

/* As a stride: matrices are packed one behind the other. */
#define TILESMITH_PACKED (-1)

/* D <- act(r*c^T o alpha*op(A)*op(B) + beta*C + bias), row-major, where o multiplies element by element. Begin with
 * TILESMITH_PROBLEM or TILESMITH_PROBLEM_OF, which give the defaults below; the struct holds no pointers and may be
 * copied. Operands below 8 bits (s4, u4, b1) share bytes, the element of lower index in the lower bits; rows and
 * strides are whole bytes. */
typedef struct tilesmith_problem {
  size_t size;
  /* "f16f32", "bf16f32bf16": operand, accumulator if it is another, output (tilesmith_type_pair_name) */
  char type[16];
  char transposes[8];    /* "NN", "NT", "TN", "TT": A is stored m x k (N) or k x m (T), B k x n (N) or n x k (T) */
  int64_t m, n, k;       /* elements, 0 to 2^28; of groups m is the most rows of all together */
  int64_t lda, ldb, ldc; /* row strides in elements, ldc of C and D; 0: packed */
  int64_t batch;         /* entries or groups, 1 if batch_mode is TILESMITH_SINGLE; 0: nothing to do; default 1 */
  /* elements from an entry (of B: or group) to the next; 0: all share one A or B; default packed */
  int64_t stride_a, stride_b, stride_c;
  int32_t align_bytes; /* every pointer is a multiple of this (1, 2, 4, 8 or 16) and of an element; default 16 */
  int16_t activation;  /* tilesmith_activation */
  int16_t bias;        /* tilesmith_bias */
  int8_t scale_m;      /* tilesmith_scaling of D's rows (r), or of A */
  int8_t scale_n;      /* the same of its columns (c) */
  int8_t bias_is_f32;  /* 0: it has D's type */
  int8_t beta_is_zero; /* 0: beta may be anything; default 1 */
  /* 1: the kernel reads C in place, so that nothing is copied if C is not D; implied by scales, bias and activation */
  int8_t c_is_apart;
  int8_t scalars_on_device; /* 1: alpha and beta are in device memory, where the kernel reads them when it runs */
  int8_t sparsity;          /* tilesmith_sparsity */
  int8_t batch_mode;        /* tilesmith_batch_mode */
  /* how B is stored in 4 or 8 bits: "s4_g128", "u4_g64+zeros", "s8_column+f32" (tilesmith_weights.h); "": as it is */
  char weights[24];
} tilesmith_problem;

#define TILESMITH_PROBLEM_OF(type, transposes, m, n, k)                                                \
  {                                                                                                    \
    sizeof(tilesmith_problem), type, transposes, (int64_t)(m), (int64_t)(n), (int64_t)(k), 0, 0, 0, 1, \
        TILESMITH_PACKED, TILESMITH_PACKED, TILESMITH_PACKED, 16, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, ""     \
  }
#define TILESMITH_PROBLEM TILESMITH_PROBLEM_OF("", "", 0, 0, 0)

/* Operands of a run, each at its place in tilesmith_run.operands. All but alpha and beta are device memory. None may
 * overlap D. Those that the problem does not have are not read and may be NULL. */
typedef enum tilesmith_operand {
  TILESMITH_A = 0, /* not read if alpha or k is 0, as B */
  TILESMITH_B = 1, /* of weights their codes */
  /* not read if beta is 0; NULL: D, which is overwritten in place. Another C is copied to D first, unless the problem
   * has c_is_apart or an epilogue; groups and arrays of pointers need one of these */
  TILESMITH_C = 2,
  TILESMITH_D = 3,       /* written */
  TILESMITH_SCALE_M = 4, /* r */
  TILESMITH_SCALE_N = 5, /* c */
  TILESMITH_BIAS = 6,
  /* int32_t, where the rows of each group end. Ends must not decrease or pass m; rows behind the last are not written.
   * The next grouped run of the library reports a wrong end as TILESMITH_BAD_ARGUMENT and launches nothing */
  TILESMITH_OFFSETS = 7,
  /* one value of the scale type: double for f64f64, int32_t if D is s32, else float. In host memory, read before the
   * call returns, and NULL is 1; with scalars_on_device in device memory, where A and B are read even if it is 0 */
  TILESMITH_ALPHA = 8,
  /* the same; NULL is 0. With scalars_on_device it is read, and C must be there, unless beta_is_zero */
  TILESMITH_BETA = 9,
  TILESMITH_METADATA = 10,      /* of the sparse operand, aligned to 16 bytes (tilesmith_sparse_compress) */
  TILESMITH_WEIGHT_SCALES = 11, /* aligned as A */
  TILESMITH_WEIGHT_ZEROS = 12,
  TILESMITH_OPERANDS = 13
} tilesmith_operand;

/* Begin with TILESMITH_RUN, or with {sizeof(tilesmith_run), NULL, {a, b, c, d}}. */
typedef struct tilesmith_run {
  size_t size;
  void* workspace; /* for tilesmith_plan_run: device memory; NULL if none is needed or the plan owns one */
  const void* operands[TILESMITH_OPERANDS];
} tilesmith_run;

#define TILESMITH_RUN                     \
  {                                       \
    sizeof(tilesmith_run), NULL, { NULL } \
  }

/* Where a plan's config came from. The strings live as long as the plan; what there is not is "" or 0. */
typedef struct tilesmith_explanation {
  const char* level;     /* the level: "exact", "trial", "model" or "generic" */
  const char* config;   /* canonical text */
  const char* reason;   /* one line */
  const char* measured; /* the problem it was measured on; on the level "model" the nearest of them */
  /* "valid"; "reverify": the driver or NVRTC changed; "remeasure": timed by a former policy, or in a trial */
  const char* trust;
  const char* kernel;  /* "stored cubin (NVRTC 13.0)", "cached cubin (NVRTC 13.0)" or "compiled by NVRTC 13.0" */
  double median_us;    /* its stored time on that problem */
  double predicted_us; /* on the level "model", for this problem */
  double vendor_us;    /* cuBLASLt's first choice, timed in turn with median_us on this device; on the level "exact" */
  double vendor_best_us; /* the fastest of what its heuristic offered */
  int64_t reserved[1];
} tilesmith_explanation;

/* "0.1.0" */
const char* tilesmith_version(void);
/* "no device"; "unknown status" for other numbers. */
const char* tilesmith_status_name(tilesmith_status status);
/* Why the calling thread's last failing call failed: one line, "" if none failed. Valid until its next call. */
const char* tilesmith_last_error(void);

/* The type pairs: their number, and the name of each ("f16f32"); null if the index is not below that number. */
int32_t tilesmith_type_pair_count(void);
const char* tilesmith_type_pair_name(int32_t index);

typedef enum tilesmith_log_level { TILESMITH_LOG_WARNING = 1, TILESMITH_LOG_ERROR = 2 } tilesmith_log_level;
/* Gets a line of the log, without the newline. Called by any thread, one at a time; must not call the library. */
typedef void (*tilesmith_log_callback)(void* user, tilesmith_log_level level, const char* line);
/* For all libraries of the process; null: back to where the log went before. The former callback is not running when
 * this returns. */
tilesmith_status tilesmith_set_log_callback(tilesmith_log_callback callback, void* user);

/* Reads a line as workload files have it: "bf16f32bf16 NT 16 4096 4096 weights=s4_g128 epilogue=bias_n+silu". What is
 * packed stays packed if you change m, n or k. The problem must be initialised (its size is read), and is unchanged on
 * failure. Needs no device. */
tilesmith_status tilesmith_problem_parse(tilesmith_problem* problem, const char* text);
/* Writes that line, without what has no effect: two problems with one text share plans. TILESMITH_BAD_ARGUMENT if the
 * library does not accept the problem (the error names the field) or `size`, the bytes at `text`, is too small; 512 are
 * always enough. Needs no device. */
tilesmith_status tilesmith_problem_text(const tilesmith_problem* problem, char* text, size_t size);

/* Opens a database (read-only) or a bundle, recognised by content. A null path: no records, kernels are predicted and
 * compiled. */
tilesmith_status tilesmith_open(const char* path, int32_t device, tilesmith_library** library);
tilesmith_status tilesmith_open_with_options(const char* path, const tilesmith_options* options,
                                             tilesmith_library** library);
/* Opens the best evidence that there is: $TILESMITH_DB if it is set; else your own database, where `tilesmith tune`
 * records ($XDG_DATA_HOME/tilesmith/tuned.db, else ~/.local/share/tilesmith/tuned.db); else the bests that ship with the
 * library for this device or the one most like it. If nothing is there, the library has no records. */
tilesmith_status tilesmith_open_default(int32_t device, tilesmith_library** library);
tilesmith_status tilesmith_open_default_with_options(const tilesmith_options* options, tilesmith_library** library);
/* Writes the path of the bests that ship for the device or one like it; "" if there are none. TILESMITH_BAD_ARGUMENT if
 * `size`, the bytes at `path`, is too small. */
tilesmith_status tilesmith_shipped_database(int32_t device, char* path, size_t size);
/* Plans made from it stay usable. Null is allowed. */
void tilesmith_close(tilesmith_library* library);
/* The device whose records are used: "NVIDIA H200/sm_90/132SM/...". Lives as long as the library; "" for null. */
const char* tilesmith_device(const tilesmith_library* library);
/* Path of the database or bundle that was opened; "" for none and for null. Lives as long as the library. */
const char* tilesmith_database(const tilesmith_library* library);

/* Hazards, since plans that need a workspace share one for each stream: wait for a stream before you destroy it or end
 * a thread that used cudaStreamPerThread. Do not replay two graphs captured from one stream at a time, nor one beside
 * tilesmith_gemm into that stream. Call tilesmith_gemm or tilesmith_prepare with this problem and stream before you
 * capture the stream: meanwhile nothing is planned or allocated, and TILESMITH_NOT_PLANNED is returned.
 *
 * Enqueues the product by a plan that the library keeps; the first call of a problem makes it (a millisecond to
 * seconds), later calls find it in less than 200 ns. The call replaces two fields: align_bytes by the alignment of its
 * pointers, beta_is_zero by what beta on the host is. stream: null is the default stream. run.workspace must
 * be NULL. */
tilesmith_status tilesmith_gemm(tilesmith_library* library, struct CUstream_st* stream,
                                const tilesmith_problem* problem, const tilesmith_run* run);
/* What the first tilesmith_gemm would do, but for the launch. Not while the calling thread captures a stream. */
tilesmith_status tilesmith_prepare(tilesmith_library* library, struct CUstream_st* stream,
                                   const tilesmith_problem* problem);
/* Makes the plans of `count` problems, which tilesmith_gemm then finds, and compiles the kernels that they need side by
 * side, on all cores that this process may use. A problem counts with its own align_bytes (16 for pointers of
 * cudaMalloc) and beta_is_zero. One that fails does not stop the others; the status is that of the first that failed,
 * and the error names it. Workspaces are allocated by tilesmith_prepare or the first tilesmith_gemm, for each stream.
 * Not while the calling thread captures a stream. */
tilesmith_status tilesmith_prepare_all(tilesmith_library* library, const tilesmith_problem* problems, size_t count);
/* Called once for each problem: how many are done, of how many, and the text of the last. Any thread may call it, but
 * only one at a time; it must not call the library. */
typedef void (*tilesmith_progress_callback)(void* user, size_t done, size_t total, const char* problem);
/* For the calls of tilesmith_prepare_all by the calling thread; null: none. */
tilesmith_status tilesmith_set_progress_callback(tilesmith_progress_callback callback, void* user);
/* Destroys the plans and workspaces that tilesmith_gemm and kernels of your own keep. Loaded kernels stay. Null is allowed. */
void tilesmith_clear_cache(tilesmith_library* library);

/* Chooses the config, loads or compiles its kernel, prepares its launches. Not while the calling thread captures a
 * stream. */
tilesmith_status tilesmith_plan_create(tilesmith_library* library, const tilesmith_problem* problem,
                                       tilesmith_plan** plan);
/* Null is allowed. */
void tilesmith_plan_destroy(tilesmith_plan* plan);
/* Bytes of device memory, 256-byte aligned, that a run needs; 0 for most configs. */
tilesmith_status tilesmith_plan_workspace_bytes(const tilesmith_plan* plan, uint64_t* bytes);
/* Lets the plan own its workspace. Then at most one run of this plan may be in flight at a time. */
tilesmith_status tilesmith_plan_reserve_workspace(tilesmith_plan* plan);
tilesmith_status tilesmith_plan_explain(const tilesmith_plan* plan, tilesmith_explanation* explanation);
/* Enqueues the launches and nothing else; can be captured in a CUDA graph. A kernel of yours that is launched
 * programmatically behind a plan (sm_90) must wait for it before it touches memory, and before it ends. */
tilesmith_status tilesmith_plan_run(const tilesmith_plan* plan, struct CUstream_st* stream, const tilesmith_run* run);

/* A kernel of your own (docs/own_kernels.md): a folder that holds kernel.json, or the name of a kernel that is loaded. It
 * is loaded for the whole process, and stays usable when the library is closed. */
tilesmith_status tilesmith_kernel_open(tilesmith_library* library, const char* folder, tilesmith_kernel** kernel);
/* Null is allowed. */
void tilesmith_kernel_close(tilesmith_kernel* kernel);
/* Enqueues the launches. Sizes that are not named have the values of kernel.json. buffers: device addresses of the
 * arguments that are buffers, in their order; the other arguments are computed. The first run with new sizes makes a plan
 * (a millisecond to seconds), and returns TILESMITH_NOT_PLANNED if the stream is being captured. */
tilesmith_status tilesmith_kernel_run(const tilesmith_kernel* kernel, struct CUstream_st* stream,
                                      const char* const* names, const int64_t* values, size_t sizes,
                                      void* const* buffers, size_t buffer_count);
/* What the first run with these sizes would do, but for the launch. Not while the calling thread captures a stream. */
tilesmith_status tilesmith_kernel_prepare(const tilesmith_kernel* kernel, const char* const* names,
                                          const int64_t* values, size_t sizes);
/* Writes how many elements each of the kernel's buffers has at these sizes. */
tilesmith_status tilesmith_kernel_elements(const tilesmith_kernel* kernel, const char* const* names,
                                           const int64_t* values, size_t sizes, int64_t* elements, size_t buffer_count);

#ifdef __cplusplus
}
#endif

#endif
