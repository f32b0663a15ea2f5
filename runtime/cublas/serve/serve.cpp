#include "runtime/cublas/serve/serve.hpp"

#include "runtime/cublas/serve/check.hpp"
#include "runtime/cublas/shim/cuda_driver.hpp"
#include "runtime/cublas/serve/handle_workspaces.hpp"
#include "runtime/cublas/calls/problem_key.hpp"
#include "runtime/cublas/shim/real_library.hpp"
#include "runtime/cublas/shim/settings.hpp"
#include "runtime/cublas/shim/shim_state.hpp"
#include "runtime/cublas/serve/take_over.hpp"

namespace tilesmith::cublas {
namespace {

[[gnu::tls_model("initial-exec")]] thread_local bool inside = false;

/// While it lives, calls of this thread are cuBLAS's own: it calls cuBLASLt, whose name is bound to the shim.
class Inside {
 public:
  Inside() noexcept { inside = true; }
  ~Inside() { inside = false; }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;
};

RealFunction<Status(Handle, Stream*)> get_stream{Library::cublas, "cublasGetStream_v2"};
RealFunction<Status(Handle, int*)> get_pointer_mode{Library::cublas, "cublasGetPointerMode_v2"};
RealFunction<Status(Handle, int*)> get_math_mode{Library::cublas, "cublasGetMathMode"};

/// False where cuBLAS does not tell.
bool ask_state(Handle handle, GemmCall& call) noexcept {
  auto* const stream = get_stream.get();
  auto *const pointer_mode = get_pointer_mode.get(), *const math_mode = get_math_mode.get();
  if (stream == nullptr || pointer_mode == nullptr || math_mode == nullptr) return false;
  int pointers = kPointersToHost;
  if (stream(handle, &call.stream) != kSuccess || pointer_mode(handle, &pointers) != kSuccess || math_mode(handle, &call.math) != kSuccess) return false;
  call.device_scalars = pointers == kPointersToDevice;
  return pointers == kPointersToHost || pointers == kPointersToDevice;
}

void count(CallCounts& counts, Reason reason) noexcept { counts[std::size_t(reason)].fetch_add(1, std::memory_order_relaxed); }

/// Reason::none: it was taken over.
Reason serve_known(ShimState& state, KnownProblem& problem, GemmCall& call, Handle handle, Forward forward, Status& status) {
  if (settings().mode == Mode::capture) {
    if (problem.calls[std::size_t(Reason::capture_mode)].load(std::memory_order_relaxed) == 0) state.planner.start();
    return Reason::capture_mode;
  }
  switch (problem.state.load(std::memory_order_acquire)) {
    case State::met:
      state.planner.ask(problem);
      [[fallthrough]];
    case State::waiting: return is_captured(call.stream) ? Reason::capturing : Reason::waiting;
    case State::forward: return problem.reason.load(std::memory_order_relaxed);
    case State::take: break;
  }
  if (problem.workspace_bytes > 0 && handle != nullptr) {
    const Workspace given = workspace_of(handle);
    call.workspace = given.memory;
    call.workspace_bytes = given.bytes;
  }
  if (settings().mode == Mode::check) return check(state, problem, call, forward, status);
  const Reason reason = take_over(problem, call);
  if (reason == Reason::none) status = kSuccess;
  return reason;
}

/// `handle`: of cuBLAS, or null. `reason`: why the call is to be forwarded in any case, or none.
Status serve(ShimState& state, GemmCall& call, Handle handle, Reason reason, Forward forward) noexcept {
  ProblemKey key;
  if (reason == Reason::none) reason = key_of(call, key);
  if (reason == Reason::none && settings().mode != Mode::capture) reason = device_of_thread(key.device);
  KnownProblem* problem = nullptr;
  Status status = kSuccess;
  try {
    if (reason == Reason::none) {
      problem = state.problems.find_or_add(key);
      reason = problem != nullptr ? serve_known(state, *problem, call, handle, forward, status) : Reason::too_many;
    }
  } catch (...) {  // out of memory
    reason = Reason::too_many;
  }
  count(problem != nullptr ? problem->calls : state.unkeyed, reason);
  return reason == Reason::none ? status : forward();
}

}  // namespace

bool is_wanted(Library library) noexcept { return !inside && settings().mode != Mode::off && has_real(library); }

Status serve_gemm(GemmCall& call, Handle handle, Forward forward) noexcept {
  ShimState* const state = shim_state();
  if (state == nullptr) return forward();
  const Inside now;
  const bool is_known = handle != nullptr && ask_state(handle, call);
  return serve(*state, call, handle, is_known ? Reason::none : Reason::bad_arguments, forward);
}

Status serve_matmul(GemmCall& call, Forward forward) noexcept {
  ShimState* const state = shim_state();
  if (state == nullptr) return forward();
  const Inside now;
  return serve(*state, call, nullptr, Reason::none, forward);
}

Status forward_because(Reason reason, Forward forward) noexcept {
  ShimState* const state = shim_state();
  const Inside now;
  if (state != nullptr) count(state->unkeyed, reason);
  return forward();
}

}  // namespace tilesmith::cublas
