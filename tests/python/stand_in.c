/* A libtilesmith without a device, for tests of the Python package: it records calls, and multiplies in host memory where the elements are
 * f32, f64, bf16 or 8-bit integers. Compiled against tilesmith.h, so that a changed interface does not go unseen. */
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tilesmith.h"
#include "tilesmith_sparse.h"
#include "tilesmith_weights.h"

#define EXPORT __attribute__((visibility("default")))

/* What tests read and set. */
typedef struct stand_in_record {
  int64_t runs, plans, prepared, opened;
  tilesmith_strided_batch problem; /* of the last run or plan; the first bytes of it where it is no batch */
  tilesmith_run_args args;
  double alpha, beta;
  uint64_t stream;
  char path[256];
  tilesmith_options options;
} stand_in_record;

EXPORT stand_in_record stand_in;
EXPORT int32_t stand_in_next_status;  /* of the next call that may fail; 0: none does */
EXPORT int32_t stand_in_runs_status;  /* of every run until it is set to 0 */
EXPORT int32_t stand_in_no_device;
EXPORT char stand_in_rung[16] = "exact";
EXPORT double stand_in_vendor_us = 0;
EXPORT char stand_in_device[64] = "NVIDIA H200/sm_90/132SM";
EXPORT const size_t stand_in_sizes[] = {sizeof(tilesmith_problem),  sizeof(tilesmith_strided_batch), sizeof(tilesmith_grouped),
                                        sizeof(tilesmith_run_args), sizeof(tilesmith_options),       sizeof(tilesmith_explanation),
                                        sizeof(tilesmith_weighted), sizeof(tilesmith_weights), sizeof(tilesmith_array), sizeof(tilesmith_weights_source), sizeof(tilesmith_weighted_grouped)};
EXPORT const size_t stand_in_offsets[] = {
    offsetof(tilesmith_problem, transposes), offsetof(tilesmith_problem, batch_size), offsetof(tilesmith_problem, scalars_on_device),
    offsetof(tilesmith_strided_batch, stride_c), offsetof(tilesmith_run_args, weight_zeros), offsetof(tilesmith_options, early_in_graphs),
    offsetof(tilesmith_explanation, vendor_best_us), offsetof(tilesmith_weights, has_zeros), offsetof(tilesmith_weights_source, g_idx), offsetof(tilesmith_weighted_grouped, groups)};

struct tilesmith_library { int32_t device; };
struct tilesmith_plan { tilesmith_strided_batch problem; };

static _Thread_local char last_error[256];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of the record */

static tilesmith_status failed(tilesmith_status status, const char* why) {
  snprintf(last_error, sizeof last_error, "%s", why);
  return status;
}

static tilesmith_status planted(void) {
  const int32_t status = stand_in_next_status;
  stand_in_next_status = 0;
  return status == 0 ? TILESMITH_OK : failed((tilesmith_status)status, "the stand-in was told to fail");
}

EXPORT const char* tilesmith_version(void) { return "0.1.0"; }
EXPORT const char* tilesmith_last_error(void) { return last_error; }
EXPORT int32_t tilesmith_type_pair_count(void) { return 1; }
EXPORT const char* tilesmith_type_pair_name(int32_t index) { return index == 0 ? "f32f32" : NULL; }

EXPORT tilesmith_status tilesmith_options_init(tilesmith_options* options, size_t size) {
  memset(options, 0, size);
  options->size = size;
  options->allow_compile = options->log_misses = 1;
  return TILESMITH_OK;
}

EXPORT tilesmith_status tilesmith_open_with_options(const char* path, const tilesmith_options* options, tilesmith_library** library) {
  *library = NULL;
  if (stand_in_no_device) return failed(TILESMITH_NO_DEVICE, "no NVIDIA driver");
  if (planted() != TILESMITH_OK) return TILESMITH_BAD_DATABASE;
  *library = malloc(sizeof **library);
  (*library)->device = options->device;
  snprintf(stand_in.path, sizeof stand_in.path, "%s", path != NULL ? path : "");
  stand_in.options = *options;
  stand_in.opened++;
  return TILESMITH_OK;
}

EXPORT void tilesmith_close(tilesmith_library* library) {
  if (library != NULL) stand_in.opened--;
  free(library);
}
EXPORT const char* tilesmith_device(const tilesmith_library* library) { return library != NULL ? stand_in_device : ""; }
EXPORT void tilesmith_clear_cache(tilesmith_library* library) { (void)library; }

EXPORT tilesmith_status tilesmith_problem_init(tilesmith_problem* p, const char* type, const char* transposes, int64_t m, int64_t n, int64_t k) {
  memset(p, 0, sizeof *p);
  if (m < 0 || n < 0 || k < 0) return failed(TILESMITH_BAD_ARGUMENT, "a dimension is below 0");
  snprintf(p->type, sizeof p->type, "%s", type);
  snprintf(p->transposes, sizeof p->transposes, "%s", transposes);
  p->m = m, p->n = n, p->k = k, p->align_bytes = 16, p->beta_is_zero = 1;
  return TILESMITH_OK;
}

EXPORT tilesmith_status tilesmith_strided_batch_init(tilesmith_strided_batch* batch, const char* type, const char* transposes, int64_t m,
                                                     int64_t n, int64_t k, int64_t count) {
  const tilesmith_status status = tilesmith_problem_init(&batch->problem, type, transposes, m, n, k);
  batch->problem.batch_size = sizeof *batch;
  batch->count = count;
  batch->stride_a = batch->stride_b = batch->stride_c = TILESMITH_PACKED;
  return status;
}

EXPORT tilesmith_status tilesmith_grouped_init(tilesmith_grouped* grouped, const char* type, const char* transposes, int64_t m, int64_t n,
                                               int64_t k, int64_t groups) {
  const tilesmith_status status = tilesmith_problem_init(&grouped->problem, type, transposes, m, n, k);
  grouped->problem.batch_size = sizeof *grouped;
  grouped->groups = groups;
  grouped->stride_b = TILESMITH_PACKED;
  return status;
}

EXPORT tilesmith_status tilesmith_weighted_init(tilesmith_weighted* weighted, const char* type, const char* transposes, int64_t m, int64_t n,
                                                int64_t k, const char* weights) {
  const tilesmith_status status = tilesmith_problem_init(&weighted->problem, type, transposes, m, n, k);
  weighted->problem.batch_size = sizeof *weighted;
  memset(weighted->weights, 0, sizeof weighted->weights);
  snprintf(weighted->weights, sizeof weighted->weights, "%s", weights);
  return status;
}

EXPORT tilesmith_status tilesmith_weighted_grouped_init(tilesmith_weighted_grouped* weighted, const char* type, const char* transposes, int64_t m,
                                                        int64_t n, int64_t k, const char* weights, int64_t groups) {
  const tilesmith_status status = tilesmith_problem_init(&weighted->problem, type, transposes, m, n, k);
  weighted->problem.batch_size = sizeof *weighted;
  memset(weighted->weights, 0, sizeof weighted->weights);
  snprintf(weighted->weights, sizeof weighted->weights, "%s", weights);
  weighted->groups = groups;
  weighted->reserved = 0;
  return status;
}

static void copy_problem(tilesmith_strided_batch* to, const tilesmith_problem* from) {
  memset(to, 0, sizeof *to);
  const size_t size = from->batch_size != 0 ? (size_t)from->batch_size : sizeof *from;
  memcpy(to, from, size < sizeof *to ? size : sizeof *to); /* of tilesmith_weighted_grouped all but what is reserved */
}

EXPORT tilesmith_status tilesmith_plan_create(tilesmith_library* library, const tilesmith_problem* problem, tilesmith_plan** plan) {
  *plan = NULL;
  if (library == NULL) return failed(TILESMITH_BAD_ARGUMENT, "library is null");
  if (planted() != TILESMITH_OK) return TILESMITH_NO_KERNEL;
  *plan = malloc(sizeof **plan);
  copy_problem(&(*plan)->problem, problem);
  stand_in.problem = (*plan)->problem;
  stand_in.plans++;
  return TILESMITH_OK;
}

EXPORT void tilesmith_plan_destroy(tilesmith_plan* plan) {
  if (plan != NULL) stand_in.plans--;
  free(plan);
}
EXPORT tilesmith_status tilesmith_plan_workspace_bytes(const tilesmith_plan* plan, uint64_t* bytes) { return *bytes = 512, (void)plan, TILESMITH_OK; }
EXPORT tilesmith_status tilesmith_plan_reserve_workspace(tilesmith_plan* plan) { return (void)plan, TILESMITH_OK; }

EXPORT tilesmith_status tilesmith_plan_explain(const tilesmith_plan* plan, tilesmith_explanation* e) {
  (void)plan;
  memset(e, 0, sizeof *e);
  e->rung = stand_in_rung, e->config = "simt{}", e->reason = "it is the only one", e->measured = "", e->trust = "valid", e->kernel = "none";
  e->median_us = 12.5;
  e->vendor_us = stand_in_vendor_us, e->vendor_best_us = stand_in_vendor_us;
  return TILESMITH_OK;
}

EXPORT tilesmith_status tilesmith_prepare(tilesmith_library* library, struct CUstream_st* stream, const tilesmith_problem* problem) {
  (void)library;
  copy_problem(&stand_in.problem, problem);
  stand_in.stream = (uint64_t)(uintptr_t)stream;
  stand_in.prepared++;
  return planted();
}

/* ---- the product, in host memory */

typedef enum kind { F32, F64, BF16, S8, U8, S32, S4, U4, B1, B1XOR, NOT_COMPUTED } kind;

static kind kind_of(const char* name, size_t length) {
  static const char* const names[] = {"f32", "f64", "bf16", "s8", "u8", "s32", "s4", "u4", "b1", "b1xor"};
  for (int i = 0; i < NOT_COMPUTED; ++i)
    if (strlen(names[i]) == length && strncmp(names[i], name, length) == 0) return (kind)i;
  return NOT_COMPUTED;
}

static double load(const void* at, int64_t i, kind of) {
  if (of == F32) return ((const float*)at)[i];
  if (of == F64) return ((const double*)at)[i];
  if (of == S8) return ((const int8_t*)at)[i];
  if (of == U8) return ((const uint8_t*)at)[i];
  if (of == S32) return ((const int32_t*)at)[i];
  if (of == S4 || of == U4) {
    const int bits = ((const uint8_t*)at)[i / 2] >> i % 2 * 4 & 15;
    return of == S4 && bits > 7 ? bits - 16 : bits;
  }
  if (of == B1 || of == B1XOR) return ((const uint8_t*)at)[i / 8] >> i % 8 & 1;
  const uint32_t bits = (uint32_t)((const uint16_t*)at)[i] << 16;
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

static void store(void* at, int64_t i, kind of, double value) {
  if (of == F32) ((float*)at)[i] = (float)value;
  if (of == F64) ((double*)at)[i] = value;
  if (of == S32) ((int32_t*)at)[i] = (int32_t)value;
  if (of == BF16) {
    const float single = (float)value;
    uint32_t bits;
    memcpy(&bits, &single, sizeof bits);
    ((uint16_t*)at)[i] = (uint16_t)((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
  }
}

static double activated(double x, int16_t activation) {
  if (activation == TILESMITH_RELU) return x > 0 ? x : 0;
  if (activation == TILESMITH_GELU) return x * 0.5 * (1 + erf(x / sqrt(2.0)));
  if (activation == TILESMITH_GELU_TANH) return x * 0.5 * (1 + tanh(sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
  return activation == TILESMITH_SILU ? x / (1 + exp(-x)) : x;
}

static double scaling(const void* at, int64_t i, int8_t how) {
  return how == TILESMITH_UNSCALED ? 1 : ((const float*)at)[how == TILESMITH_SCALE_EACH ? i : 0];
}

typedef struct types { kind operand, output; double alpha, beta; } types;

/* Row i, column j of the product with one A and B, before the activation. */
static double sum_at(const tilesmith_problem* p, const types* t, const tilesmith_run_args* r, const char* a, const char* b, const char* c,
                     int64_t i, int64_t j, int64_t ldc) {
  const int ta = p->transposes[0] == 'T', tb = p->transposes[1] == 'T';
  const int64_t lda = p->lda != 0 ? p->lda : ta ? p->m : p->k, ldb = p->ldb != 0 ? p->ldb : tb ? p->k : p->n;
  double sum = 0;
  for (int64_t l = 0; l < p->k; ++l) {
    const double x = load(a, ta ? l * lda + i : i * lda + l, t->operand), y = load(b, tb ? j * ldb + l : l * ldb + j, t->operand);
    sum += t->operand == B1XOR ? x != y : x * y;
  }
  sum *= t->alpha * scaling(r->scale_m, i, p->scale_m) * scaling(r->scale_n, j, p->scale_n);
  if (t->beta != 0) sum += t->beta * load(c, i * ldc + j, t->output);
  if (p->bias == TILESMITH_BIAS_N || p->bias == TILESMITH_BIAS_N_F32) sum += load(r->bias, j, p->bias == TILESMITH_BIAS_N ? t->output : F32);
  if (p->bias == TILESMITH_BIAS_M || p->bias == TILESMITH_BIAS_M_F32) sum += load(r->bias, i, p->bias == TILESMITH_BIAS_M ? t->output : F32);
  return sum;
}

static void multiply(const tilesmith_problem* p, const types* t, const tilesmith_run_args* r, const char* a, const char* b, const char* c,
                     char* d, int64_t first, int64_t last) {
  const int16_t gate = p->activation;
  const int64_t columns = gate >= TILESMITH_SWIGLU ? p->n / 2 : p->n, ldc = p->ldc != 0 ? p->ldc : columns;
  for (int64_t i = first; i < last; ++i)
    for (int64_t j = 0; j < columns; ++j) {
      double value;
      if (gate >= TILESMITH_SWIGLU) {
        const int64_t x = gate == TILESMITH_SWIGLU ? j : 2 * j, y = gate == TILESMITH_SWIGLU ? columns + j : 2 * j + 1;
        value = activated(sum_at(p, t, r, a, b, c, i, x, ldc), TILESMITH_SILU) * sum_at(p, t, r, a, b, c, i, y, ldc);
      } else {
        value = activated(sum_at(p, t, r, a, b, c, i, j, ldc), gate);
      }
      store(d, i * ldc + j, t->output, value);
    }
}

static double scalar(const void* at, const char* type) {
  if (strcmp(type, "f64f64") == 0) return *(const double*)at;
  const size_t length = strlen(type);
  return length > 3 && strcmp(type + length - 3, "s32") == 0 ? *(const int32_t*)at : *(const float*)at;
}

/* Where the numbers of a type pair's name end: "bf16|f32|bf16". */
static const char* part_end(const char* name) {
  while (*name != 0 && (*name < '0' || *name > '9')) ++name;
  while (*name >= '0' && *name <= '9') ++name;
  return name;
}

static void compute(const tilesmith_strided_batch* on, const types* t, const tilesmith_run_args* r) {
  /* Of elements below a byte only single problems are computed. */
  static const int64_t bytes[] = {4, 8, 2, 1, 1, 4, 1, 1, 1, 1};
  const tilesmith_problem* p = &on->problem;
  const int ta = p->transposes[0] == 'T', tb = p->transposes[1] == 'T';
  const int64_t lda = p->lda != 0 ? p->lda : ta ? p->m : p->k, ldb = p->ldb != 0 ? p->ldb : tb ? p->k : p->n;
  const int64_t columns = p->activation >= TILESMITH_SWIGLU ? p->n / 2 : p->n, ldc = p->ldc != 0 ? p->ldc : columns;
  const int64_t packed_b = (tb ? p->n : p->k) * ldb;
  const char* c = r->c != NULL ? r->c : r->d;
  if (p->batch_size == sizeof(tilesmith_grouped)) {
    const tilesmith_grouped* groups = (const tilesmith_grouped*)on;
    const int64_t stride = groups->stride_b == TILESMITH_PACKED ? packed_b : groups->stride_b;
    const int32_t* ends = r->offsets;
    for (int64_t g = 0; g < groups->groups; ++g)
      multiply(p, t, r, r->a, (const char*)r->b + g * stride * bytes[t->operand], c, r->d, g == 0 ? 0 : ends[g - 1], ends[g]);
    return;
  }
  const int64_t count = p->batch_size != 0 ? on->count : 1;
  const int64_t sa = on->stride_a == TILESMITH_PACKED ? (ta ? p->k : p->m) * lda : on->stride_a;
  const int64_t sb = on->stride_b == TILESMITH_PACKED ? packed_b : on->stride_b;
  const int64_t sc = on->stride_c == TILESMITH_PACKED ? p->m * ldc : on->stride_c;
  for (int64_t e = 0; e < count; ++e)
    multiply(p, t, r, (const char*)r->a + e * sa * bytes[t->operand], (const char*)r->b + e * sb * bytes[t->operand],
             c + e * sc * bytes[t->output], (char*)r->d + e * sc * bytes[t->output], 0, p->m);
}

static tilesmith_status run(struct CUstream_st* stream, const tilesmith_problem* problem, const tilesmith_run_args* args) {
  if (stand_in_runs_status != 0) return failed((tilesmith_status)stand_in_runs_status, "the stand-in was told to fail every run");
  if (planted() != TILESMITH_OK) return TILESMITH_DEVICE_FAILED;
  tilesmith_strided_batch on;
  copy_problem(&on, problem);
  const char* type = on.problem.type;
  const char* const second = part_end(type);
  const char* const third = part_end(second);
  const char* output = *third != 0 ? third : second;
  /* "f32x3f32": the accumulator's name goes on. */
  if (strncmp(type, "f32x3", 5) == 0) output = "f32";
  types t = {kind_of(type, (size_t)(second - type)), kind_of(output, strlen(output)), scalar(args->alpha, type),
             on.problem.scalars_on_device && args->beta == NULL ? 0 : scalar(args->beta, type)};
  if (strncmp(type, "tf32", 4) == 0) t.operand = F32;
  if (strncmp(type, "b1xor", 5) == 0) t.operand = B1XOR, t.output = S32;
  pthread_mutex_lock(&lock);
  stand_in.problem = on;
  stand_in.args = *args;
  stand_in.alpha = t.alpha, stand_in.beta = t.beta;
  stand_in.stream = (uint64_t)(uintptr_t)stream;
  stand_in.runs++;
  pthread_mutex_unlock(&lock);
  if (on.problem.batch_size != sizeof(tilesmith_weighted) && on.problem.batch_size != sizeof(tilesmith_weighted_grouped) && on.problem.sparsity == TILESMITH_DENSE && t.operand < NOT_COMPUTED && t.output < NOT_COMPUTED && args->d != NULL && args->a != NULL) compute(&on, &t, args);
  return TILESMITH_OK;
}

EXPORT tilesmith_status tilesmith_gemm_args(tilesmith_library* library, struct CUstream_st* stream, const tilesmith_problem* problem,
                                            const tilesmith_run_args* args) {
  if (library == NULL) return failed(TILESMITH_BAD_ARGUMENT, "library is null");
  if (args->size != sizeof *args) return failed(TILESMITH_BAD_ARGUMENT, "size is another");
  return run(stream, problem, args);
}

EXPORT tilesmith_status tilesmith_gemm(tilesmith_library* library, struct CUstream_st* stream, const tilesmith_problem* problem,
                                       const void* alpha, const void* a, const void* b, const void* beta, void* c) {
  if (library == NULL) return failed(TILESMITH_BAD_ARGUMENT, "library is null");
  const tilesmith_run_args args = {.size = sizeof args, .alpha = alpha, .beta = beta, .a = a, .b = b, .d = c};
  return run(stream, problem, &args);
}

EXPORT tilesmith_status tilesmith_plan_run(const tilesmith_plan* plan, struct CUstream_st* stream, const void* alpha, const void* a,
                                           const void* b, const void* beta, void* c, void* workspace) {
  const tilesmith_run_args args = {.size = sizeof args, .alpha = alpha, .beta = beta, .a = a, .b = b, .d = c, .workspace = workspace};
  return run(stream, &plan->problem.problem, &args);
}

EXPORT tilesmith_status tilesmith_plan_run_args(const tilesmith_plan* plan, struct CUstream_st* stream, const tilesmith_run_args* args) {
  return run(stream, &plan->problem.problem, args);
}
#include "stand_in_sparse.h"
