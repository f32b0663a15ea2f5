// What the assembly of Trampolines.cmake defines and calls.
#pragma once

#include <cstddef>

extern "C" {
[[gnu::visibility("hidden")]] extern const char* const tilesmith_cublas_names[];
[[gnu::visibility("hidden")]] extern void* tilesmith_cublas_targets[];
/// The function that a name stands for, kept among the targets from then on.
[[gnu::visibility("hidden")]] void* tilesmith_cublas_resolve(std::size_t index);
}
