// Arrays of weights between host and device, for the tests that repack them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "runtime/driver/device.hpp"
#include "runtime/interface/tilesmith_weights.h"

namespace tilesmith::test {

template <typename T>
runtime::DeviceBuffer values_on_device(const std::vector<T>& values) {
  runtime::DeviceBuffer buffer(std::max<std::size_t>(16, values.size() * sizeof(T)));
  buffer.upload(std::as_bytes(std::span<const T>(values)));
  return buffer;
}

inline std::vector<unsigned char> bytes_from_device(const runtime::DeviceBuffer& buffer, std::size_t bytes) {
  std::vector<unsigned char> values(bytes);
  buffer.download(std::as_writable_bytes(std::span(values)));
  return values;
}

/// `type`: as tilesmith_array has it.
inline tilesmith_array array_of(const void* data, std::int64_t rows, std::int64_t columns, const char* type) {
  tilesmith_array made{data, rows, columns, {}};
  std::strcpy(made.type, type);
  return made;
}

}  // namespace tilesmith::test
