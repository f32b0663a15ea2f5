// Independent pieces of work, on all cores of the host.
#pragma once

#include <cstddef>
#include <functional>

namespace tilesmith {

/// Calls work(i) once for each i < count, from as many threads as the host has cores, the caller's among them; returns when
/// all have returned. Pieces are begun in order and must not touch what others write. What one throws is thrown here, after
/// all threads have ended; pieces that had not begun then may be left out.
void on_all_cores(std::size_t count, const std::function<void(std::size_t)>& work);

}  // namespace tilesmith
