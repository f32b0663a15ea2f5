#include "runtime/interface/run_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "runtime/driver/driver.hpp"

namespace tilesmith::runtime {
namespace {

Error misaligned(const Problem& problem) {
  return {ErrorCode::misaligned,
      fmt::format("an operand is not aligned: expected multiples of {} bytes (the problem's align_bytes) and of an "
                  "element, {} bytes of a, {} of b, "
                  "{} of c and d{}",
          problem.align_bytes, size_bytes(problem.type.a), size_bytes(problem.type.b), size_bytes(problem.type.output),
          in_use(problem, OperandRole::metadata, true, true) ? ", 16 of metadata" : "")};
}

Error launch_error(int code, const Plan& plan) {
  if (code == Plan::kMisaligned) return misaligned(plan.problem());
  if (code == Plan::kNullPointer)
    return {ErrorCode::bad_argument,
        "a, b, the output, offsets, metadata, device_alpha, device_beta, weight_scales, weight_zeros or one of the epilogue's vectors is null: expected device memory"};
  if (code == Plan::kOverlap)
    return {ErrorCode::bad_argument,
        "the output overlaps a, b, offsets, metadata, alpha or beta in device memory, scales or zeros of weights, a vector of the epilogue, or a c that lies elsewhere: expected memory of its own"};
  if (code == Plan::kCopiesRows)
    return {ErrorCode::bad_argument,
        "c is another matrix than d, or another array of pointers: expected a problem of groups or pointers with the epilogue c_apart, or with another one"};
  if (code == Plan::kMissingWorkspace) {
    return {ErrorCode::missing_workspace,
        fmt::format("no workspace, or one that is not aligned to 256 bytes: expected {} bytes, or a call of "
                    "reserve_workspace()",
            plan.workspace_bytes())};
  }
  const Driver* driver = driver_or_null();
  return {ErrorCode::device_failed, driver != nullptr ? describe(*driver, CUresult(code), "cuLaunchKernel")
                                                      : fmt::format("cuLaunchKernel: CUresult {}", code)};
}

/// What a former run reported.
void check_group_ends(int* fault) {
  if (fault == nullptr) return;
  std::atomic_ref<int> word(*fault);
  if (word.load(std::memory_order_relaxed) == 0) return;
  const int group = word.exchange(0) - 1;
  throw Error(ErrorCode::bad_argument,
      fmt::format(
          "in a grouped problem that ran before, group {} ended before the group ahead of it or behind M: expected offsets that do not "
          "decrease, up to M; this call launched nothing",
          group));
}

/// α and β are in one place or the other.
void check_scalars(const Problem& on, const Operands& operands) {
  if (on.scalars == Scalars::host) {
    if (operands.device_alpha == nullptr && operands.device_beta == nullptr) return;
    throw Error(ErrorCode::bad_argument,
        "device_alpha or device_beta is given: expected null, the problem takes alpha and beta from the host (scalars=host)");
  }
  if (operands.alpha == 1 && operands.beta == 0) return;
  throw Error(ErrorCode::bad_argument,
      fmt::format(
          "alpha is {} and beta {}: expected 1 and 0 as they are at first, the problem takes both from device memory (scalars=device)",
          operands.alpha, operands.beta));
}

}  // namespace

void check_aligned(const Problem& asked, const Problem& given) {
  const auto takes_more = [&](const OperandMatrix& one) {
    const bool of_bytes = one.role == OperandRole::b || one.role == OperandRole::weight_scales;
    return (has_weights(asked) && of_bytes) || asked.align_bytes < int(size_bytes(one.element));
  };
  if (std::ranges::all_of(operands(asked), takes_more)) throw misaligned(given);
}

void run_plan(
    const Plan& plan, CUstream_st* stream, const Operands& operands, void* workspace, const RunOptions& options) {
  const Problem& on = plan.problem();
  if (on.batch_mode == BatchMode::grouped) check_group_ends(options.group_fault);
  check_scalars(on, operands);
  if (operands.beta != 0 && on.beta == BetaClass::zero) {
    throw Error(
        ErrorCode::bad_argument, fmt::format("beta is {}: expected 0, the plan is for beta class zero", operands.beta));
  }
  RunArgs args;
  const void* const given[] = {operands.a, operands.b, operands.c, operands.d, operands.scale_m, operands.scale_n,
      operands.bias, operands.offsets, operands.device_alpha, operands.device_beta, operands.metadata,
      operands.weight_scales, operands.weight_zeros};
  static_assert(std::size(given) == kOperandRoleCount, "in the order of OperandRole");
  for (const OperandRole role : kOperandRoles) args.set(role, given[std::size_t(role)]);
  args.alpha = to_scale(on.type, operands.alpha);
  args.beta = to_scale(on.type, operands.beta);
  args.workspace = workspace;
  args.stream = stream;
  args.early_in_graphs = options.early_in_graphs;
  args.group_fault = options.group_fault;
  const int code = plan.run(args);
  if (code != 0) throw launch_error(code, plan);
}

BetaClass beta_class_of(const Problem& problem, const Operands& operands) noexcept {
  if (problem.scalars == Scalars::device) return problem.beta;
  return operands.beta == 0 ? BetaClass::zero : BetaClass::any;
}

int align_bytes_of(const Problem& problem, const Operands& operands) noexcept {
  if (problem.batch_mode == BatchMode::pointers) return problem.align_bytes;  // the host does not see them
  auto bits = std::uintptr_t{kDefaultAlignBytes} | reinterpret_cast<std::uintptr_t>(operands.d);
  if (beta_class_of(problem, operands) == BetaClass::any) bits |= reinterpret_cast<std::uintptr_t>(operands.c);
  if (problem.k > 0 && (problem.scalars == Scalars::device || operands.alpha != 0)) {
    bits |= reinterpret_cast<std::uintptr_t>(operands.a) | reinterpret_cast<std::uintptr_t>(operands.b);
    if (has_weights(problem)) bits |= reinterpret_cast<std::uintptr_t>(operands.weight_scales);
    if (problem.weights.zeros) bits |= reinterpret_cast<std::uintptr_t>(operands.weight_zeros);
  }
  return int(bits & (~bits + 1));
}

}  // namespace tilesmith::runtime
