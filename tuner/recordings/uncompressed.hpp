// What a file holds once decompressed: gzip and zstd, told by content, whatever the file's name.
#pragma once

#include <string>

namespace tilesmith::tuner {

/// Content that is not compressed comes back as it is. Throws std::runtime_error, one line without the file's name, if a stream is
/// truncated, corrupt or larger than 4 GiB once decompressed.
std::string uncompressed(std::string content);

}  // namespace tilesmith::tuner
