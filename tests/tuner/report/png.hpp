// Reads the pictures that a browser takes: PNG, 8 bits, RGB or RGBA, not interlaced.
#pragma once

#include <zlib.h>

#include <cstdint>
#include <cstdlib>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

namespace tilesmith::tests {

struct Picture {
  std::size_t width = 0, height = 0;
  std::vector<std::uint32_t> pixels;  ///< 0xRRGGBB, row after row

  std::size_t colours() const { return std::set<std::uint32_t>(pixels.begin(), pixels.end()).size(); }
  /// The share of pixels that are not of the top left one's colour.
  double drawn() const {
    std::size_t other = 0;
    for (const std::uint32_t pixel : pixels) other += pixel != pixels.front() ? 1 : 0;
    return double(other) / double(pixels.size());
  }
};

inline Picture read_png(const std::string& file) {
  const auto byte = [&](std::size_t at) { return std::uint32_t(static_cast<unsigned char>(file.at(at))); };
  const auto number = [&](std::size_t at) {
    return byte(at) << 24U | byte(at + 1) << 16U | byte(at + 2) << 8U | byte(at + 3);
  };
  if (file.substr(0, 8) != "\x89PNG\r\n\x1a\n") throw std::runtime_error("no PNG file");
  Picture picture;
  std::string packed;
  std::size_t channels = 0;
  for (std::size_t at = 8; at + 12 <= file.size(); at += 12 + number(at)) {
    const std::string kind = file.substr(at + 4, 4);
    if (kind == "IHDR") {
      picture.width = number(at + 8);
      picture.height = number(at + 12);
      channels = byte(at + 17) == 2 ? 3 : byte(at + 17) == 6 ? 4 : 0;
      if (byte(at + 16) != 8 || channels == 0 || byte(at + 20) != 0) throw std::runtime_error("another kind of PNG");
    } else if (kind == "IDAT") {
      packed += file.substr(at + 8, number(at));
    }
  }
  const std::size_t row = picture.width * channels;
  std::vector<unsigned char> bytes((row + 1) * picture.height);
  uLongf size = bytes.size();
  if (uncompress(bytes.data(), &size, reinterpret_cast<const Bytef*>(packed.data()), packed.size()) != Z_OK ||
      size != bytes.size()) {
    throw std::runtime_error("a PNG that does not unpack");
  }
  std::vector<unsigned char> above(row), line(row);
  for (std::size_t y = 0; y < picture.height; ++y) {
    const unsigned char* filtered = &bytes[y * (row + 1)];
    for (std::size_t i = 0; i < row; ++i) {
      const int left = i >= channels ? line[i - channels] : 0, up = above[i];
      const int corner = i >= channels ? above[i - channels] : 0;
      const int near_left = std::abs(up - corner), near_up = std::abs(left - corner);
      const int near_corner = std::abs(left + up - 2 * corner);
      const int paeth = near_left <= near_up && near_left <= near_corner ? left : near_up <= near_corner ? up : corner;
      const int guess[] = {0, left, up, (left + up) / 2, paeth};
      line[i] = static_cast<unsigned char>(filtered[i + 1] + guess[filtered[0] % 5]);
    }
    for (std::size_t x = 0; x < row; x += channels) {
      picture.pixels.push_back(std::uint32_t(line[x]) << 16U | std::uint32_t(line[x + 1]) << 8U | line[x + 2]);
    }
    above.swap(line);
  }
  return picture;
}

}  // namespace tilesmith::tests
