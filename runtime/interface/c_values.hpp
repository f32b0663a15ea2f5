// Values of the C interface as those of C++, and back. Texts, sizes and numbers come from outside and are checked here.
#pragma once

#include "runtime/interface/gemm.hpp"
#include "runtime/interface/tilesmith.h"

namespace tilesmith::runtime {

/// Throws Error (bad_argument) if a text or a number names nothing. It does not look for what problem_error() finds.
Problem to_problem(const tilesmith_problem& from);

/// Writes as many bytes as `to.size` says. What is packed is written as packed. Throws Error if a field that is needed
/// is behind that size.
void write_problem(const Problem& problem, tilesmith_problem& to);

/// Throws Error (bad_argument) if no version had this size, or if a field that this version does not have is not 0.
LibraryOptions to_options(const tilesmith_options& from);

/// A struct of this version. Throws as to_options().
tilesmith_run checked_run(const tilesmith_run& from);

/// Host scalars are read, exactly: every f32 and s32 is a double.
Operands to_operands(const tilesmith_run& run, const Problem& problem);

}  // namespace tilesmith::runtime
