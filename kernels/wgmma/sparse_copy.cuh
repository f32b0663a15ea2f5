// What the copying warp fills the ring with (copy.cuh) where the left operand is 2:4 sparse: half as many of its elements along K, and their
// metadata. Each block of a cluster copies these for itself.
#pragma once

namespace tilesmith {

// A panel's rows that this block copies, panel by panel, to all that share the tile.
template <typename Tile, int Sharers>
__device__ __forceinline__ void copy_tile(unsigned tile, const TensorMap& map, int col, int row, unsigned full, unsigned part,
                                          unsigned short blocks) {
  const unsigned first = Sharers == 1 ? 0 : part * Tile::kCopiedRows;
#pragma unroll
  for (int panel = 0; panel < Tile::kPanels; ++panel) {
    const unsigned to = tile + unsigned(panel * Tile::kPanelBytes) + first * Tile::kRowBytes;
    if constexpr (Sharers == 1) {
      copy_box(to, map, col + panel * Tile::kPanelCols, row, full);
    } else {
      copy_box_to_blocks(to, map, col + panel * Tile::kPanelCols, row + int(first), full, blocks);
    }
  }
}

// As in copy.cuh.
class Tiles {
 public:
  __device__ __forceinline__ Tiles(const TensorGemmArgs& args, const WorkList& list, const ClusterPlace& cluster)
      : args_(args), list_(list), cluster_(cluster) {
    row_blocks_ = (unsigned short)(((1u << kClusterN) - 1) << cluster.m * kClusterN);
    column_blocks_ = 0;
#pragma unroll
    for (int m = 0; m < kClusterM; ++m) column_blocks_ |= (unsigned short)(1u << (m * kClusterN + cluster.n));
  }

  __device__ __forceinline__ unsigned first() const { return cluster_.first; }
  __device__ __forceinline__ unsigned step() const { return cluster_.step; }
  __device__ __forceinline__ unsigned count() const { return list_.count(); }
  // In every other round backwards through K.
  __device__ __forceinline__ ItemWork at(unsigned item) const {
    ItemWork work = cluster_.place(list_.at(item));
    if (kPersistent && item / cluster_.step % 2 != 0) {
      work.k0 = -(work.steps() - 1) * kNextStep;
      work.k = 1;
    }
    return work;
  }
  __device__ __forceinline__ unsigned step_bytes() const { return tilesmith::step_bytes(sparse_of(args_.gemm)); }

  __device__ __forceinline__ void copy(const Work& work, int step_k, unsigned stage, unsigned full) const {
    const int k = step_k < 0 ? -step_k : step_k;
    const int left0 = kSwap ? work.n0 : work.m0, right0 = kSwap ? work.m0 : work.n0;
    copy_tile<LeftTile, kLeftSharers>(stage, kSwap ? args_.b : args_.a, k / 2, left0, full, kSwap ? cluster_.m : cluster_.n,
                                      kSwap ? column_blocks_ : row_blocks_);
    copy_tile<RightTile, kRightSharers>(stage + LeftTile::kBytes, kSwap ? args_.a : args_.b, RightTile::kKMajor ? k : right0,
                                        RightTile::kKMajor ? right0 : k, full, kSwap ? cluster_.n : cluster_.m,
                                        kSwap ? row_blocks_ : column_blocks_);
    copy_metadata(left0, k, stage + unsigned(kMetadataAt), full);
  }

 private:
  // Behind the last of K there is none, and elements are zeros: any will do.
  __device__ __forceinline__ void copy_metadata(int left0, int k, unsigned to, unsigned full) const {
    const SparseArgs sparse = sparse_of(args_.gemm);
    const MetadataRows rows(sparse, left0);
    const unsigned bytes = unsigned(rows.count) * (kMetadataWords * 4);
#pragma unroll
    for (int i = 0; i < kMetadataSteps; ++i) {
      const int k_block = min(k / metadata_block_k(kElementBytes) + i, sparse.k_blocks - 1);
      const long long word = ((long long)k_block * sparse.row_blocks + rows.first) * kMetadataWords;
      copy_bytes(to + unsigned(i) * bytes, static_cast<const unsigned*>(sparse.metadata) + word, bytes, full);
    }
  }

  const TensorGemmArgs& args_;
  const WorkList& list_;
  const ClusterPlace& cluster_;
  unsigned short row_blocks_, column_blocks_;
};

}  // namespace tilesmith
