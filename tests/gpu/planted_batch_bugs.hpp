// The kernel bugs that the verifier must catch in kernels of strided batches. None strays out of the memory around its
// operands: a fault would be seen too, but would end the test's context.
#pragma once

#include <vector>

#include "tests/gpu/planted_ffma_bugs.hpp"
#include "tests/gpu/planted_mma_bugs.hpp"
#include "tests/gpu/planted_simt_bugs.hpp"
#include "tests/gpu/planted_wgmma_bugs.hpp"

namespace tilesmith::planted {

inline constexpr const char* kEntriesOfBlock = "simt{block_m=16,block_n=16,block_k=16,thread_m=2,thread_n=2,entries=4}";

inline Bug gemv_bug(const char* name, const char* type, Transposes trans, std::vector<Edit> edits, const char* config) {
  return {name, "gemv", 0, type, trans, std::move(edits), config, "linear", BatchMode::strided};
}

inline std::vector<Bug> batch_bugs() {
  return {
      {"the stride of A is ignored", "simt", kGeneric, "f16f32", kNN,
          {{"its.a = matrix_of_entry<Operand>(batch.a, batch.stride_a, entry);", ""}}, nullptr, "linear",
          BatchMode::strided},
      {"the stride of C is its row stride", "simt", kGeneric, "bf16f32bf16", kTN,
          {{"(batch.d, batch.stride_c, entry)", "(batch.d, batch.ldc, entry)"}}, nullptr, "linear", BatchMode::strided},
      {"the last entry is lost", "simt", kGeneric, "s8s32", kNT,
          {{"unsigned(entry) < unsigned(all.batch)", "unsigned(entry) + 1 < unsigned(all.batch)"}}, nullptr, "linear",
          BatchMode::strided},
      {"the entries of a block share an A", "simt", kGeneric, "f16f32f16", kNT,
          {{"shared_of_entries_a[kIsBatched ? threadIdx.y : 0]", "shared_of_entries_a[0]"}}, kEntriesOfBlock, "linear",
          BatchMode::strided},
      {"blocks begin an entry too early", "simt", kGeneric, "f32f32", kNN,
          {{"entry_of_grid() * kEntries + threadIdx.y", "entry_of_grid() * (kEntries - 1) + threadIdx.y"}},
          kEntriesOfBlock, "linear", BatchMode::strided},
      {"entries beyond a grid's y are taken for the first ones", "simt", kGeneric, "f64f64", kNN,
          {{"GridEntry(blockIdx.z * gridDim.y + blockIdx.y)", "GridEntry(blockIdx.y)"}}, nullptr, "linear",
          BatchMode::strided},
      {"tiles of all entries but the first lie beyond C", "mma", 0, "f16f32", kNN, {{"number -= entry * tiles();", ""}},
          kPlain, "linear", BatchMode::strided},
      {"persistent blocks leave out the last entry", "mma", 0, "f16f32", kNT,
          {{"return tiles() * unsigned(batch_) * kSplitK;",
              "return tiles() * unsigned(batch_ > 1 ? batch_ - 1 : 1) * kSplitK;"}},
          kPersistent, "linear", BatchMode::strided},
      {"entries' partial sums fall on one another", "mma", 0, "f16f32f16", kNN,
          {{"static_cast<Accumulator*>(batch.workspace) + entry * sums", "static_cast<Accumulator*>(batch.workspace)"}},
          kSplitSummed, "linear", BatchMode::strided},
      {"C of the first entry alone is scaled before slices are added to it", "mma", 0, "f16f32", kTN,
          {{"tilesmith::scale_c(tilesmith::args_of_entry(args, tilesmith::entry_of_grid()))",
              "tilesmith::scale_c(args)"}},
          kSplitAtomic, "linear", BatchMode::strided},
      {"packed copies of entries' A fall on one another", "mma", 0, "f16f32", kNN,
          {{"to + (shared ? 0 : entry * elements)", "to"}}, kPacked, "linear", BatchMode::strided},
      {"an operand that all entries read is not packed", "mma", 0, "bf16f32", kNN,
          {{"if (!shared || entry == 0) a.copy(share);", "if (!shared) a.copy(share);"}}, kPacked, "linear",
          BatchMode::strided},
      {"the accelerator copies the first entry's B for all", "mma", 0, "bf16f32", kNT,
          {{"matrix_of(work.entry, args_.gemm.stride_b)", "0"}}, kTensorCopied, "linear", BatchMode::strided},
      {"an A that all entries read is copied as if each had its own", "wgmma", 0, "f16f32", kNT,
          {{"!kIsBatched || stride == 0 ? 0 : int(work.entry)", "int(work.entry)"}}, kOneGroup, "linear",
          BatchMode::strided},
      {"blocks that share operands copy the first entry's", "wgmma", 0, "bf16f32bf16", kNN,
          {{"copy_box_to_blocks(to, map, col, row, matrix, full, blocks);",
              "copy_box_to_blocks(to, map, col, row, 0, full, blocks);"}},
          kShared, "linear", BatchMode::strided},
      {"pairs of entries are stored into one C", "wgmma", 0, "f16f32", kTT,
          {{"matrix_of_entry<Output>(batch.d, batch.stride_c, entry)",
              "matrix_of_entry<Output>(batch.d, batch.stride_c, entry / 2)"}},
          kTurns, "linear", BatchMode::strided},
      {"boxes are stored into the first entry's C", "wgmma", 0, "bf16f32bf16", kNT,
          {{"kIsGrouped ? 0 : int(work.entry)", "0"}}, kBoxes, "linear", BatchMode::strided},
      {"all entries take in what C holds for the first", "mma", 0, "bf16f32bf16", kNT,
          {{"its.c = matrix_of_entry<Output>(batch.c, batch.stride_c, entry);", ""}}, kPlain, "bias_n+relu",
          BatchMode::strided},
      {"slices of one entry are added for two", "wgmma", 0, "f16f32", kNN,
          {{"tilesmith::sum_slices(tilesmith::args_of_entry(args, tilesmith::entry_of_grid()))",
              "tilesmith::sum_slices(tilesmith::args_of_entry(args, tilesmith::entry_of_grid() / 2))"}},
          kSplit, "linear", BatchMode::strided},
      {"tiles are those of the entry before", "ffma", 0, "f32f32", kNN,
          {{"args_of_entry(all, work.entry)", "args_of_entry(all, work.entry == 0 ? 0 : work.entry - 1)"}}, kFfmaSliced,
          "linear", BatchMode::strided},
      {"slices of the first entry are added for all", "ffma", 0, "f32f32", kTN,
          {{"tilesmith::sum_slices(tilesmith::args_of_entry(args, tilesmith::entry_of_grid()))",
              "tilesmith::sum_slices(args)"}},
          kFfmaSplit, "linear", BatchMode::strided},
      gemv_bug("all entries have the first one's vector", "f16f32f16", kNN,
          {{"its.a = matrix_of_entry<Operand>(batch.a, batch.stride_a, entry);", ""}}, kAcross),
      gemv_bug("entries' slices fall on one another", "f16f32", kNN,
          {{"static_cast<Sum*>(batch.workspace) + entry *", "static_cast<Sum*>(batch.workspace) + entry / 2 *"}},
          kAcrossSplit),
      gemv_bug("slices of the first entry alone are added", "s8s32", kNN,
          {{"!tilesmith::is_beyond_batch(all)", "tilesmith::entry_of_grid() == 0"}}, kAcrossSplit),
      gemv_bug("the last entry is left out", "f64f64", kNT,
          {{"if (is_beyond_batch(all)) return;", "if (entry_of_grid() + 1 >= unsigned(all.batch)) return;"}}, kAlong),
      gemv_bug("entries beyond a grid's y are taken for the first ones", "bf16f32bf16", kNT,
          {{"GridEntry(blockIdx.z * gridDim.y + blockIdx.y)", "GridEntry(blockIdx.y)"}}, kAlong),
  };
}

}  // namespace tilesmith::planted
