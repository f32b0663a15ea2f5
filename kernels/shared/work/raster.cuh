// Which tile of C a block computes. Tiles are walked in bands of `Group` tile rows, down a band's column first, so that
// the blocks running at one time share rows of A and columns of B in the L2.
//
//   Group = 2:   0 2 4 6        Group = 1:   0 1 2 3
//                1 3 5 7                     4 5 6 7
//                8 ...                       8 ...
#pragma once

namespace tilesmith {

struct TileIndex {
  int m;
  int n;
};

template <int Group>
__device__ __forceinline__ TileIndex tile_of_block(unsigned block, int tiles_m, int tiles_n) {
  const unsigned band_tiles = unsigned(Group) * unsigned(tiles_n);
  const unsigned band = block / band_tiles;
  const unsigned within = block - band * band_tiles;
  const int first_row = int(band) * Group;
  const unsigned rows = unsigned(min(Group, tiles_m - first_row));
  return {first_row + int(within % rows), int(within / rows)};
}

}  // namespace tilesmith
