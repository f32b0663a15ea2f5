#include "runtime/interface/sparse_source.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

#include "kernels/base/on_all_cores.hpp"

namespace tilesmith::runtime {
namespace {

template <typename Element>
void prune_all_tiles(const ElementFormat& format, const PruneTilesArgs& args) {
  constexpr long long kTilesOfPart = 4096;
  const long long tiles = tiles_of(args, group_elements(int(sizeof(Element))));
  on_all_cores(std::size_t((tiles + kTilesOfPart - 1) / kTilesOfPart), [&](std::size_t part) {
    const long long first = (long long)part * kTilesOfPart, last = std::min(tiles, first + kTilesOfPart);
    for (long long tile = first; tile < last; ++tile) prune_tile<Element>(args, tile, format);
  });
}

}  // namespace

ElementFormat element_format(Scalar element) {
  const int bytes = int(size_bytes(element));
  switch (element) {
    case Scalar::f16: return {bytes, 5, 10, true, true};
    case Scalar::bf16: return {bytes, 8, 7, true, true};
    case Scalar::tf32: return {bytes, 8, 23, true, true};
    case Scalar::e4m3: return {bytes, 4, 3, true, false};
    case Scalar::e5m2: return {bytes, 5, 2, true, true};
    default: return {bytes, 0, 0, element != Scalar::u8, false};
  }
}

void prune_tiles_on_host(Scalar element, const PruneTilesArgs& args) {
  const ElementFormat format = element_format(element);
  switch (format.bytes) {
    case 1: return prune_all_tiles<std::uint8_t>(format, args);
    case 2: return prune_all_tiles<std::uint16_t>(format, args);
    default: return prune_all_tiles<std::uint32_t>(format, args);
  }
}

std::string sparse_source(Scalar element) {
  const ElementFormat format = element_format(element);
  const std::size_t bytes = size_bytes(element);
  const char* storage = bytes == 1 ? "unsigned char" : bytes == 2 ? "unsigned short" : "unsigned";
  const unsigned sign = element == Scalar::u8 ? 0 : 1u << (8 * bytes - 1);
  return fmt::format(
      "namespace tilesmith {{\nusing Element = {};\nconstexpr unsigned kSign = {}u;\nconstexpr bool kTwosComplement = {};\n}}\n#define TILESMITH_ELEMENT_FORMAT {{{}, {}, {}, {}, {}}}\n#include \"kernels/sparse/sparse.cu\"\n",
      storage, sign, element == Scalar::s8, format.bytes, format.exponent_bits, format.fraction_bits, format.has_sign,
      format.has_infinity);
}

}  // namespace tilesmith::runtime
