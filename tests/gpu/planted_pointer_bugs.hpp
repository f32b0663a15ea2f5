// Bugs planted in kernels of batches whose matrices are found by pointers.
#pragma once

#include <vector>

#include "tests/gpu/planted_batch_bugs.hpp"

namespace tilesmith::planted {

inline Bug pointer_bug(const char* name, const char* family, const char* type, Transposes trans,
    std::vector<Edit> edits, const char* config = nullptr, const char* epilogue = "linear") {
  return {name, family, config == nullptr ? kGeneric : 0, type, trans, std::move(edits), config, epilogue,
      BatchMode::pointers};
}

inline std::vector<Bug> pointer_bugs() {
  constexpr const char* kLookUp = "return static_cast<const Element* const*>(matrices)[entry];";
  return {
      pointer_bug("every second pointer is read", "simt", "f16f32", kNN,
          {{kLookUp, "return static_cast<const Element* const*>(matrices)[entry / 2 * 2];"}}),
      pointer_bug("A is the first entry's", "simt", "s8s32", kTN,
          {{"matrix_of_entry<Operand>(batch.a, batch.stride_a, entry)",
              "matrix_of_entry<Operand>(batch.a, batch.stride_a, 0)"}}),
      pointer_bug("entries that share a block have the first one's B", "simt", "f32f32", kNT,
          {{"batch.stride_b, entry)", "batch.stride_b, entry - threadIdx.y)"}}, kEntriesOfBlock),
      pointer_bug("C is looked up in D's array", "mma", "bf16f32bf16", kNT,
          {{"matrix_of_entry<Output>(batch.c,", "matrix_of_entry<Output>(batch.d,"}}, kPlain, "bias_n+relu"),
      pointer_bug("slices of all entries become the one before", "mma", "f16f32", kNN,
          {{kLookUp, "return static_cast<const Element* const*>(matrices)[entry == 0 ? 0 : entry - 1];"}},
          kSplitSummed),
      pointer_bug("packed copies of all entries are the first", "mma", "f16f32", kTN,
          {{"return static_cast<const Element*>(matrices) + entry * stride;",
              "return static_cast<const Element*>(matrices);"}},
          kPacked),
      pointer_bug("D is the first entry's and those behind it", "wgmma", "bf16f32bf16", kNT,
          {{"const_cast<Output*>(matrix_of_entry<Output>(batch.d, batch.stride_c, entry))",
              "const_cast<Output*>(matrix_of_entry<Output>(batch.d, batch.stride_c, entry / 2))"}},
          kBothPacked),
      pointer_bug("a matrix is found by the pointer before", "gemv", "f32f32", kNT,
          {{kLookUp, "return static_cast<const Element* const*>(matrices)[entry == 0 ? 0 : entry - 1];"}}, kAlong),
      pointer_bug("entries are taken in pairs", "ffma", "f32f32", kTT,
          {{"args_of_entry(all, work.entry)", "args_of_entry(all, work.entry / 2)"}}, kFfmaSliced),
  };
}

}  // namespace tilesmith::planted
