// Weights repacked in host memory by tilesmith_weights.h, and their layout by the words of that header.
#pragma once

#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "runtime/interface/tilesmith_weights.h"
#include "tests/catch.hpp"

namespace tilesmith::repacked {

struct Made {
  std::vector<unsigned char> codes, zeros, scales;
  tilesmith_status status = TILESMITH_OK;
  std::string error;
};

inline tilesmith_weights weights(const char* type, std::int64_t n, std::int64_t k, std::int64_t group,
    bool zeros = false, const char* scale = "f32") {
  tilesmith_weights made;
  REQUIRE(tilesmith_weights_init(&made, type, n, k, group, scale, zeros) == TILESMITH_OK);
  return made;
}

inline tilesmith_weights_source source(int format) {
  tilesmith_weights_source from;
  REQUIRE(tilesmith_weights_source_init(&from, format) == TILESMITH_OK);
  from.on_host = 1;
  return from;
}

template <typename T>
tilesmith_array array(const std::vector<T>& data, std::int64_t rows, std::int64_t columns, const char* type) {
  tilesmith_array made{data.data(), rows, columns, {}};
  std::strcpy(made.type, type);
  return made;
}

inline Made repack(const tilesmith_weights& of, const tilesmith_weights_source& from) {
  tilesmith_weights_sizes sizes;
  REQUIRE(tilesmith_weights_bytes(&of, &sizes) == TILESMITH_OK);
  Made made;
  made.codes.resize(sizes.codes);
  made.scales.resize(sizes.scales);
  made.zeros.resize(sizes.zeros);
  made.status = tilesmith_weights_repack(nullptr, nullptr, &of, &from, made.codes.data(), made.scales.data(),
      sizes.zeros != 0 ? made.zeros.data() : nullptr);
  made.error = made.status == TILESMITH_OK ? "" : tilesmith_last_error();
  return made;
}

inline float f32_at(const std::vector<unsigned char>& values, std::size_t index) {
  float value;
  std::memcpy(&value, values.data() + 4 * index, 4);
  return value;
}

/// By the header's words: each lane's fragments in turn. `code`: of a row and column that there are.
inline std::vector<unsigned char> canonical(int bits, std::int64_t n, std::int64_t k, int padding,
    const std::function<unsigned(std::int64_t, std::int64_t)>& code) {
  const std::int64_t columns = bits == 4 ? 64 : 32, across = (k + columns - 1) / columns;
  std::vector<unsigned char> bytes(std::size_t(512 * ((n + 15) / 16) * across));
  for (std::size_t block = 0; block < bytes.size() / 512; ++block) {
    const std::int64_t row0 = std::int64_t(block) / across * 16, column0 = std::int64_t(block) % across * columns;
    for (int lane = 0; lane < 32; ++lane) {
      unsigned char* const of_lane = bytes.data() + block * 512 + std::size_t(lane) * 16;
      const int g = lane / 4, t = lane % 4;
      for (int step = 0; step < columns / 16; ++step) {
        const auto value = [&](int i, int hi) {
          const std::int64_t row = row0 + g + (i % 2 == 1 ? 8 : 0),
                             column = column0 + step * 16 + 2 * t + hi + (i >= 2 ? 8 : 0);
          return row < n && column < k ? code(row, column) : unsigned(padding);
        };
        if (bits == 4) {
          std::uint32_t word = 0;
          for (int i = 0; i < 4; ++i) word |= value(i, 0) << (4 * i) | value(i, 1) << (4 * (i + 4));
          for (int b = 0; b < 4; ++b) of_lane[4 * step + b] = (unsigned char)(word >> (8 * b));
        } else {
          for (int i = 0; i < 4; ++i) {
            of_lane[8 * step + 2 * i] = (unsigned char)value(i, 0);
            of_lane[8 * step + 2 * i + 1] = (unsigned char)value(i, 1);
          }
        }
      }
    }
  }
  return bytes;
}

/// The same of weights of 4 bits for an A of 8 bits.
inline std::vector<unsigned char> canonical8(
    std::int64_t n, std::int64_t k, int padding, const std::function<unsigned(std::int64_t, std::int64_t)>& code) {
  const std::int64_t across = (k + 63) / 64;
  std::vector<unsigned char> bytes(std::size_t(512 * ((n + 15) / 16) * across));
  for (std::size_t word = 0; word < bytes.size() / 4; ++word) {
    const std::int64_t block = std::int64_t(word) / 128, lane = std::int64_t(word) / 4 % 32, of_lane = word % 4;
    const std::int64_t g = lane / 4, t = lane % 4, c = 64 * (block % across) + 32 * (of_lane / 2);
    std::uint32_t value = 0;
    for (int nibble = 0; nibble < 8; ++nibble) {
      const std::int64_t row = 16 * (block / across) + g + (nibble < 4 ? 0 : 8),
                         column = c + 4 * t + (of_lane % 2 == 0 ? 0 : 16) + nibble % 4;
      value |= (row < n && column < k ? code(row, column) : unsigned(padding)) << (4 * nibble);
    }
    for (int b = 0; b < 4; ++b) bytes[4 * word + std::size_t(b)] = (unsigned char)(value >> (8 * b));
  }
  return bytes;
}

inline unsigned any(std::int64_t i, std::int64_t j, unsigned below) {
  return unsigned((std::uint64_t(i) * 2654435761u + std::uint64_t(j) * 40503u + 12345u) >> 7) % below;
}

inline std::vector<float> some_scales(std::int64_t groups, std::int64_t n) {
  std::vector<float> made;
  for (std::int64_t i = 0; i < groups * n; ++i) made.push_back(float(i) / 64 - 1);
  return made;
}

}  // namespace tilesmith::repacked
