// libtilesmith, opened when it is first needed. Were it linked, preloading the shim would bring its libraries into every program.
#pragma once

#include <string>

#include "runtime/cublas/serve/problem_table.hpp"
#include "runtime/interface/tilesmith.h"

namespace tilesmith::cublas {

struct TilesmithApi {
  decltype(&tilesmith_open_with_options) open_with_options;
  decltype(&tilesmith_plan_create) plan_create;
  decltype(&tilesmith_plan_explain) plan_explain;
  decltype(&tilesmith_plan_workspace_bytes) plan_workspace_bytes;
  decltype(&tilesmith_plan_run) plan_run;
  decltype(&tilesmith_problem_text) problem_text;
  decltype(&tilesmith_last_error) last_error;
};

/// Null: it is not there, which was told once. The first call takes long; it may come from one thread at a time.
const TilesmithApi* tilesmith_api() noexcept;
/// The same, once it was opened; never opens it.
const TilesmithApi* opened_tilesmith_api() noexcept;

/// A problem as messages name it: its line, or its sizes alone if the library refuses it. Precondition: the library was opened.
std::string line_of(const KnownProblem& problem);

}  // namespace tilesmith::cublas
