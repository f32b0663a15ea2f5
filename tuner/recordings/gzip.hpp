// Reading gzip-compressed files.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace tilesmith::tuner {

/// Whether the bytes begin as a gzip file does.
bool is_gzip(std::string_view bytes);

/// All members' content, joined. nullopt if it is no sound gzip file, or if its content is larger than `limit_bytes`.
std::optional<std::string> gunzip(std::string_view bytes, std::size_t limit_bytes);

}  // namespace tilesmith::tuner
