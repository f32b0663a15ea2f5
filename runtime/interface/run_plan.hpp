// A plan run as applications call it: scales as doubles, failures as Errors.
#pragma once

#include "runtime/interface/gemm.hpp"
#include "runtime/plan/plan.hpp"

namespace tilesmith::runtime {

/// What a library gives to the runs of all its plans.
struct RunOptions {
  bool early_in_graphs = false;
  int* group_fault = nullptr;  ///< as RunArgs has it
};

/// Launches the plan. Throws Error before anything is launched, std::invalid_argument if the scale type cannot hold α
/// or β. A wrong end that a kernel of a grouped problem reported since the last call is thrown once.
void run_plan(
    const Plan& plan, CUstream_st* stream, const Operands& operands, void* workspace, const RunOptions& options);

/// The beta class of a run: what β on the host is; the problem's where β lies in device memory.
BetaClass beta_class_of(const Problem& problem, const Operands& operands) noexcept;

/// The largest power of two, 16 at most, that divides the addresses that a run reads or writes.
int align_bytes_of(const Problem& problem, const Operands& operands) noexcept;

/// `asked`: the problem with the alignment of a call's pointers. Throws Error (misaligned) if that is less than an
/// element of every operand but codes of weights.
void check_aligned(const Problem& asked, const Problem& given);

}  // namespace tilesmith::runtime
