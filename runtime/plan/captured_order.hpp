// What the next launch into a stream comes behind, and whether it may come early (Launch::overlaps_previous of a plan's
// first launch).
//
// In a stream it pays behind any kernel. In a CUDA graph it pays behind plans of such configs, and costs some 0.5 µs
// behind other kernels (H200; docs/notes/measuring.md); only LibraryOptions::early_in_graphs asks for it there.
//
// Threads: a thread knows only what it captured itself.
// Errors: what the driver does not tell is taken for something that does not pay.
#pragma once

#include "runtime/driver/driver.hpp"

namespace tilesmith::runtime {

struct StreamPlace {
  bool captured = false;
  bool early_pays = false;  ///< where captured: behind a kernel that remember_letting_kernel() was told of
};

/// Where the next launch into the stream comes. One driver call.
StreamPlace place_in(const Driver& driver, CUstream stream) noexcept;

/// Right after the launch, into a captured stream, of a kernel that lets the next one come early. One driver call.
void remember_letting_kernel(const Driver& driver, CUstream stream) noexcept;

}  // namespace tilesmith::runtime
