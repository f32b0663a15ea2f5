// Renders a config and a target as the source prefix that every template is compiled behind.
#pragma once

#include <string>
#include <string_view>

#include "kernels/family.hpp"

namespace tilesmith {

/// The prefix, then `#include "<template_path>"`. The prefix holds the signature_macros(), then, in namespace tilesmith:
///   using Operand/Accumulator/Output/ScaleType = ...;   (device types; tf32 operands are `float`)
///   constexpr bool kOperandIsTf32, kOperandIsBf16, kTransA, kTransB;
///   constexpr int kSm = 87;
///   constexpr int kFragM = 16;  // one for each parameter: frag_m → kFragM
/// `definitions` is device code that is put between the two.
std::string render_source(const Config& config, const KernelTarget& target, const std::string& template_path,
                          const std::string& definitions = {});

/// A macro for each word of a signature's options_text(): " epilogue=relu" → "#define TILESMITH_EPILOGUE_RELU". Macros, because what a
/// kernel takes as parameters depends on them. A plain signature has none, so that its kernels stay as they are whatever comes.
std::string signature_macros(std::string_view options);

/// "frag_m" → "kFragM".
std::string constant_name(const std::string& parameter);

}  // namespace tilesmith
