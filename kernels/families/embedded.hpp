// The device sources, embedded in the binary at build time: an installed library needs no source tree.
#pragma once

#include <span>
#include <string_view>

namespace tilesmith {

struct EmbeddedFile {
  /// The name by which sources include it: path from the project root, "kernels/shared/scale.cuh".
  std::string_view name;
  std::string_view text;
};

/// Every .cu and .cuh file under kernels/, for NVRTC's in-memory headers.
std::span<const EmbeddedFile> embedded_headers();

}  // namespace tilesmith
