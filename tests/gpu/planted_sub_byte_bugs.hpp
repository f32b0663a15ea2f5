// Bugs planted in kernels of operands below a byte: which bits an element has, its sign, what lies beside K in a row's
// last byte. How bits are counted, too, and in the passes that turn and unpack them.
#pragma once

#include <vector>

#include "tests/gpu/planted_bug.hpp"
#include "tests/gpu/planted_simt_bugs.hpp"

namespace tilesmith::planted {

#define TILESMITH_SUB_BYTE_MMA(pack, turned, overlap, widen)                                                                  \
  "mma{inst_k=32,block_m=64,block_n=64,warp_m=32,warp_n=32,swap=0,block_k=64,stages=3,slice_k=1,frag_buffers=2,min_blocks=1," \
  "group_m=1,persistent=0,store_staged=0,split_k=1,reduction=0,copy_bytes=16,tma=0,pack=" #pack                               \
  ",pack_k_major=" #turned ",overlap=" #overlap ",early_launch=0,widen=" #widen "}"
#define TILESMITH_SUB_BYTE_WGMMA(pack, widen)                                                                                       \
  "wgmma{block_m=64,block_n=64,block_k=128,stages=3,warpgroups=1,schedule=0,even=0,stagger=0,cluster_m=1,cluster_n=1,min_blocks=1," \
  "group_m=1,store_staged=0,store_tma=0,swap=0,split_k=1,reduction=0,pack=" #pack ",early_launch=0,widen=" #widen "}"

inline constexpr const char* kBits = TILESMITH_SUB_BYTE_MMA(3, 0, 1, 0);
inline constexpr const char* kBitsTurned = TILESMITH_SUB_BYTE_MMA(3, 1, 1, 0);
inline constexpr const char* kUnpacked = TILESMITH_SUB_BYTE_MMA(3, 0, 1, 1);
inline constexpr const char* kUnpackedTurned = TILESMITH_SUB_BYTE_MMA(3, 1, 1, 1);
inline constexpr const char* kGroupBits = TILESMITH_SUB_BYTE_WGMMA(3, 0);
inline constexpr const char* kGroupUnpacked = TILESMITH_SUB_BYTE_WGMMA(3, 1);
inline constexpr const char* kGroupComplement = TILESMITH_SUB_BYTE_WGMMA(3, 2);
inline constexpr const char* kFragments = "wmma{warps_m=2,warps_n=2,frags_m=2,frags_n=2,slabs=2}";
#undef TILESMITH_SUB_BYTE_MMA
#undef TILESMITH_SUB_BYTE_WGMMA

inline std::vector<Bug> sub_byte_bugs() {
  const Edit padding_counts{"return size - at >= kOfByte ? byte :", "return size > 0 ? byte :"};
  const Edit padding_stays{"clear_beyond(words, k_ - at[i] * kOfByte);", ""};
  return {
      {"halves of a byte change places", "simt", kGeneric, "s4s32", kNN,
          {{"(byte >> x % kOfByte * kOperandBits", "(byte >> (kOfByte - 1 - x % kOfByte) * kOperandBits"}}},
      {"s4 is taken for u4", "simt", kGeneric, "s4s32", kNT,
          {{"if (kOperandIsSigned) bytes |=", "if (false) bytes |="}}},
      {"u4 is taken for s4", "simt", kGeneric, "u4s32", kTN,
          {{"if (kOperandIsSigned) bytes |=", "if (true) bytes |="}}},
      {"what lies beside an odd K counts", "simt", kGeneric, "u4s32", kNT, {padding_counts}},
      {"what lies beside K counts of XOR", "simt", kGeneric, "b1xors32", kNT, {padding_counts}},
      {"AND is counted, not XOR", "simt", kGeneric, "b1xors32", kTT, {{"kOperandIsXor ? a ^ b : a & b", "a & b"}}},
      {"XOR is counted, not AND", "simt", kGeneric, "b1s32", kNN, {{"kOperandIsXor ? a ^ b : a & b", "a ^ b"}}},
      {"what lies beside K counts in fragments", "wmma", 0, "b1xors32", kNT, {padding_counts}, kFragments},
      {"fragments of XOR count AND", "wmma", 0, "b1xors32", kTN,
          {{"kOperandIsXor ? wmma::experimental::bmmaBitOpXOR", "false ? wmma::experimental::bmmaBitOpXOR"}},
          kFragments},
      {"bits beyond K stay in packed rows", "mma", 0, "b1s32", kNT, {padding_stays}, kBits},
      {"bits beyond K stay in packed rows of XOR", "mma", 0, "b1xors32", kNT, {padding_stays}, kBits},
      {"the instruction counts AND, not XOR", "mma", 0, "b1xors32", kNT,
          {{"s32.b1.b1.s32.xor.popc", "s32.b1.b1.s32.and.popc"}}, kBits},
      {"a square of bits is turned by half", "mma", 0, "b1s32", kTN, {{"w[i + apart] ^= swapped;", ""}}, kBitsTurned},
      {"halves of a byte change places as they are unpacked", "mma", 0, "u4s32", kNT,
          {{"first = __byte_perm(even, odd, 0x5140);", "first = __byte_perm(odd, even, 0x5140);"}}, kUnpacked},
      {"odd elements are unpacked without their signs", "mma", 0, "s4s32", kTN,
          {{"odd |= (odd & 0x08080808) * 0x1e;", ""}}, kUnpackedTurned},
      {"u4 is unpacked with signs", "wgmma", 0, "u4s32", kNN,
          {{"if (kOperandIsSigned) {\n    even", "if (true) {\n    even"}}, kGroupUnpacked},
      {"bits beyond K stay in packed rows", "wgmma", 0, "b1s32", kNT, {padding_stays}, kGroupBits},
      {"rows and complements have bits beyond K", "wgmma", 0, "b1xors32", kNT,
          {{"clear_beyond(others, k_ - at * kOfByte);", ""}, padding_stays}, kGroupComplement},
      {"both operands' complements come first", "wgmma", 0, "b1xors32", kNN,
          {{"row_ + (kIsB ? half : 0) + at", "row_ + half + at"}, {"row_ + (kIsB ? 0 : half) + at", "row_ + at"}},
          kGroupComplement},
      {"turned words lie in their neighbour's place", "wgmma", 0, "s4s32", kNN,
          {{"tile[place(of_cols * kOfWord + i, of_k)] = w[i];",
              "tile[place(of_cols * kOfWord + (i ^ 1), of_k)] = w[i];"}},
          kGroupUnpacked},
  };
}

}  // namespace tilesmith::planted
