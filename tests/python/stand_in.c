/* A libtilesmith without a device, for tests of the Python package: it records calls, and multiplies in host memory where the elements are
 * what the types' names say. Compiled against tilesmith.h, so that a changed interface does not go unseen. */
#include <dlfcn.h>
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
  tilesmith_problem problem; /* of the last run or plan */
  tilesmith_run run;
  double alpha, beta;
  uint64_t stream;
  char path[256];
  tilesmith_options options;
} stand_in_record;

EXPORT stand_in_record stand_in;
EXPORT int32_t stand_in_next_status;  /* of the next call that may fail; 0: none does */
EXPORT int32_t stand_in_runs_status;  /* of every run until it is set to 0 */
EXPORT int32_t stand_in_no_device;
EXPORT char stand_in_level[16] = "exact";
EXPORT double stand_in_vendor_us = 0;
EXPORT char stand_in_device[64] = "NVIDIA H200/sm_90/132SM";
EXPORT const size_t stand_in_sizes[] = {sizeof(tilesmith_problem), sizeof(tilesmith_run), sizeof(tilesmith_options), sizeof(tilesmith_explanation),
                                        sizeof(tilesmith_weights), sizeof(tilesmith_array), sizeof(tilesmith_weights_source)};
EXPORT const size_t stand_in_offsets[] = {offsetof(tilesmith_problem, transposes), offsetof(tilesmith_problem, stride_c), offsetof(tilesmith_problem, activation),
                                          offsetof(tilesmith_problem, batch_mode), offsetof(tilesmith_problem, weights), offsetof(tilesmith_options, early_in_graphs),
                                          offsetof(tilesmith_explanation, vendor_best_us), offsetof(tilesmith_weights, a_bits),
                                          offsetof(tilesmith_weights_source, g_idx)};

EXPORT char stand_in_default[256]; /* what ships, and what is opened by default unless TILESMITH_DB says otherwise */

struct tilesmith_library { int32_t device; char path[256]; };
struct tilesmith_plan { tilesmith_problem problem; };

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

EXPORT tilesmith_status tilesmith_open_with_options(const char* path, const tilesmith_options* options, tilesmith_library** library) {
  *library = NULL;
  if (stand_in_no_device) return failed(TILESMITH_NO_DEVICE, "no NVIDIA driver");
  if (planted() != TILESMITH_OK) return TILESMITH_BAD_DATABASE;
  *library = malloc(sizeof **library);
  (*library)->device = options->device;
  snprintf(stand_in.path, sizeof stand_in.path, "%s", path != NULL ? path : "");
  memcpy((*library)->path, stand_in.path, sizeof stand_in.path);
  stand_in.options = *options;
  stand_in.opened++;
  return TILESMITH_OK;
}

EXPORT tilesmith_status tilesmith_open_default_with_options(const tilesmith_options* options, tilesmith_library** library) {
  const char* named = getenv("TILESMITH_DB");
  return tilesmith_open_with_options(named != NULL ? named : stand_in_default, options, library);
}

EXPORT tilesmith_status tilesmith_shipped_database(int32_t device, char* path, size_t size) {
  return snprintf(path, size, "%s", stand_in_default), (void)device, TILESMITH_OK;
}

EXPORT void tilesmith_close(tilesmith_library* library) {
  if (library != NULL) stand_in.opened--;
  free(library);
}
EXPORT const char* tilesmith_device(const tilesmith_library* library) { return library != NULL ? stand_in_device : ""; }
EXPORT const char* tilesmith_database(const tilesmith_library* library) { return library != NULL ? library->path : ""; }
EXPORT void tilesmith_clear_cache(tilesmith_library* library) { (void)library; }

/* By the real library that the tests' environment names: it needs no device for it. */
EXPORT tilesmith_status tilesmith_problem_text(const tilesmith_problem* p, char* text, size_t size) {
  const char* path = getenv("TILESMITH_REAL_LIBRARY");
  void* real = path != NULL ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
  if (real == NULL) return failed(TILESMITH_BAD_ARGUMENT, "the stand-in needs TILESMITH_REAL_LIBRARY for a problem's text");
  tilesmith_status (*problem_text)(const tilesmith_problem*, char*, size_t) = (tilesmith_status(*)(const tilesmith_problem*, char*, size_t))dlsym(real, "tilesmith_problem_text");
  const tilesmith_status status = problem_text(p, text, size);
  if (status != TILESMITH_OK) failed(status, ((const char* (*)(void))dlsym(real, "tilesmith_last_error"))());
  return status;
}

EXPORT tilesmith_status tilesmith_problem_parse(tilesmith_problem* p, const char* text) {
  void* const real = dlopen(getenv("TILESMITH_REAL_LIBRARY"), RTLD_NOW | RTLD_LOCAL);
  if (real == NULL) return failed(TILESMITH_INTERNAL, "the stand-in has no TILESMITH_REAL_LIBRARY");
  tilesmith_status (*parse)(tilesmith_problem*, const char*) = (tilesmith_status(*)(tilesmith_problem*, const char*))dlsym(real, "tilesmith_problem_parse");
  const tilesmith_status status = parse(p, text);
  if (status != TILESMITH_OK) failed(status, ((const char* (*)(void))dlsym(real, "tilesmith_last_error"))());
  return status;
}

EXPORT tilesmith_status tilesmith_plan_create(tilesmith_library* library, const tilesmith_problem* problem, tilesmith_plan** plan) {
  *plan = NULL;
  if (library == NULL) return failed(TILESMITH_BAD_ARGUMENT, "library is null");
  if (planted() != TILESMITH_OK) return TILESMITH_NO_KERNEL;
  *plan = malloc(sizeof **plan);
  (*plan)->problem = *problem;
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
  e->level = stand_in_level, e->config = "simt{}", e->reason = "it is the only one", e->measured = "", e->trust = "valid", e->kernel = "none";
  e->median_us = 12.5;
  e->vendor_us = stand_in_vendor_us, e->vendor_best_us = stand_in_vendor_us;
  return TILESMITH_OK;
}

EXPORT tilesmith_status tilesmith_prepare(tilesmith_library* library, struct CUstream_st* stream, const tilesmith_problem* problem) {
  (void)library;
  stand_in.problem = *problem;
  stand_in.stream = (uint64_t)(uintptr_t)stream;
  stand_in.prepared++;
  return planted();
}

#include "stand_in_kernel.h"
#include "stand_in_product.h"

static _Thread_local tilesmith_progress_callback progress;
static _Thread_local void* progress_user;

EXPORT tilesmith_status tilesmith_set_progress_callback(tilesmith_progress_callback callback, void* user) {
  progress = callback;
  progress_user = user;
  return TILESMITH_OK;
}

EXPORT tilesmith_status tilesmith_prepare_all(tilesmith_library* library, const tilesmith_problem* problems, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    char text[512];
    if (tilesmith_problem_text(&problems[i], text, sizeof text) != TILESMITH_OK) return TILESMITH_BAD_ARGUMENT;
    stand_in.prepared++;
    if (progress != NULL) progress(progress_user, i + 1, count, text);
  }
  return (void)library, planted();
}

static tilesmith_status run_problem(struct CUstream_st* stream, const tilesmith_problem* p, const tilesmith_run* run) {
  if (stand_in_runs_status != 0) return failed((tilesmith_status)stand_in_runs_status, "the stand-in was told to fail every run");
  if (planted() != TILESMITH_OK) return TILESMITH_DEVICE_FAILED;
  if (p->size != sizeof *p || run->size != sizeof *run) return failed(TILESMITH_BAD_ARGUMENT, "size is another");
  const char* type = p->type;
  const char* const second = type[0] == 'e' ? type + 4 : part_end(type); /* "e4m3f32": the operand's name goes on */
  const char* const third = part_end(second);
  const char* output = *third != 0 ? third : second;
  /* "f32x3f32": the accumulator's name goes on. */
  if (strncmp(type, "f32x3", 5) == 0) output = "f32";
  types t = {kind_of(type, (size_t)(second - type)), kind_of(output, strlen(output)), scalar(run->operands[TILESMITH_ALPHA], type, 1),
             scalar(run->operands[TILESMITH_BETA], type, 0), 0, 0, 0, 0};
  if (strncmp(type, "tf32", 4) == 0) t.operand = F32;
  if (strncmp(type, "b1xor", 5) == 0) t.operand = B1XOR, t.output = S32;
  pthread_mutex_lock(&lock);
  stand_in.problem = *p;
  stand_in.run = *run;
  stand_in.alpha = t.alpha, stand_in.beta = t.beta;
  stand_in.stream = (uint64_t)(uintptr_t)stream;
  stand_in.runs++;
  pthread_mutex_unlock(&lock);
  const int is_computed = (p->weights[0] == 0 || computes_weights(p)) && p->sparsity == TILESMITH_DENSE;
  if (is_computed && t.operand < NOT_COMPUTED && t.output < NOT_COMPUTED && run->operands[TILESMITH_D] != NULL && run->operands[TILESMITH_A] != NULL) compute(p, t, run);
  return TILESMITH_OK;
}

EXPORT tilesmith_status tilesmith_gemm(tilesmith_library* library, struct CUstream_st* stream, const tilesmith_problem* problem, const tilesmith_run* run) {
  if (library == NULL) return failed(TILESMITH_BAD_ARGUMENT, "library is null");
  return run_problem(stream, problem, run);
}

EXPORT tilesmith_status tilesmith_plan_run(const tilesmith_plan* plan, struct CUstream_st* stream, const tilesmith_run* run) {
  return run_problem(stream, &plan->problem, run);
}
#include "stand_in_sparse.h"
