// A plan run as applications call it: scales as doubles, failures as Errors.
#pragma once

#include "runtime/gemm.hpp"
#include "runtime/plan.hpp"

namespace tilesmith::runtime {

/// α, β and the pointers of one GEMM, as in GemmPlan::run().
struct Operands {
  double alpha = 1;
  const void* a = nullptr;
  const void* b = nullptr;
  double beta = 0;
  void* c = nullptr;
};

/// Launches the plan. Throws Error, or std::invalid_argument for scales that the type pair does not have, before anything is launched.
void run_plan(const Plan& plan, CUstream_st* stream, const Operands& operands, void* workspace, bool early_in_graphs);

/// The largest power of two, 16 at most, that divides the addresses that a run reads or writes.
int align_bytes_of(const Problem& problem, const Operands& operands) noexcept;

/// What is said of pointers that are not aligned.
Error misaligned(const Problem& problem);

}  // namespace tilesmith::runtime
