// What tilesmith_weights.h's structs say, checked, as the repacking takes it (kernels/weights/repack.cuh).
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "kernels/weights/repack.cuh"
#include "runtime/interface/helper_kernels.hpp"
#include "runtime/interface/tilesmith_weights.h"

namespace tilesmith::runtime {

/// Throws Error (bad_argument) if they are not well formed.
void check_weights(const tilesmith_weights& weights);
tilesmith_weights_sizes sizes_of(const tilesmith_weights& weights);

/// Throws Error (bad_argument) in one line if an array is missing, of another type or shape than the format has, or
/// makes no such weights. One for each expert.
std::vector<RepackArgs> repack_args(
    const tilesmith_weights& weights, const tilesmith_weights_source& source, void* codes, void* scales, void* zeros);

/// Whether an item is as it must be (kernels/weights/repack.cuh).
using Fits = bool (*)(const RepackArgs& args, long long item);
/// 1 + the first of so many items that does not fit, or 0; `entry`: the kernel that looks for it on the device.
using FindUnfit = std::function<int(const char* entry, Fits fits, long long items)>;
/// Copies bytes from the memory that the arrays are in.
using ReadArrays = std::function<void(void* to, const void* from, std::size_t bytes)>;
/// Throws Error (bad_argument) if columns' groups are out of order, a zero that is not kept is not the middle code, a
/// zero that is kept has no code that is needed, f16 does not hold a scale, or a factor of Q4_K or Q6_K is no number.
void check_repacked(const RepackArgs& args, const FindUnfit& find, const ReadArrays& read);

/// Whether zeros that are kept are stored 1 lower, modulo 2^bits: GPTQ's first version.
bool has_lowered_zeros(const RepackArgs& args);
std::size_t zero_words(const RepackArgs& args);
/// Their words, in host memory, become those of the second version, and `args` read them. Throws Error (bad_argument)
/// if all are one above the middle then.
void raise_zeros(RepackArgs& args, std::vector<std::uint32_t>& words);

/// All of them, in host memory. Throws what is refused, of any, before anything is repacked.
void repack_on_host(std::vector<RepackArgs> experts);

/// Enqueues all of it. Where something has to be looked at before, waits for the stream. Throws tilesmith::Error,
/// DeviceError. The context must be current. May be called by several threads at a time.
void repack_on_device(HelperKernels& helpers, const Context& context, bool can_compile, CUstream_st* stream,
    std::vector<RepackArgs> experts);

/// The source of all its kernels.
std::string repack_source();

}  // namespace tilesmith::runtime
