// The table that a process leaves on stderr at its end.
#pragma once

#include <string>

namespace tilesmith::cublas {

struct ShimState;

/// "" if cuBLAS was not called.
std::string report_text(ShimState& state);
void report(ShimState& state) noexcept;

}  // namespace tilesmith::cublas
