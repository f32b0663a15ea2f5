#include "db/files/compress.hpp"

#include <fmt/format.h>
#include <zstd.h>

#include <memory>
#include <new>
#include <stdexcept>

namespace tilesmith::db {

std::vector<std::byte> compress(std::span<const std::byte> bytes, int level) {
  std::vector<std::byte> frame(ZSTD_compressBound(bytes.size()));
  const std::size_t size = ZSTD_compress(frame.data(), frame.size(), bytes.data(), bytes.size(), level);
  if (ZSTD_isError(size) != 0) throw std::runtime_error(fmt::format("zstd: {}", ZSTD_getErrorName(size)));
  frame.resize(size);
  return frame;
}

std::optional<std::vector<std::byte>> decompress(std::span<const std::byte> bytes, std::size_t limit_bytes) {
  // Streamed, so that neither a missing nor a lying size in the frame can make us allocate past the limit.
  const std::unique_ptr<ZSTD_DCtx, decltype(&ZSTD_freeDCtx)> context(ZSTD_createDCtx(), &ZSTD_freeDCtx);
  if (!context) throw std::bad_alloc();
  std::vector<std::byte> content;
  std::vector<std::byte> piece(ZSTD_DStreamOutSize());
  ZSTD_inBuffer in{bytes.data(), bytes.size(), 0};
  std::size_t expected = 1;  // 0 when a frame is complete and flushed
  while (in.pos < in.size || expected != 0) {
    ZSTD_outBuffer out{piece.data(), piece.size(), 0};
    const std::size_t before = in.pos;
    expected = ZSTD_decompressStream(context.get(), &out, &in);
    if (ZSTD_isError(expected) != 0) return std::nullopt;
    if (content.size() + out.pos > limit_bytes) return std::nullopt;
    content.insert(content.end(), piece.begin(), piece.begin() + std::ptrdiff_t(out.pos));
    if (in.pos == before && out.pos == 0 && expected != 0) return std::nullopt;  // cut short
  }
  return content;
}

bool is_zstd(std::string_view bytes) { return bytes.substr(0, 4) == "\x28\xb5\x2f\xfd"; }

}  // namespace tilesmith::db
