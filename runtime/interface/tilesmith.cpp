#include "runtime/interface/tilesmith.h"

#include <string>

#include "runtime/interface/c_calls.hpp"
#include "runtime/interface/c_values.hpp"
#include "runtime/interface/gemm.hpp"

namespace {

using tilesmith::Error;
using tilesmith::ErrorCode;
using tilesmith::runtime::guarded;
using tilesmith::runtime::null_argument;
using tilesmith::runtime::take_scalars;
using tilesmith::runtime::to_operands;
using tilesmith::runtime::to_problem;

static_assert(sizeof(tilesmith_explanation) == 11 * 8, "applications were compiled with its size");
static_assert(int(ErrorCode::bad_argument) == TILESMITH_BAD_ARGUMENT &&
                  int(ErrorCode::bad_database) == TILESMITH_BAD_DATABASE &&
                  int(ErrorCode::no_device) == TILESMITH_NO_DEVICE &&
                  int(ErrorCode::no_kernel) == TILESMITH_NO_KERNEL &&
                  int(ErrorCode::misaligned) == TILESMITH_MISALIGNED &&
                  int(ErrorCode::missing_workspace) == TILESMITH_MISSING_WORKSPACE &&
                  int(ErrorCode::device_failed) == TILESMITH_DEVICE_FAILED &&
                  int(ErrorCode::out_of_memory) == TILESMITH_OUT_OF_MEMORY &&
                  int(ErrorCode::internal) == TILESMITH_INTERNAL &&
                  int(ErrorCode::not_planned) == TILESMITH_NOT_PLANNED,
              "an error code is passed through as a status");

/// C is D.
tilesmith::Operands operands_in_place(const tilesmith::Problem& problem, const void* alpha, const void* a, const void* b, const void* beta, void* c) {
  tilesmith::Operands operands;
  take_scalars(problem, alpha, beta, operands);
  operands.a = a;
  operands.b = b;
  operands.c = operands.d = c;
  return operands;
}

tilesmith_library* new_library(const char* path, const tilesmith::LibraryOptions& options) {
  return new tilesmith_library{path != nullptr ? tilesmith::Library::open(path, options)
                                               : tilesmith::Library::without_database(options)};
}

}  // namespace

extern "C" {

const char* tilesmith_version(void) { return tilesmith::version(); }

const char* tilesmith_status_name(tilesmith_status status) {
  switch (status) {
    case TILESMITH_OK:
      return "ok";
    case TILESMITH_BAD_ARGUMENT:
      return "bad argument";
    case TILESMITH_BAD_DATABASE:
      return "bad database";
    case TILESMITH_NO_DEVICE:
      return "no device";
    case TILESMITH_NO_KERNEL:
      return "no kernel";
    case TILESMITH_MISALIGNED:
      return "misaligned";
    case TILESMITH_MISSING_WORKSPACE:
      return "missing workspace";
    case TILESMITH_DEVICE_FAILED:
      return "device failed";
    case TILESMITH_OUT_OF_MEMORY:
      return "out of memory";
    case TILESMITH_INTERNAL:
      return "internal";
    case TILESMITH_NOT_PLANNED:
      return "not planned";
  }
  return "unknown status";
}

const char* tilesmith_last_error(void) { return tilesmith::runtime::last_error(); }

int32_t tilesmith_type_pair_count(void) { return int32_t(tilesmith::type_pairs().size()); }

const char* tilesmith_type_pair_name(int32_t index) {
  if (index < 0 || index >= tilesmith_type_pair_count()) return nullptr;
  return tilesmith::type_pairs()[std::size_t(index)].name.data();  // of literals, which end with 0
}

tilesmith_status tilesmith_set_log_callback(tilesmith_log_callback callback, void* user) {
  return guarded([&] {
    if (callback == nullptr) return tilesmith::set_log_callback(nullptr);
    tilesmith::set_log_callback([callback, user](tilesmith::LogLevel level, const std::string& line) {
      callback(user, tilesmith_log_level(int(level)), line.c_str());
    });
  });
}

tilesmith_status tilesmith_open(const char* path, int32_t device, tilesmith_library** library) {
  if (library == nullptr) return null_argument("tilesmith_open", "library");
  *library = nullptr;
  return guarded([&] {
    tilesmith::LibraryOptions options;
    options.device = device;
    *library = new_library(path, options);
  });
}

tilesmith_status tilesmith_options_init(tilesmith_options* options, size_t size) {
  if (options == nullptr) return null_argument("tilesmith_options_init", "options");
  return guarded([&] { tilesmith::runtime::write_default_options(options, size); });
}

tilesmith_status tilesmith_open_with_options(const char* path, const tilesmith_options* options, tilesmith_library** library) {
  if (library == nullptr) return null_argument("tilesmith_open_with_options", "library");
  *library = nullptr;
  if (options == nullptr) return null_argument("tilesmith_open_with_options", "options");
  return guarded([&] { *library = new_library(path, tilesmith::runtime::to_options(*options)); });
}

void tilesmith_close(tilesmith_library* library) { delete library; }

const char* tilesmith_device(const tilesmith_library* library) {
  return library != nullptr ? library->library.device().c_str() : "";
}

tilesmith_status tilesmith_problem_init(tilesmith_problem* problem, const char* type, const char* transposes, int64_t m,
                                        int64_t n, int64_t k) {
  if (problem == nullptr) return null_argument("tilesmith_problem_init", "problem");
  *problem = tilesmith_problem{};
  if (type == nullptr) return null_argument("tilesmith_problem_init", "type");
  if (transposes == nullptr) return null_argument("tilesmith_problem_init", "transposes");
  return guarded([&] {
    tilesmith_problem made = tilesmith::runtime::named_problem(type, transposes);
    made.m = m;
    made.n = n;
    made.k = k;
    made.align_bytes = tilesmith::kDefaultAlignBytes;
    made.beta_is_zero = 1;
    if (const auto wrong = tilesmith::problem_error(to_problem(made))) throw Error(ErrorCode::bad_argument, *wrong);
    *problem = made;
  });
}

tilesmith_status tilesmith_strided_batch_init(tilesmith_strided_batch* batch, const char* type, const char* transposes, int64_t m,
                                              int64_t n, int64_t k, int64_t count) {
  if (batch == nullptr) return null_argument("tilesmith_strided_batch_init", "batch");
  *batch = tilesmith_strided_batch{};
  tilesmith_strided_batch made{{}, count, TILESMITH_PACKED, TILESMITH_PACKED, TILESMITH_PACKED};
  if (const tilesmith_status status = tilesmith_problem_init(&made.problem, type, transposes, m, n, k); status != TILESMITH_OK) return status;
  made.problem.batch_size = sizeof made;
  return guarded([&] {
    if (const auto wrong = tilesmith::problem_error(to_problem(made.problem))) throw Error(ErrorCode::bad_argument, *wrong);
    *batch = made;
  });
}

tilesmith_status tilesmith_grouped_init(tilesmith_grouped* grouped, const char* type, const char* transposes, int64_t m, int64_t n,
                                        int64_t k, int64_t groups) {
  if (grouped == nullptr) return null_argument("tilesmith_grouped_init", "grouped");
  *grouped = tilesmith_grouped{};
  tilesmith_grouped made{{}, groups, TILESMITH_PACKED};
  if (const tilesmith_status status = tilesmith_problem_init(&made.problem, type, transposes, m, n, k); status != TILESMITH_OK) return status;
  made.problem.batch_size = sizeof made;
  return guarded([&] {
    if (const auto wrong = tilesmith::problem_error(to_problem(made.problem))) throw Error(ErrorCode::bad_argument, *wrong);
    *grouped = made;
  });
}

tilesmith_status tilesmith_problem_text(const tilesmith_problem* problem, char* text, size_t size) {
  if (text == nullptr || size == 0) return null_argument("tilesmith_problem_text", "text");
  *text = '\0';
  if (problem == nullptr) return null_argument("tilesmith_problem_text", "problem");
  return guarded([&] {
    const tilesmith::Problem made = tilesmith::canonical(to_problem(*problem));
    if (const auto wrong = tilesmith::problem_error(made)) throw Error(ErrorCode::bad_argument, *wrong);
    const std::string written = tilesmith::text(made);
    if (written.size() >= size) throw Error(ErrorCode::bad_argument, "size is " + std::to_string(size) + ": expected at least " + std::to_string(written.size() + 1));
    written.copy(text, written.size());
    text[written.size()] = '\0';
  });
}

tilesmith_status tilesmith_gemm(tilesmith_library* library, struct CUstream_st* stream, const tilesmith_problem* problem,
                                const void* alpha, const void* a, const void* b, const void* beta, void* c) {
  if (library == nullptr) return null_argument("tilesmith_gemm", "library");
  if (problem == nullptr) return null_argument("tilesmith_gemm", "problem");
  if (alpha == nullptr) return null_argument("tilesmith_gemm", "alpha");
  if (beta == nullptr) return null_argument("tilesmith_gemm", "beta");
  return guarded([&] {
    const tilesmith::Problem asked = to_problem(*problem);
    library->library.gemm(stream, asked, operands_in_place(asked, alpha, a, b, beta, c));
  });
}

tilesmith_status tilesmith_gemm_args(tilesmith_library* library, struct CUstream_st* stream, const tilesmith_problem* problem,
                                     const tilesmith_run_args* args) {
  if (library == nullptr) return null_argument("tilesmith_gemm_args", "library");
  if (problem == nullptr) return null_argument("tilesmith_gemm_args", "problem");
  if (args == nullptr) return null_argument("tilesmith_gemm_args", "args");
  return guarded([&] {
    const tilesmith::Problem asked = to_problem(*problem);
    const tilesmith::Operands operands = to_operands(*args, asked);
    if (args->workspace != nullptr) throw Error(ErrorCode::bad_argument, "workspace is given: expected null, the library has its own");
    library->library.gemm(stream, asked, operands);
  });
}

tilesmith_status tilesmith_prepare(tilesmith_library* library, struct CUstream_st* stream, const tilesmith_problem* problem) {
  if (library == nullptr) return null_argument("tilesmith_prepare", "library");
  if (problem == nullptr) return null_argument("tilesmith_prepare", "problem");
  return guarded([&] { library->library.prepare(stream, to_problem(*problem)); });
}

void tilesmith_clear_cache(tilesmith_library* library) {
  if (library != nullptr) library->library.clear_cache();
}

tilesmith_status tilesmith_plan_create(tilesmith_library* library, const tilesmith_problem* problem,
                                       tilesmith_plan** plan) {
  if (plan == nullptr) return null_argument("tilesmith_plan_create", "plan");
  *plan = nullptr;
  if (library == nullptr) return null_argument("tilesmith_plan_create", "library");
  if (problem == nullptr) return null_argument("tilesmith_plan_create", "problem");
  return guarded([&] { *plan = new tilesmith_plan{library->library.plan(to_problem(*problem))}; });
}

void tilesmith_plan_destroy(tilesmith_plan* plan) { delete plan; }

tilesmith_status tilesmith_plan_workspace_bytes(const tilesmith_plan* plan, uint64_t* bytes) {
  if (bytes == nullptr) return null_argument("tilesmith_plan_workspace_bytes", "bytes");
  *bytes = 0;
  if (plan == nullptr) return null_argument("tilesmith_plan_workspace_bytes", "plan");
  *bytes = plan->plan.workspace_bytes();
  return TILESMITH_OK;
}

tilesmith_status tilesmith_plan_reserve_workspace(tilesmith_plan* plan) {
  if (plan == nullptr) return null_argument("tilesmith_plan_reserve_workspace", "plan");
  return guarded([&] { plan->plan.reserve_workspace(); });
}

tilesmith_status tilesmith_plan_explain(const tilesmith_plan* plan, tilesmith_explanation* explanation) {
  if (explanation == nullptr) return null_argument("tilesmith_plan_explain", "explanation");
  *explanation = tilesmith_explanation{"", "", "", "", "", "", 0, 0, 0, 0, {}};
  if (plan == nullptr) return null_argument("tilesmith_plan_explain", "plan");
  const tilesmith::Explanation& why = plan->plan.explain();
  *explanation = {why.rung.c_str(),   why.config.c_str(), why.reason.c_str(), why.measured.c_str(),
                  why.trust.c_str(), why.kernel.c_str(), why.median_us, why.predicted_us,
                  why.vendor_us,     why.vendor_best_us, {}};
  return TILESMITH_OK;
}

tilesmith_status tilesmith_plan_run(const tilesmith_plan* plan, struct CUstream_st* stream, const void* alpha,
                                    const void* a, const void* b, const void* beta, void* c, void* workspace) {
  if (plan == nullptr) return null_argument("tilesmith_plan_run", "plan");
  if (alpha == nullptr) return null_argument("tilesmith_plan_run", "alpha");
  if (beta == nullptr) return null_argument("tilesmith_plan_run", "beta");
  return guarded([&] {
    plan->plan.run(stream, operands_in_place(plan->plan.problem(), alpha, a, b, beta, c), workspace);
  });
}

tilesmith_status tilesmith_plan_run_args(const tilesmith_plan* plan, struct CUstream_st* stream, const tilesmith_run_args* args) {
  if (plan == nullptr) return null_argument("tilesmith_plan_run_args", "plan");
  if (args == nullptr) return null_argument("tilesmith_plan_run_args", "args");
  return guarded([&] { plan->plan.run(stream, to_operands(*args, plan->plan.problem()), args->workspace); });
}

}  // extern "C"
