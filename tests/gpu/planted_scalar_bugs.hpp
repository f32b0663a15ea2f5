// Bugs planted in kernels that read α and β from device memory.
#pragma once

#include <vector>

#include "tests/gpu/planted_bug.hpp"
#include "tests/gpu/planted_epilogue_bugs.hpp"
#include "tests/gpu/planted_mma_bugs.hpp"
#include "tests/gpu/planted_simt_bugs.hpp"
#include "tests/gpu/planted_wgmma_bugs.hpp"

namespace tilesmith::planted {

// Sums of f64 that take half of a thread's registers.
inline constexpr const char* kManySumsOfF64 =
    "mma{inst_k=8,block_m=128,block_n=64,warp_m=64,warp_n=32,swap=0,block_k=16,stages=3,slice_k=1,frag_buffers=2,min_blocks=1,group_m=1,"
    "persistent=0,store_staged=0,split_k=1,reduction=0,copy_bytes=16,tma=0,pack=0,pack_k_major=0,overlap=0,early_launch=0}";

inline Bug scalar_bug(const char* name, const char* family, const char* type, Transposes trans, std::vector<Edit> edits,
    const char* config = nullptr, const char* epilogue = "linear", BatchMode batch_mode = BatchMode::single) {
  return {name, family, config == nullptr ? kGeneric : 0, type, trans, std::move(edits), config, epilogue, batch_mode,
      Scalars::device};
}

inline std::vector<Bug> scalar_bugs() {
  constexpr Edit kNaNStays{"return alpha == T(0) ? T(0) : alpha * value;", "return alpha * value;"};
  return {
      scalar_bug("alpha is read where beta lies", "simt", "f16f32", kNN,
          {{"alpha = scale_as<ScaleType>(args.alpha);", "alpha = scale_as<ScaleType>(args.beta);"}}),
      scalar_bug("what is no number stays so where alpha is 0", "simt", "bf16f32", kTN, {kNaNStays}),
      scalar_bug("a beta that is not there is taken for 1", "simt", "tf32f32", kNT,
          {{"scale.at == nullptr ? T(0) : ", "scale.at == nullptr ? T(1) : "}}),
      scalar_bug("the value behind each scalar is read", "simt", "s8s32", kNT,
          {{"*static_cast<const T*>(scale.at)", "static_cast<const T*>(scale.at)[1]"}}),
      scalar_bug("entries of a batch read scalars of their own", "simt", "f16f32", kNN,
          {{"its.a = matrix_of_entry",
              "its.alpha.at = static_cast<const ScaleType*>(batch.alpha.at) + entry;\n  its.a = matrix_of_entry"}},
          nullptr, "linear", BatchMode::strided),
      scalar_bug("what C holds is scaled by alpha before slices are added to it", "mma", "f16f32", kNN,
          {{"const ScaleType beta = scale_as<ScaleType>(args.beta);",
              "const ScaleType beta = scale_as<ScaleType>(args.alpha);"}},
          kSplitAtomic),
      scalar_bug("the sum of slices is not scaled", "mma", "bf16f32", kNT,
          {{"const ScaleType alpha = scale_as<ScaleType>(args.alpha), beta",
              "const ScaleType alpha = ScaleType(1), beta"}},
          kSplitSummed),
      scalar_bug("sums of f64 are stored without alpha where beta is 0", "mma", "f64f64", kNN,
          {{"to.multiply(mine);", ""}}, kManySumsOfF64),
      scalar_bug("sums of f64 that have what C holds in them are multiplied once more", "mma", "f64f64", kNT,
          {{"store(to.behind_epilogue());", "store(to.over_alpha_again());"},
              {"  // Where sums go that α, β and the epilogue have been applied to.",
                  "  __device__ __forceinline__ Destination over_alpha_again() const {\n    Destination to = *this;\n    if (overwrites()) to.alpha_ = ScaleType(1);\n    to.beta_ = ScaleType(0);\n    return to;\n  }"}},
          kManySumsOfF64),
      scalar_bug("beta is read where alpha lies", "wgmma", "f16f32", kNT,
          {{"beta_(scale_as<ScaleType>(args.beta))", "beta_(scale_as<ScaleType>(args.alpha))"}}, kOneGroup),
      scalar_bug("alpha is taken twice by what is stored in boxes over C", "wgmma", "bf16f32bf16", kNT,
          {{"if (!overwrites()) to.alpha_ = ScaleType(1);", ""}}, kBoxes),
      scalar_bug("a bias is added to what is no number where alpha is 0", "wgmma", "bf16f32bf16", kNT, {kNaNStays},
          kTwoGroups, "bias_n+relu"),
      scalar_bug("a gate is fed what is no number where alpha is 0", "wgmma", "bf16f32bf16", kNT,
          {{"multiplies ? ScaleType(sum) : ScaleType(0)", "ScaleType(sum)"}}, kOneGroup, "swiglu"),
      scalar_bug("one output has beta for alpha", "gemv", "f16f32", kNN,
          {{"alpha = scale_as<ScaleType>(args.alpha), beta",
              "alpha = scale_as<ScaleType>(output == 0 ? args.beta : args.alpha), beta"}},
          kColumnVector),
  };
}

}  // namespace tilesmith::planted
