#include "tuner/recordings/uncompressed.hpp"

#include <cstddef>
#include <stdexcept>

#include "db/files/compress.hpp"
#include "tuner/recordings/gzip.hpp"

namespace tilesmith::tuner {
namespace {

constexpr std::size_t kLargestTextBytes = std::size_t{4} << 30;

}  // namespace

std::string uncompressed(std::string content) {
  if (is_gzip(content)) {
    auto plain = gunzip(content, kLargestTextBytes);
    if (!plain) throw std::runtime_error("the gzip stream is truncated or corrupt: expected a whole one");
    return *std::move(plain);
  }
  if (db::is_zstd(content)) {
    const auto plain = db::decompress(db::as_bytes(content), kLargestTextBytes);
    if (!plain) throw std::runtime_error("the zstd stream is truncated or corrupt: expected a whole one");
    return std::string(db::as_text(*plain));
  }
  return content;
}

}  // namespace tilesmith::tuner
