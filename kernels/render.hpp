// Renders a config and a target as the source prefix that every template is compiled behind.
#pragma once

#include <string>
#include <string_view>

#include "kernels/family.hpp"

namespace tilesmith {

/// The prefix, then `#include "<template_path>"`. The prefix holds, in namespace tilesmith:
///   using Operand/Accumulator/Output/ScaleType = ...;   (device types; tf32 operands are `float`)
///   constexpr bool kOperandIsTf32, kOperandIsBf16, kTransA, kTransB;
///   constexpr int kSm = 87;
///   constexpr int kFragM = 16;  // one for each parameter: frag_m → kFragM
/// Of other signatures than plain ones it says more. Macros say it, because what a kernel takes depends on them, and so that plain kernels
/// stay as they are (source_hash.hpp).
///   #define TILESMITH_EXTENDED    GemmArgs has ExtendedArgs (kernels/common/extended_args.cuh)
///   #define TILESMITH_BATCH       there are ExtendedArgs::batch problems (kernels/common/batch.cuh)
///   #define TILESMITH_POINTERS    whose matrices lie where arrays of pointers say (kernels/common/batch.cuh)
///   #define TILESMITH_GROUPED     these are groups, which share one A and one D; GemmArgs has GroupedArgs (kernels/common/grouped.cuh)
///   #define TILESMITH_SPARSE      an operand is 2:4 sparse, B if kSparseB; GemmArgs has SparseArgs (kernels/common/sparse_layout.cuh)
///   #define TILESMITH_DEVICE_SCALARS  GemmArgs has addresses of α and β (kernels/common/gemm_args.cuh)
///   #define TILESMITH_EPILOGUE    is_fused(): D ← act(r·cᵀ ∘ α·AB + β·C + bias) (kernels/common/fused.cuh), and:
///   using BiasType = float;
///   constexpr bool kScaleM, kScaleN, kScaleEachRow, kScaleEachColumn, kBiasAlongN, kBiasAlongM, kRelu, kGelu, kGeluTanh, kSilu;
/// `definitions` is device code that is put between the two.
std::string render_source(const Config& config, const KernelTarget& target, const std::string& template_path,
                          const std::string& definitions = {});

/// "frag_m" → "kFragM".
std::string constant_name(const std::string& parameter);

}  // namespace tilesmith
