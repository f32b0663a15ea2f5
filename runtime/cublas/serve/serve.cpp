#include "runtime/cublas/serve/serve.hpp"

#include "runtime/cublas/calls/gemm_call.hpp"
#include "runtime/cublas/serve/compare.hpp"
#include "runtime/cublas/shim/cuda_driver.hpp"
#include "runtime/cublas/shim/settings.hpp"
#include "runtime/cublas/shim/shim_state.hpp"
#include "runtime/cublas/shim/tilesmith_api.hpp"

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
  if (stream(handle, &call.stream) != kSuccess || pointer_mode(handle, &pointers) != kSuccess ||
      math_mode(handle, &call.math) != kSuccess)
    return false;
  call.device_scalars = pointers == kPointersToDevice;
  return pointers == kPointersToHost || pointers == kPointersToDevice;
}

void count(CallCounts& counts, Reason reason) noexcept {
  counts[std::size_t(reason)].fetch_add(1, std::memory_order_relaxed);
}

constexpr std::uintptr_t kWorkspaceAlign = 256;

Reason run_plan(KnownProblem& problem, const GemmCall& call, void* workspace) {
  Scalars scalars;
  tilesmith_run run = run_of(call, scalars);
  run.workspace = workspace;
  if (problem.key.problem.beta_is_zero != 0)
    run.operands[TILESMITH_C] = nullptr;  // not read; cuBLASLt's callers leave anything there
  const TilesmithApi& api = *opened_tilesmith_api();
  const tilesmith_status status = api.plan_run(problem.plan, call.stream, &run);
  if (status == TILESMITH_OK) return Reason::none;
  // Of these operands: cuBLAS may judge them otherwise.
  if (status == TILESMITH_BAD_ARGUMENT || status == TILESMITH_MISALIGNED) return Reason::bad_arguments;
  problem.reason.store(Reason::run_failed, std::memory_order_relaxed);
  if (problem.state.exchange(State::forward) == State::take) {
    const std::string why = api.last_error();
    say("%s: forwarded from now on: %s", line_of(problem).c_str(), why.c_str());
  }
  return Reason::run_failed;
}

/// A run of our plan in the place of cuBLAS's. Reason::none: it was enqueued. Else nothing was, or nothing that
/// matters: D is as it was. Precondition: the state is `take`.
Reason take_over(KnownProblem& problem, const GemmCall& call) {
  if (problem.workspace_bytes == 0) return run_plan(problem, call, nullptr);
  // The application's workspace is for this very stream. What is allocated here would stay part of a captured graph.
  const bool fits = call.workspace_bytes >= problem.workspace_bytes &&
                    reinterpret_cast<std::uintptr_t>(call.workspace) % kWorkspaceAlign == 0;
  if (call.workspace != nullptr && fits) return run_plan(problem, call, call.workspace);
  if (problem.pool == nullptr || is_captured(call.stream)) return Reason::no_workspace;
  const StreamMemory memory(problem.pool, problem.workspace_bytes, call.stream);
  return memory.get() != nullptr ? run_plan(problem, call, memory.get()) : Reason::no_workspace;
}

constexpr std::uint64_t kMostTold = 10;  // differing calls, a line each

/// Device memory until the end of a scope. Waits for the device where it is given back.
class Buffer {
 public:
  explicit Buffer(std::size_t bytes) {
    if (cuda_driver()->alloc(&memory_, bytes) != 0) memory_ = 0;
  }
  ~Buffer() {
    if (memory_ != 0) cuda_driver()->free(memory_);
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  CudaAddress get() const { return memory_; }

 private:
  CudaAddress memory_ = 0;
};

CudaAddress address_of(const void* pointer) { return reinterpret_cast<std::uintptr_t>(pointer); }

/// TILESMITH_CUBLAS=check: the call is run by both, and the results are compared. The application gets cuBLAS's.
/// Reason::none: cuBLAS has served the call, and `status` is its own. Else the call is still to be forwarded.
Reason check(ShimState& state, KnownProblem& problem, const GemmCall& call, Forward forward, Status& status) {
  if (call.batch_kind == BatchKind::pointers || is_captured(call.stream)) return Reason::not_checked;
  const CudaDriver& driver = *cuda_driver();
  const std::int64_t elements = (call.batch - 1) * call.stride_d + (call.n - 1) * call.ldd + call.m;
  const std::size_t bytes = std::size_t(elements) * std::size_t(bytes_of(call.type_d));
  std::vector<unsigned char> ours(bytes), theirs(bytes);
  const Buffer separate(bytes);
  if (separate.get() == 0) return Reason::not_checked;
  // What lies between columns, and C where it is D, is part of what a run is given.
  if (driver.copy_within(separate.get(), address_of(call.d), bytes, call.stream) != 0) return Reason::not_checked;
  GemmCall apart = call;
  apart.d = reinterpret_cast<void*>(std::uintptr_t(separate.get()));
  if (call.c == call.d) apart.c = apart.d;
  if (const Reason reason = take_over(problem, apart); reason != Reason::none) return reason;
  status = forward();
  if (status != kSuccess) return Reason::none;
  if (driver.stream_synchronize(call.stream) != 0 || driver.copy_to_host(ours.data(), separate.get(), bytes) != 0 ||
      driver.copy_to_host(theirs.data(), address_of(call.d), bytes) != 0) {
    say("%s: not compared: the device failed", line_of(problem).c_str());
    return Reason::none;
  }
  state.checked.fetch_add(1);
  const Comparison compared = compare(call, problem.key, ours, theirs);
  if (compared.differing == 0) return Reason::none;
  if (state.differing.fetch_add(1) < kMostTold) {
    say("%s: %lld of %lld results differ; the first: entry %lld, row %lld, column %lld of D as cuBLAS sees it: %g "
        "here, %g by cuBLAS, tolerance %g",
        line_of(problem).c_str(), static_cast<long long>(compared.differing),
        static_cast<long long>(call.m * call.n * call.batch), static_cast<long long>(compared.entry),
        static_cast<long long>(compared.row), static_cast<long long>(compared.column), compared.ours, compared.theirs,
        compared.tolerance);
  }
  return Reason::none;
}

/// Reason::none: it was taken over.
Reason serve_known(
    ShimState& state, KnownProblem& problem, GemmCall& call, Handle handle, Forward forward, Status& status) {
  if (settings().mode == Mode::capture) {
    if (problem.calls[std::size_t(Reason::capture_mode)].load(std::memory_order_relaxed) == 0) state.planner.start();
    return Reason::capture_mode;
  }
  switch (problem.state.load(std::memory_order_acquire)) {
    case State::met: state.planner.ask(problem); [[fallthrough]];
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
