#include "kernels/base/content_hash.hpp"

#include <xxhash.h>

namespace tilesmith {

std::string content_hash(std::span<const std::byte> bytes) {
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical, XXH3_128bits(bytes.data(), bytes.size()));
  std::string hex;
  for (const unsigned char digits : canonical.digest) {
    hex += "0123456789abcdef"[digits >> 4];
    hex += "0123456789abcdef"[digits & 15];
  }
  return hex;
}

}  // namespace tilesmith
