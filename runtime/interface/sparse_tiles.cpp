// kernels/sparse/tiles.cuh on the host.
#include <algorithm>
#include <cstdint>

#include "kernels/base/on_all_cores.hpp"
#include "runtime/interface/sparse_source.hpp"

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

}  // namespace tilesmith::runtime
