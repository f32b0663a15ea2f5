// A libtilesmith that notes what it is asked and answers by the problem's K, so that a test chooses what the database
// says.
#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "runtime/interface/tilesmith.h"

struct tilesmith_library {
  int device;
};
struct tilesmith_plan {
  tilesmith_problem problem;
  std::string text;
};

namespace {

std::atomic<int> runs{0}, plans{0};
constexpr const char* kFailed = "stand-in failed";
thread_local const char* last_error = kFailed;
char last_text[512];
tilesmith_run last_run;
float last_alpha;  // where alpha is an f32 on the host

/// The real library, loaded while this one is. With STAND_IN_LOADING, which names a file, that takes a while after the
/// file is there.
void* const real = [] {
  void* const library = dlopen(TILESMITH_REAL_LIBRARY, RTLD_NOW | RTLD_LOCAL);
  if (const char* const marker = std::getenv("STAND_IN_LOADING")) {
    close(open(marker, O_WRONLY | O_CREAT, 0666));
    usleep(300'000);
  }
  return library;
}();

}  // namespace

extern "C" {

int stand_in_tilesmith_runs() { return runs; }
int stand_in_tilesmith_plans() { return plans; }
const char* stand_in_last_problem() { return last_text; }
tilesmith_run stand_in_last_run() { return last_run; }
float stand_in_last_alpha() { return last_alpha; }

const char* tilesmith_last_error(void) { return last_error; }
/// The real library judges: it needs no device for it.
tilesmith_status tilesmith_problem_text(const tilesmith_problem* problem, char* text, size_t size) {
  if (real == nullptr) std::abort();  // a fork in the middle of the load
  static auto* const problem_text =
      reinterpret_cast<decltype(&tilesmith_problem_text)>(dlsym(real, "tilesmith_problem_text"));
  static auto* const why = reinterpret_cast<decltype(&tilesmith_last_error)>(dlsym(real, "tilesmith_last_error"));
  const tilesmith_status status = problem_text(problem, text, size);
  last_error = status == TILESMITH_OK ? kFailed : why();
  return status;
}
tilesmith_status tilesmith_open_with_options(
    const char* path, const tilesmith_options* options, tilesmith_library** library) {
  *library = nullptr;
  if (std::strstr(path, "broken") != nullptr || std::strstr(path, "missing") != nullptr || options->allow_compile != 0)
    return TILESMITH_BAD_DATABASE;
  *library = new tilesmith_library{options->device};
  return TILESMITH_OK;
}
tilesmith_status tilesmith_open_default_with_options(const tilesmith_options* options, tilesmith_library** library) {
  return tilesmith_open_with_options("default.db", options, library);
}
const char* tilesmith_database(const tilesmith_library*) { return "default.db"; }
tilesmith_status tilesmith_plan_create(tilesmith_library*, const tilesmith_problem* p, tilesmith_plan** plan) {
  *plan = nullptr;
  ++plans;
  if (p->k == 19) return TILESMITH_NO_KERNEL;
  if (p->k == 37) return TILESMITH_BAD_ARGUMENT;
  char text[512];
  if (const tilesmith_status status = tilesmith_problem_text(p, text, sizeof text); status != TILESMITH_OK)
    return status;
  *plan = new tilesmith_plan{*p, text};
  return TILESMITH_OK;
}
tilesmith_status tilesmith_plan_explain(const tilesmith_plan* plan, tilesmith_explanation* why) {
  const std::int64_t k = plan->problem.k;
  *why = {};
  why->level = k == 11 ? "model" : "exact";
  why->trust = k == 13 ? "reverify" : "valid";
  why->config = why->reason = why->measured = why->kernel = "";
  why->median_us = 10;
  why->vendor_us = k == 7 ? 9 : k == 17 ? 0 : 20;
  return TILESMITH_OK;
}
tilesmith_status tilesmith_plan_workspace_bytes(const tilesmith_plan* plan, uint64_t* bytes) {
  return *bytes = plan->problem.k == 29 ? 4096 : 0, TILESMITH_OK;
}
tilesmith_status tilesmith_plan_run(const tilesmith_plan* plan, struct CUstream_st*, const tilesmith_run* run) {
  const tilesmith_problem& p = plan->problem;
  if (p.k == 23) return TILESMITH_DEVICE_FAILED;
  if (p.k == 29 && run->workspace == nullptr) return TILESMITH_MISSING_WORKSPACE;
  if (p.k != 61) {  // many threads run that one
    std::snprintf(last_text, sizeof last_text, "%s", plan->text.c_str());
    last_run = *run;
    if (p.scalars_on_device == 0) std::memcpy(&last_alpha, run->operands[TILESMITH_ALPHA], sizeof last_alpha);
  }
  if (std::strcmp(p.type, "f32f32") == 0 && (p.k == 31 || p.k == 32)) {
    auto* const d = static_cast<float*>(const_cast<void*>(run->operands[TILESMITH_D]));
    const std::int64_t ldc = p.ldc != 0 ? p.ldc : p.n;
    for (std::int64_t i = 0; i < p.m; ++i) {
      for (std::int64_t j = 0; j < p.n; ++j) d[i * ldc + j] = p.k == 31 && i == 1 && j == 2 ? 1.5f : 1;
    }
  }
  ++runs;
  return TILESMITH_OK;
}
}
