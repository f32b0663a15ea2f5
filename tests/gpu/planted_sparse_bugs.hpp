// Bugs planted in kernels whose A or B is 2:4 sparse.
#pragma once

#include <vector>

#include "tests/gpu/planted_bug.hpp"
#include "tests/gpu/planted_simt_bugs.hpp"

namespace tilesmith::planted {

inline constexpr const char* kSparseMma =
    "mma{inst_k=16,block_m=64,block_n=32,warp_m=32,warp_n=16,swap=0,block_k=64,stages=3,slice_k=1,frag_buffers=2,min_blocks=1,group_m=1,"
    "persistent=0,store_staged=0,split_k=1,reduction=0,copy_bytes=16,tma=0,pack=0,pack_k_major=0,overlap=0,early_launch=0}";
inline constexpr const char* kSparseMmaOfBytes =
    "mma{inst_k=32,block_m=32,block_n=64,warp_m=16,warp_n=32,swap=1,block_k=128,stages=3,slice_k=1,frag_buffers=1,min_blocks=1,group_m=1,"
    "persistent=0,store_staged=0,split_k=1,reduction=0,copy_bytes=16,tma=0,pack=0,pack_k_major=0,overlap=0,early_launch=0}";
inline constexpr const char* kSparseWgmma =
    "wgmma{block_m=128,block_n=64,block_k=64,stages=4,warpgroups=2,schedule=0,even=0,stagger=0,cluster_m=1,cluster_n=1,min_blocks=1,group_m=1,"
    "store_staged=0,store_tma=0,swap=0,split_k=1,reduction=0,pack=0,early_launch=0}";
inline constexpr const char* kSparseWgmmaOfB =
    "wgmma{block_m=32,block_n=64,block_k=128,stages=4,warpgroups=1,schedule=0,even=0,stagger=0,cluster_m=1,cluster_n=1,min_blocks=1,group_m=1,"
    "store_staged=0,store_tma=0,swap=1,split_k=1,reduction=0,pack=0,early_launch=0}";

inline Bug sparse_bug(const char* name, const char* family, const char* type, Sparsity sparsity,
    std::vector<Edit> edits, const char* config = nullptr) {
  return {name, family, config == nullptr ? kGeneric : 0, type, kNT, std::move(edits), config, "linear",
      BatchMode::single, Scalars::host, nullptr, sparsity};
}

inline std::vector<Bug> sparse_bugs() {
  return {
      sparse_bug("the metadata are those of the neighbour's group", "simt", "f16f32", Sparsity::a,
          {{"metadata_place(x, k / kGroup, sparse.row_blocks", "metadata_place(x, k / kGroup ^ 1, sparse.row_blocks"}}),
      sparse_bug("the metadata are those of the row eight above", "simt", "s8s32", Sparsity::b,
          {{"high = int(row % kMetadataRows / 8)", "high = int(row * 0)"}}),
      sparse_bug("the places of a group are exchanged", "simt", "bf16f32", Sparsity::b,
          {{"if (place_in_group(bits, i, kBytes) == k % kGroup)",
              "if (place_in_group(bits, 1 - i, kBytes) == k % kGroup)"}}),
      sparse_bug("the second element of a pair is taken for the first", "simt", "tf32f32", Sparsity::a,
          {{"int(bits >> 1 & 1)", "int(bits >> 4 & 1)"}}),
      sparse_bug("the selector is always the first", "mma", "f16f32", Sparsity::a,
          {{"multiply_words<kSlabsOfWord - 1, Operand>", "multiply_words<0, Operand>"}}, kSparseMma),
      sparse_bug("both halves of dense rows are the first", "mma", "f16f32", Sparsity::a,
          {{"kRightLoads * slab_of_step(slab) + half);", "kRightLoads * slab_of_step(slab));"}}, kSparseMma),
      sparse_bug("metadata are those of the first step", "mma", "s8s32", Sparsity::b,
          {{"k_block_ += kNextStep / metadata_block_k(kElementBytes);", ""}}, kSparseMmaOfBytes),
      sparse_bug("stored elements run on by as many as dense ones", "mma", "f16f32", Sparsity::a,
          {{"TileWriter<TileA, kShareA> a;", "TileWriter<TileA, 1> a;"}}, kSparseMma),
      sparse_bug("the selector is always the first", "wgmma", "f16f32", Sparsity::a,
          {{"multiply<Narrow, 1>", "multiply<Narrow, 0>"}}, kSparseWgmma),
      sparse_bug("all warps take the first one's metadata", "wgmma", "bf16f32", Sparsity::a,
          {{"(kGroupRows / kMetadataRows) + int(threadIdx.x / 32 % 4)", "(kGroupRows / kMetadataRows)"}}, kSparseWgmma),
      sparse_bug("K of the stored elements is half off", "wgmma", "f16f32", Sparsity::b,
          {{"k * Copies / Share", "k * Copies"}}, kSparseWgmmaOfB),
      sparse_bug("metadata of the last rows are not where the tile's are", "wgmma", "f16f32", Sparsity::a,
          {{"skipped = begin - first;", "skipped = 0;"}}, kSparseWgmma),
      sparse_bug("the metadata's second block along K is the first", "wgmma", "f16f32", Sparsity::b,
          {{"k / kMetadataBlockK + i, sparse.k_blocks - 1", "k / kMetadataBlockK, sparse.k_blocks - 1"}},
          kSparseWgmmaOfB),
  };
}

inline constexpr const char* kMmaOfBytes =
    "mma{inst_k=32,block_m=64,block_n=64,warp_m=32,warp_n=32,swap=0,block_k=64,stages=3,slice_k=1,frag_buffers=2,min_blocks=1,group_m=1,"
    "persistent=0,store_staged=0,split_k=1,reduction=0,copy_bytes=16,tma=0,pack=0,pack_k_major=0,overlap=0,early_launch=0}";

/// In the products of 8-bit floats by mma, dense and sparse: as sm_89.
inline std::vector<Bug> fp8_bugs() {
  const Edit e5m2_as_e4m3{"f32.e5m2.e5m2.f32", "f32.e4m3.e4m3.f32"},
      e4m3_as_e5m2{"f32.e4m3.e4m3.f32", "f32.e5m2.e5m2.f32"};
  const auto dense = [](const char* name, const char* type, Transposes trans, Edit edit) {
    return Bug{name, "mma", 0, type, trans, {edit}, kMmaOfBytes};
  };
  return {
      dense("e5m2 is multiplied as e4m3", "e5m2f32", kNT, e5m2_as_e4m3),
      dense("e4m3 is multiplied as e5m2", "e4m3f32bf16", kNT, e4m3_as_e5m2),
      dense("the odd rows of bytes are the even ones", "e4m3f32", {},
          {"pairs[2 * q + 1], 0x7531)", "pairs[2 * q + 1], 0x6420)"}),
      sparse_bug("sparse e5m2 is multiplied as e4m3", "mma", "e5m2f32", Sparsity::b,
          {{"\"m16n8k64\", \"f32.e5m2.e5m2.f32\"", "\"m16n8k64\", \"f32.e4m3.e4m3.f32\""}}, kSparseMmaOfBytes),
      sparse_bug("sparse e4m3 is multiplied as e5m2", "mma", "e4m3f32", Sparsity::b,
          {{"\"m16n8k64\", \"f32.e4m3.e4m3.f32\"", "\"m16n8k64\", \"f32.e5m2.e5m2.f32\""}}, kSparseMmaOfBytes),
      sparse_bug("metadata are those of the first step", "mma", "e4m3f32", Sparsity::b,
          {{"k_block_ += kNextStep / metadata_block_k(kElementBytes);", ""}}, kSparseMmaOfBytes),
      sparse_bug("both halves of dense rows are the first", "mma", "e5m2f32", Sparsity::b,
          {{"kRightLoads * slab_of_step(slab) + half);", "kRightLoads * slab_of_step(slab));"}}, kSparseMmaOfBytes),
  };
}

}  // namespace tilesmith::planted
