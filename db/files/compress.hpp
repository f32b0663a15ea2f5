// Compression (zstd) of blobs.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "kernels/base/content_hash.hpp"

namespace tilesmith::db {

using tilesmith::content_hash;

/// One zstd frame that states its content's size.
std::vector<std::byte> compress(std::span<const std::byte> bytes, int level = 6);

/// nullopt if it is no sound zstd stream, or if its content is larger than `limit_bytes`.
std::optional<std::vector<std::byte>> decompress(std::span<const std::byte> bytes, std::size_t limit_bytes);

/// Whether the bytes begin as a zstd frame does.
bool is_zstd(std::string_view bytes);

inline std::span<const std::byte> as_bytes(std::string_view text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}
inline std::string_view as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace tilesmith::db
