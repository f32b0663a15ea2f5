// Values of the C interface as those of C++, and back. Texts, sizes and numbers come from outside and are checked here.
#pragma once

#include <cstring>
#include <string_view>

#include "runtime/interface/gemm.hpp"
#include "runtime/interface/tilesmith.h"

namespace tilesmith::runtime {

template <std::size_t Bytes>
std::string_view text_in(const char (&field)[Bytes]) {
  return {field, ::strnlen(field, Bytes)};
}

/// Throws Error (bad_argument) unless a struct has one of these sizes. `now`: in this version.
void check_size(const char* type, std::size_t size, std::size_t least, std::size_t most, std::size_t now);

/// The size of a problem of any version. Throws Error (bad_argument) if none had it.
std::size_t known_size(const tilesmith_problem& from);

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
