// How the columns of C are dealt among the tiles of persistent blocks (parameter `even`). The host reads this file too.
// (Where operands are swapped, rows are: what is said of rows here holds for columns, and the other way round.)
//
// Tiles of one size rarely fill the last round: 4096 × 4096 by 128 × 256 on 132 blocks are 3.88 rounds, and 16 blocks
// end early. As many more tiles as these have room for make all narrower: rows of tiles get one more, or several, some
// of them one more than the others, and the widths within a row differ by kEvenStep at most. An instruction that is
// narrower than the widest tile by as much multiplies all but the widest.
//
//   rows of `few_` tiles    ┌──────┬──────┬─────┬─────┐      Wide ones first, and so the rows of fewer. Blocks take tiles in
//                           ├──────┼──────┼─────┼─────┤      turn, and get about as many wide ones each; where a band of rows
//   rows of one more        ├─────┬────┬────┬────┬────┤      takes whole rounds, some may get nothing but wide ones.
//                           └─────┴────┴────┴────┴────┘
#pragma once

#include "kernels/shared/host_device.cuh"

namespace tilesmith {

constexpr int kEvenStep = 16;  // columns; tiles begin at multiples of it

struct EvenTile {
  int row;          // of tiles
  int first, last;  // columns: from `first` on, before `last`
};

class EvenTiles {
 public:
  //   rows    of tiles
  //   width   the most columns of a tile, a multiple of kEvenStep and at least two of it
  //   group   rows of tiles walked together, down a column first (shared/work/raster.cuh)
  //   blocks  that run at a time
  TILESMITH_HOST_DEVICE EvenTiles(int rows, int n, int width, int group, unsigned blocks)
      : rows_(rows), n_(n), group_(group) {
    const int fewest = (n - 1) / width + 1, most = (n - 1) / (width - kEvenStep) + 1;  // all wide, all narrow
    const unsigned tiles = unsigned(rows) * unsigned(fewest);
    const int room = int(blocks - 1 - (tiles - 1) % blocks);  // of the last round
    few_ = fewest + room / rows;
    rows_of_few_ = rows - room % rows / group * group;
    if (few_ >= most) {
      few_ = most;
      rows_of_few_ = rows;
    }
  }

  TILESMITH_HOST_DEVICE unsigned count() const {
    return unsigned(rows_) * unsigned(few_) + unsigned(rows_ - rows_of_few_);
  }

  TILESMITH_HOST_DEVICE EvenTile at(unsigned number) const {
    const unsigned of_few = unsigned(rows_of_few_) * unsigned(few_);
    const bool more = number >= of_few;
    const int tiles = few_ + int(more), first_row = more ? rows_of_few_ : 0,
              rows = more ? rows_ - rows_of_few_ : rows_of_few_;
    if (more) number -= of_few;
    const unsigned band_tiles = unsigned(group_) * unsigned(tiles), band = number / band_tiles;
    const int rows_left = rows - int(band) * group_, band_rows = rows_left < group_ ? rows_left : group_;
    const int within = int(number - band * band_tiles), column = within / band_rows;
    const int row = first_row + int(band) * group_ + within - column * band_rows;
    const int steps = (n_ - 1) / kEvenStep + 1, each = steps / tiles, wide = steps - each * tiles;
    const int first = (column * each + (column < wide ? column : wide)) * kEvenStep;
    const int last = first + (each + int(column < wide)) * kEvenStep;
    return {row, first, last < n_ ? last : n_};
  }

 private:
  int rows_, n_, group_;
  int few_, rows_of_few_;
};

}  // namespace tilesmith
