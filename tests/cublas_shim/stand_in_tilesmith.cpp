// A libtilesmith that notes what it is asked and answers by the problem's K, so that a test chooses what the database says.
#include <dlfcn.h>

#include <atomic>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <string>

#include "runtime/interface/tilesmith.h"

struct tilesmith_library {
  int device;
};
struct tilesmith_plan {
  tilesmith_strided_batch problem;
  std::string text;
};

namespace {

std::atomic<int> runs{0}, plans{0};
constexpr const char* kFailed = "stand-in failed";
thread_local const char* last_error = kFailed;
char last_text[512];
tilesmith_run_args last_args;
float last_alpha;  // where alpha is an f32 on the host

const tilesmith_strided_batch& whole(const tilesmith_problem* problem) { return *reinterpret_cast<const tilesmith_strided_batch*>(problem); }

}  // namespace

extern "C" {

int stand_in_tilesmith_runs() { return runs; }
int stand_in_tilesmith_plans() { return plans; }
const char* stand_in_last_problem() { return last_text; }
tilesmith_run_args stand_in_last_args() { return last_args; }
float stand_in_last_alpha() { return last_alpha; }

const char* tilesmith_last_error(void) { return last_error; }
/// The real library judges: it needs no device for it.
tilesmith_status tilesmith_problem_text(const tilesmith_problem* problem, char* text, size_t size) {
  static void* const real = dlopen(TILESMITH_REAL_LIBRARY, RTLD_NOW | RTLD_LOCAL);
  static auto* const problem_text = reinterpret_cast<decltype(&tilesmith_problem_text)>(dlsym(real, "tilesmith_problem_text"));
  static auto* const why = reinterpret_cast<decltype(&tilesmith_last_error)>(dlsym(real, "tilesmith_last_error"));
  const tilesmith_status status = problem_text(problem, text, size);
  last_error = status == TILESMITH_OK ? kFailed : why();
  return status;
}
tilesmith_status tilesmith_options_init(tilesmith_options* options, size_t size) {
  *options = {};
  options->size = size;
  options->allow_compile = 1;
  return TILESMITH_OK;
}
tilesmith_status tilesmith_open_with_options(const char* path, const tilesmith_options* options, tilesmith_library** library) {
  *library = nullptr;
  if (std::strstr(path, "broken") != nullptr || std::strstr(path, "missing") != nullptr || options->allow_compile != 0) return TILESMITH_BAD_DATABASE;
  *library = new tilesmith_library{options->device};
  return TILESMITH_OK;
}
tilesmith_status tilesmith_plan_create(tilesmith_library*, const tilesmith_problem* p, tilesmith_plan** plan) {
  *plan = nullptr;
  ++plans;
  if (p->k == 19) return TILESMITH_NO_KERNEL;
  if (p->k == 37) return TILESMITH_BAD_ARGUMENT;
  auto* const made = new tilesmith_plan();
  char text[512];
  int at = std::snprintf(text, sizeof text, "%s %s %" PRId64 " %" PRId64 " %" PRId64 " ld %" PRId64 " %" PRId64 " %" PRId64, p->type, p->transposes, p->m,
                         p->n, p->k, p->lda, p->ldb, p->ldc);
  const auto add = [&](const char* name, std::int64_t value, std::int64_t usual) {
    if (value != usual) at += std::snprintf(text + at, sizeof text - std::size_t(at), " %s=%" PRId64, name, value);
  };
  add("align", p->align_bytes, 16);
  add("beta", p->beta_is_zero == 0, 0);
  add("bias", p->bias, 0);
  add("activation", p->activation, 0);
  add("scale_m", p->scale_m, 0);
  add("scale_n", p->scale_n, 0);
  add("apart", p->c_is_apart, 0);
  add("device", p->scalars_on_device, 0);
  made->problem.problem = *p;
  if (p->batch_size != 0) {
    made->problem = whole(p);
    add("batch", made->problem.count, 1);
    add("stride_a", made->problem.stride_a, 0);
    add("stride_b", made->problem.stride_b, 0);
    add("stride_c", made->problem.stride_c, 0);
  }
  made->text = text;
  *plan = made;
  return TILESMITH_OK;
}
tilesmith_status tilesmith_plan_explain(const tilesmith_plan* plan, tilesmith_explanation* why) {
  const std::int64_t k = plan->problem.problem.k;
  *why = {};
  why->rung = k == 11 ? "model" : "exact";
  why->trust = k == 13 ? "reverify" : "valid";
  why->config = why->reason = why->measured = why->kernel = "";
  why->median_us = 10;
  why->vendor_us = k == 7 ? 9 : k == 17 ? 0 : 20;
  return TILESMITH_OK;
}
tilesmith_status tilesmith_plan_workspace_bytes(const tilesmith_plan* plan, uint64_t* bytes) {
  return *bytes = plan->problem.problem.k == 29 ? 4096 : 0, TILESMITH_OK;
}
tilesmith_status tilesmith_plan_run_args(const tilesmith_plan* plan, struct CUstream_st*, const tilesmith_run_args* args) {
  const tilesmith_problem& p = plan->problem.problem;
  if (p.k == 23) return TILESMITH_DEVICE_FAILED;
  if (p.k == 29 && args->workspace == nullptr) return TILESMITH_MISSING_WORKSPACE;
  if (p.k != 61) {  // many threads run that one
    std::snprintf(last_text, sizeof last_text, "%s", plan->text.c_str());
    last_args = *args;
    if (p.scalars_on_device == 0) std::memcpy(&last_alpha, args->alpha, sizeof last_alpha);
  }
  if (std::strcmp(p.type, "f32f32") == 0 && (p.k == 31 || p.k == 32)) {
    for (std::int64_t i = 0; i < p.m; ++i) {
      for (std::int64_t j = 0; j < p.n; ++j) static_cast<float*>(args->d)[i * p.ldc + j] = p.k == 31 && i == 1 && j == 2 ? 1.5f : 1;
    }
  }
  ++runs;
  return TILESMITH_OK;
}
}
