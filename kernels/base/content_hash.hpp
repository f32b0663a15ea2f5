// Names of contents: XXH3-128.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace tilesmith {

/// XXH3-128 as 32 hex digits, in canonical (big-endian) order: the same on every machine.
std::string content_hash(std::span<const std::byte> bytes);
inline std::string content_hash(std::string_view text) { return content_hash(std::as_bytes(std::span(text))); }

}  // namespace tilesmith
