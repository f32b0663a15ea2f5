// The repacking of weights on the device.
#pragma once

#include <string>
#include <vector>

#include "kernels/weights/repack.cuh"
#include "runtime/interface/helper_kernels.hpp"

namespace tilesmith::runtime {

/// Enqueues all of it. Where something has to be looked at before, waits for the stream. Throws tilesmith::Error,
/// DeviceError. The context must be current. May be called by several threads at a time.
void repack_on_device(HelperKernels& helpers, const Context& context, bool can_compile, CUstream_st* stream,
    std::vector<RepackArgs> experts);

/// The source of all its kernels.
std::string repack_source();

}  // namespace tilesmith::runtime
