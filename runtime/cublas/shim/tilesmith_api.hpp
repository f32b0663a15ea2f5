// libtilesmith, opened when it is first needed. Were it linked, preloading the shim would bring its libraries into
// every program.
#pragma once

#include <mutex>
#include <string>

#include "runtime/cublas/serve/problem_table.hpp"
#include "runtime/interface/tilesmith.h"

namespace tilesmith::cublas {

#define TILESMITH_API(X)       \
  X(open_with_options)         \
  X(open_default_with_options) \
  X(database) X(plan_create) X(plan_explain) X(plan_workspace_bytes) X(plan_run) X(problem_text) X(last_error)

struct TilesmithApi {
#define TILESMITH_DECLARE(name) decltype(&tilesmith_##name) name;
  TILESMITH_API(TILESMITH_DECLARE)
#undef TILESMITH_DECLARE
};

/// Null: it is not there, which was told once. The first call takes long; it may come from one thread at a time.
const TilesmithApi* tilesmith_api() noexcept;
/// The same, once it was opened; never opens it.
const TilesmithApi* opened_tilesmith_api() noexcept;
/// Held while shared libraries are loaded: a fork waits for it, since a child that begins in the middle of a dlopen has
/// a loader that is in the middle of it for ever. Timed, because the fork may itself come from within a dlopen.
std::timed_mutex& loading_libraries() noexcept;

/// A problem as messages name it: its line, or its sizes alone if the library refuses it. Precondition: the library was
/// opened.
std::string line_of(const KnownProblem& problem);

}  // namespace tilesmith::cublas
