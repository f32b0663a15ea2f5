#include "runtime/tilesmith.h"

#include <cstdio>
#include <cstring>
#include <new>
#include <string>

#include "runtime/gemm.hpp"

struct tilesmith_library {
  tilesmith::Library library;
};

struct tilesmith_plan {
  tilesmith::GemmPlan plan;
};

namespace {

using tilesmith::Error;
using tilesmith::ErrorCode;

static_assert(int(ErrorCode::bad_argument) == TILESMITH_BAD_ARGUMENT &&
                  int(ErrorCode::bad_database) == TILESMITH_BAD_DATABASE &&
                  int(ErrorCode::no_device) == TILESMITH_NO_DEVICE &&
                  int(ErrorCode::no_kernel) == TILESMITH_NO_KERNEL &&
                  int(ErrorCode::misaligned) == TILESMITH_MISALIGNED &&
                  int(ErrorCode::missing_workspace) == TILESMITH_MISSING_WORKSPACE &&
                  int(ErrorCode::device_failed) == TILESMITH_DEVICE_FAILED &&
                  int(ErrorCode::out_of_memory) == TILESMITH_OUT_OF_MEMORY &&
                  int(ErrorCode::internal) == TILESMITH_INTERNAL,
              "an error code is passed through as a status");

// A plain buffer: keeping a failure's text must not fail itself.
thread_local char last_error[1024] = "";

tilesmith_status fail(tilesmith_status status, const char* what) noexcept {
  std::snprintf(last_error, sizeof last_error, "%s", what);
  return status;
}

tilesmith_status null_argument(const char* function, const char* argument) noexcept {
  std::snprintf(last_error, sizeof last_error, "%s: %s is null", function, argument);
  return TILESMITH_BAD_ARGUMENT;
}

/// Runs the call; turns what it throws into a status and the last error's text.
template <typename Call>
tilesmith_status guarded(Call&& call) noexcept {
  try {
    call();
    return TILESMITH_OK;
  } catch (const Error& error) {
    return fail(tilesmith_status(int(error.code())), error.what());
  } catch (const std::bad_alloc&) {
    return fail(TILESMITH_OUT_OF_MEMORY, "out of host memory");
  } catch (const std::exception& error) {
    return fail(TILESMITH_INTERNAL, error.what());
  } catch (...) {
    return fail(TILESMITH_INTERNAL, "unknown exception");
  }
}

tilesmith::Problem to_problem(const tilesmith_problem& from) {
  std::string error;
  const tilesmith::TypePair* type = tilesmith::find_type_pair(from.type);
  if (type == nullptr) {
    // parse_problem's words: they list the type pairs there are.
    tilesmith::parse_problem(std::string(from.type) + " NN 1 1 1", error);
    throw Error(ErrorCode::bad_argument, error.empty() ? "type is empty" : error);
  }
  const auto trans = tilesmith::parse_transposes(from.transposes);
  if (!trans) {
    throw Error(ErrorCode::bad_argument,
                "unknown transposes '" + std::string(from.transposes) + "': expected NN, NT, TN or TT");
  }
  for (const std::int64_t reserved : from.reserved) {
    if (reserved != 0) {
      throw Error(ErrorCode::bad_argument,
                  "a reserved field is not 0: expected a problem filled by tilesmith_problem_init");
    }
  }
  tilesmith::Problem problem = tilesmith::packed_problem(*type, *trans, from.m, from.n, from.k);
  if (from.lda != 0) problem.lda = from.lda;
  if (from.ldb != 0) problem.ldb = from.ldb;
  if (from.ldc != 0) problem.ldc = from.ldc;
  problem.align_bytes = from.align_bytes;
  problem.beta = from.beta_is_zero != 0 ? tilesmith::BetaClass::zero : tilesmith::BetaClass::any;
  return problem;
}

/// Exact: every f32 and s32 is a double.
double read_scale(const void* value, tilesmith::Scalar type) {
  switch (type) {
    case tilesmith::Scalar::s32: {
      std::int32_t integer;
      std::memcpy(&integer, value, sizeof integer);
      return integer;
    }
    case tilesmith::Scalar::f64: {
      double real;
      std::memcpy(&real, value, sizeof real);
      return real;
    }
    default: {
      float real;
      std::memcpy(&real, value, sizeof real);
      return real;
    }
  }
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
  }
  return "unknown status";
}

const char* tilesmith_last_error(void) { return last_error; }

tilesmith_status tilesmith_open(const char* path, int32_t device, tilesmith_library** library) {
  if (library == nullptr) return null_argument("tilesmith_open", "library");
  *library = nullptr;
  return guarded([&] {
    tilesmith::LibraryOptions options;
    options.device = device;
    *library = new tilesmith_library{path != nullptr ? tilesmith::Library::open(path, options)
                                                     : tilesmith::Library::without_database(options)};
  });
}

void tilesmith_close(tilesmith_library* library) { delete library; }

tilesmith_status tilesmith_problem_init(tilesmith_problem* problem, const char* type, const char* transposes, int64_t m,
                                        int64_t n, int64_t k) {
  if (problem == nullptr) return null_argument("tilesmith_problem_init", "problem");
  *problem = tilesmith_problem{};
  if (type == nullptr) return null_argument("tilesmith_problem_init", "type");
  if (transposes == nullptr) return null_argument("tilesmith_problem_init", "transposes");
  problem->type = type;
  problem->transposes = transposes;
  problem->m = m;
  problem->n = n;
  problem->k = k;
  problem->align_bytes = tilesmith::kDefaultAlignBytes;
  return guarded([&] {
    const tilesmith::Problem made = to_problem(*problem);
    if (const auto wrong = tilesmith::problem_error(made)) throw Error(ErrorCode::bad_argument, *wrong);
  });
}

tilesmith_status tilesmith_plan_create(tilesmith_library* library, const tilesmith_problem* problem,
                                       tilesmith_plan** plan) {
  if (plan == nullptr) return null_argument("tilesmith_plan_create", "plan");
  *plan = nullptr;
  if (library == nullptr) return null_argument("tilesmith_plan_create", "library");
  if (problem == nullptr) return null_argument("tilesmith_plan_create", "problem");
  if (problem->type == nullptr) return null_argument("tilesmith_plan_create", "problem->type");
  if (problem->transposes == nullptr) return null_argument("tilesmith_plan_create", "problem->transposes");
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
  *explanation = tilesmith_explanation{"", "", "", "", "", "", 0, 0, {}};
  if (plan == nullptr) return null_argument("tilesmith_plan_explain", "plan");
  const tilesmith::Explanation& why = plan->plan.explain();
  *explanation = {why.rung.c_str(),  why.config.c_str(), why.reason.c_str(), why.measured.c_str(),
                  why.trust.c_str(), why.kernel.c_str(), why.median_us, why.predicted_us, {}};
  return TILESMITH_OK;
}

tilesmith_status tilesmith_plan_run(const tilesmith_plan* plan, struct CUstream_st* stream, const void* alpha,
                                    const void* a, const void* b, const void* beta, void* c, void* workspace) {
  if (plan == nullptr) return null_argument("tilesmith_plan_run", "plan");
  if (alpha == nullptr) return null_argument("tilesmith_plan_run", "alpha");
  if (beta == nullptr) return null_argument("tilesmith_plan_run", "beta");
  return guarded([&] {
    const tilesmith::Scalar scale = plan->plan.problem().type.scale;
    plan->plan.run(stream, read_scale(alpha, scale), a, b, read_scale(beta, scale), c, workspace);
  });
}

}  // extern "C"
