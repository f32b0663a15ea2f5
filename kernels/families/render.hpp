// Renders a config and a target as the source prefix that every template is compiled behind.
#pragma once

#include <string>
#include <string_view>

#include "kernels/families/family.hpp"

namespace tilesmith {

/// The prefix, then `#include "<template_path>"`. The prefix holds, in namespace tilesmith:
///   using Operand, Accumulator, Output, ScaleType, BiasType, WeightScale = ...;   (device types; tf32 operands are `float`)
///   constexpr bool kIsPlain, kHasEpilogue, kIsBatched, kTransA, ...;   what the signature is, each flag always
///   constexpr bool kIdentity, kRelu, kGeluTanh, ...;   one for each row of kActivations
///   constexpr int kSm = 87;
///   constexpr int kFragM = 16;  // one for each parameter: frag_m → kFragM; kEntries, kPromote and kWiden always
/// A template asks the flags by `if constexpr`. What a flag excludes is still checked by the compiler, so every type
/// and number has a value that compiles. `definitions` is device code that is put between the two.
std::string render_source(const Config& config, const KernelTarget& target, const std::string& template_path,
    const std::string& definitions = {});

/// constexpr int kBlockScaleM, kBlockScaleN: definitions for templates that may have scales of blocks of K
/// (kernels/shared/multiply/block_scales.cuh).
std::string block_scale_constants(const KernelTarget& target);

/// "frag_m" → "kFragM".
std::string constant_name(std::string_view parameter);

}  // namespace tilesmith
