// What tilesmith_weights.h's structs say, checked, as the repacking takes it (kernels/weights/repack.cuh).
#pragma once

#include "kernels/weights/repack.cuh"
#include "runtime/interface/tilesmith_weights.h"

namespace tilesmith::runtime {

/// Throws Error (bad_argument) if they are not well formed.
void check_weights(const tilesmith_weights& weights);
tilesmith_weights_sizes sizes_of(const tilesmith_weights& weights);

/// Throws Error (bad_argument) in one line if an array is missing, of another type or shape than the format has, or makes no such weights.
RepackArgs repack_args(const tilesmith_weights& weights, const tilesmith_weights_source& source, void* codes, void* scales, void* zeros);

/// Whether rows' groups, zeros that are not kept, or scales that may be beyond f16 have to be looked at before.
bool checks_order(const RepackArgs& args);
bool checks_zeros(const RepackArgs& args);
bool checks_scales(const RepackArgs& args);
/// Of what was found there: `fault` is the number, from 1 on, of what is refused; `value` what stands there.
[[noreturn]] void refuse_order(const RepackArgs& args, int fault, int value);
[[noreturn]] void refuse_zero(const RepackArgs& args, int fault, int value);
[[noreturn]] void refuse_scale(const RepackArgs& args, int fault, int exponent);

/// All of it, in host memory. Throws what is refused.
void repack_on_host(const RepackArgs& args);

}  // namespace tilesmith::runtime
