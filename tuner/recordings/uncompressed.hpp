// What a file holds once decompressed: gzip and zstd, told by content, whatever the file's name.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace tilesmith::tuner {

/// Content that is not compressed comes back as it is. Throws std::runtime_error, one line without the file's name, if
/// a stream is truncated, corrupt or larger than 4 GiB once decompressed.
std::string uncompressed(std::string content);

/// Whether the bytes begin as a gzip file does.
bool is_gzip(std::string_view bytes);

/// All members' content, joined. nullopt if it is no sound gzip file, or if its content is larger than `limit_bytes`.
std::optional<std::string> gunzip(std::string_view bytes, std::size_t limit_bytes);

}  // namespace tilesmith::tuner
