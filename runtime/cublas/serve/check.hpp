// TILESMITH_CUBLAS=check: a call that would be taken over is run by both, and the results are compared. The application gets cuBLAS's.
#pragma once

#include "runtime/cublas/serve/serve.hpp"
#include "runtime/cublas/shim/shim_state.hpp"

namespace tilesmith::cublas {

/// Reason::none: cuBLAS has served the call, and `status` is its own; both were compared. Else the call is still to be forwarded.
Reason check(ShimState& state, KnownProblem& problem, const GemmCall& call, Forward forward, Status& status);

}  // namespace tilesmith::cublas
