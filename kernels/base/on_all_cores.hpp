// Independent pieces of work, on all cores of the host.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>

namespace tilesmith {

/// Those that this process may run on, by its affinity and by the CPU quota of its control groups (group_limits.hpp,
/// which explains `root`), of which a part of a core is left out; at least 1.
int usable_cores(const std::filesystem::path& root = "/");

/// Calls work(i) once for each i < count, from as many threads as there are usable cores, the caller's among them, or
/// as many as can be had; returns when all have returned. The others give way to what times a device (nice 5). Pieces
/// are begun in order and must not touch what others write. What one throws is thrown here, after all threads have
/// ended; pieces that had not begun then may be left out.
void on_all_cores(std::size_t count, const std::function<void(std::size_t)>& work);

}  // namespace tilesmith
