// A run of our plan in the place of cuBLAS's.
#pragma once

#include "runtime/cublas/calls/gemm_call.hpp"
#include "runtime/cublas/serve/problem_table.hpp"

namespace tilesmith::cublas {

/// Reason::none: it was enqueued. Else nothing was, or nothing that matters: D is as it was. Precondition: the state is `take`.
Reason take_over(KnownProblem& problem, const GemmCall& call);

}  // namespace tilesmith::cublas
