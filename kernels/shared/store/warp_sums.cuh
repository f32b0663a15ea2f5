// Where a family's instruction leaves a warp's sums, as the ways to store them (epilogue.cuh) ask for it. A family says
// it by a class `Sums`:
//   kRowGroups            the warp's tile has 2 · 8 · kRowGroups rows, of which a thread holds 2 · kRowGroups
//   kColumns              columns of the warp's tile
//   row(i, r)             the tile's row of this thread's sums (i, r), i < kRowGroups, r < 2
//   row_of(i, r, g)       the same for the g-th of the 8 rows that the warp's threads hold together
//   kRowStep              row_of(i, r, g + 1) - row_of(i, r, g) if it is always the same, else 0
//   kRun, kRunsPerRow     of a row a thread holds kRunsPerRow runs of kRun neighbours; the four threads that hold one run each
//                         hold 4 · kRun columns that begin at a multiple of it, except where rows are dealt in words
//   first_column()        the tile's column where this thread's first run begins; offset(run): of the others, from there
//   get(i, r, run, sums)  fetches a run, sum(i, r, run, e) one of it, set(i, r, run, sums) changes it
//   kInPairs              a thread holds, of every 8 columns, two neighbours: those that are its number's in its quad
//   kSwapped              rows run along N, columns along M
//   kRowPairs             rows (i, 0) and (i, 1) of a thread are neighbours
#pragma once

namespace tilesmith {

// put(column, sums) for each run that the thread holds of that row, of the `columns` columns from `first` on.
template <typename Sums, typename Put>
__device__ __forceinline__ void each_run(const Sums& sums, int i, int r, int first, int columns, Put put) {
#pragma unroll
  for (int run = first / (4 * Sums::kRun); run < (first + columns) / (4 * Sums::kRun); ++run) {
    Accumulator of_run[Sums::kRun];
    sums.get(i, r, run, of_run);
    put(Sums::first_column() + Sums::offset(run), of_run);
  }
}

}  // namespace tilesmith
