#include "tuner/recordings/uncompressed.hpp"

#include <zlib.h>

#include <algorithm>
#include <limits>
#include <new>
#include <stdexcept>
#include <vector>

#include "db/files/compress.hpp"

namespace tilesmith::tuner {
namespace {

constexpr std::size_t kLargestTextBytes = std::size_t{4} << 30;
constexpr int kGzipOnly = 16 + MAX_WBITS;  // no bare zlib streams

/// A decompressor that goes with its scope.
class Inflater {
 public:
  Inflater() {
    if (::inflateInit2(&stream_, kGzipOnly) != Z_OK) throw std::bad_alloc();
  }
  ~Inflater() { ::inflateEnd(&stream_); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;
  z_stream& stream() { return stream_; }

 private:
  z_stream stream_{};
};

}  // namespace

bool is_gzip(std::string_view bytes) { return bytes.substr(0, 2) == "\x1f\x8b"; }

std::optional<std::string> gunzip(std::string_view bytes, std::size_t limit_bytes) {
  Inflater inflater;
  z_stream& stream = inflater.stream();
  std::string content;
  std::vector<unsigned char> piece(std::size_t{1} << 18);
  while (!bytes.empty()) {
    // zlib counts in 32 bits and takes no const.
    const std::size_t given = std::min<std::size_t>(bytes.size(), std::numeric_limits<uInt>::max());
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
    stream.avail_in = uInt(given);
    int state = Z_OK;
    do {
      stream.next_out = piece.data();
      stream.avail_out = uInt(piece.size());
      state = ::inflate(&stream, Z_NO_FLUSH);
      if (state == Z_BUF_ERROR) return std::nullopt;  // cut short
      if (state != Z_OK && state != Z_STREAM_END) return std::nullopt;
      const std::size_t made = piece.size() - stream.avail_out;
      if (content.size() + made > limit_bytes) return std::nullopt;
      content.append(reinterpret_cast<const char*>(piece.data()), made);
    } while (state == Z_OK && (stream.avail_in > 0 || stream.avail_out == 0));
    bytes.remove_prefix(given - stream.avail_in);
    if (state == Z_STREAM_END) {
      if (bytes.empty()) return content;
      ::inflateReset(&stream);  // another member
    }
  }
  return std::nullopt;  // ended within a member, or empty
}

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
