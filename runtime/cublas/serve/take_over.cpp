#include "runtime/cublas/serve/take_over.hpp"

#include "runtime/cublas/shim/cuda_driver.hpp"
#include "runtime/cublas/shim/settings.hpp"
#include "runtime/cublas/shim/tilesmith_api.hpp"

namespace tilesmith::cublas {
namespace {

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

}  // namespace

Reason take_over(KnownProblem& problem, const GemmCall& call) {
  if (problem.workspace_bytes == 0) return run_plan(problem, call, nullptr);
  // The application's workspace is for this very stream. What is allocated here would stay part of a captured graph.
  const bool fits = call.workspace_bytes >= problem.workspace_bytes && reinterpret_cast<std::uintptr_t>(call.workspace) % kWorkspaceAlign == 0;
  if (call.workspace != nullptr && fits) return run_plan(problem, call, call.workspace);
  if (problem.pool == nullptr || is_captured(call.stream)) return Reason::no_workspace;
  const StreamMemory memory(problem.pool, problem.workspace_bytes, call.stream);
  return memory.get() != nullptr ? run_plan(problem, call, memory.get()) : Reason::no_workspace;
}

}  // namespace tilesmith::cublas
