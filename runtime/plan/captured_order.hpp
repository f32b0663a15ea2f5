// What the next launch into a stream comes behind, and whether it pays that it comes early (Launch::overlaps_previous of
// a plan's first launch).
//
// In a stream it pays behind kernels that let it come and behind others. In a CUDA graph it pays behind those that do, as
// plans of such configs, and costs some 0.5 µs behind others (H200; docs/notes/measuring.md). A capture knows what the next
// launch comes behind.
//
// Threads: what a thread captured, it alone knows of, so that what several threads capture in turns has fewer early
// launches, and may be no update of a graph that one captured. Errors: what the driver does not tell is taken for something
// that does not pay.
#pragma once

#include "runtime/driver/driver.hpp"

namespace tilesmith::runtime {

struct StreamPlace {
  bool captured = false;
  bool early_pays = false;
};

/// Where the next launch into the stream comes. One driver call.
StreamPlace place_in(const Driver& driver, CUstream stream) noexcept;

/// Right after the launch, into a captured stream, of a kernel that lets what comes behind it come early: place_in() knows it
/// from then on. One driver call.
void remember_letting_kernel(const Driver& driver, CUstream stream) noexcept;

}  // namespace tilesmith::runtime
