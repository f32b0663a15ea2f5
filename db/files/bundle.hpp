// A bundle: one read-only file with the best configs of one device, the generic kernels, and their cubins, which a
// runtime loads without NVRTC. Layout and version in bundle.cpp; checked by a hash before anything in it is used.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <string_view>
#include <vector>

#include "db/store/store.hpp"

namespace tilesmith::db {

struct Bundle {
  DeviceIdentity device;
  std::string arch;
  std::string made_at;
  std::vector<Record> bests;
  std::vector<KernelBuild> builds;       ///< of the bests and of the generic level
  std::vector<VendorTimes> vendor = {};  ///< what the vendor took beside the bests
};

/// Written to a temporary file, then renamed. Its cubins are compressed on all cores, which is what takes long:
/// `on_packed(done, total)` tells progress, on any thread, one at a time. Returns the file's bytes. Throws StoreError.
std::size_t save_bundle(
    const Bundle& bundle, const std::filesystem::path& path,
    const std::function<void(std::size_t, std::size_t)>& on_packed = [](std::size_t, std::size_t) {});
/// Throws StoreError with the reason (not a bundle, newer version, truncated, hash differs).
Bundle load_bundle(const std::filesystem::path& path);
bool is_bundle(const std::filesystem::path& path);

/// All cubins of a bundle together. One has at most 64 MiB.
inline constexpr std::size_t kLargestCubinsBytes = std::size_t{1} << 30;
/// The same of what was read already, out of a pipe too; `path` is for errors.
Bundle parse_bundle(
    std::string_view file, const std::filesystem::path& path, std::size_t cubins_bytes = kLargestCubinsBytes);
bool begins_as_bundle(std::string_view file);

}  // namespace tilesmith::db
