// The calls of this process as a workload (docs/tuning.md): see families.hpp.
#pragma once

namespace tilesmith::cublas {

/// Writes the file of TILESMITH_CAPTURE whole, if there were calls since it was last written. One thread at a time.
void write_capture_file() noexcept;

}  // namespace tilesmith::cublas
