// What the C interface is given, as values of the C++ one. Texts and sizes come from outside and are checked here.
#pragma once

#include "runtime/interface/gemm.hpp"
#include "runtime/interface/tilesmith.h"

namespace tilesmith::runtime {

/// All 0 but for the texts, which find_type_pair() and parse_transposes() must know. Throws Error.
tilesmith_problem named_problem(const char* type, const char* transposes);

/// Throws Error (bad_argument) if a text or a reserved field is not what it may be. What problem_error() finds it does not look for.
Problem to_problem(const tilesmith_problem& from);

/// The first `size` bytes of the options as LibraryOptions{} has them; what this library does not know is 0. Throws Error.
void write_default_options(void* options, std::size_t size);

/// Throws Error (bad_argument) if the size is none that there was, or a field that this library does not know is not 0.
LibraryOptions to_options(const tilesmith_options& from);

/// Throws Error (bad_argument) as for options, and as take_scalars().
Operands to_operands(const tilesmith_run_args& from, const Problem& problem);
/// α and β, or where the problem has them in device memory. Throws Error (bad_argument) if one is null that is read.
void take_scalars(const Problem& problem, const void* alpha, const void* beta, Operands& operands);

/// α or β. Exact: every f32 and s32 is a double.
double read_scale(const void* value, Scalar type);

}  // namespace tilesmith::runtime
