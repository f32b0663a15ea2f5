// A device for a measuring session in the test's own process.
#pragma once

#include <cuda.h>

#include <utility>

#include "tests/runtime/fake_driver.hpp"

namespace tilesmith::tuner {

/// A device of 128 GiB, which runs nothing.
class PlayedDevice {
 public:
  PlayedDevice() : driver_(quiet()), scoped_(driver_) {
    runtime::fake::state() = runtime::fake::State();
    auto& attributes = runtime::fake::state().attributes;
    attributes[CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR] = 8;
    attributes[CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR] = 7;
    attributes[CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT] = 16;
    attributes[CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE] = 4 << 20;
    for (const auto& [attribute, value] : {std::pair{CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, 48 << 10},
             {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 163 << 10},
             {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, 164 << 10}}) {
      attributes[attribute] = value;
    }
  }

 private:
  static runtime::Driver quiet() {
    runtime::Driver table =
        runtime::fake::table();  // its launches note arguments of plans, which helper kernels have not
    table.launch_kernel = [](CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, CUstream,
                              void**, void**) { return CUDA_SUCCESS; };
    return table;
  }

  runtime::Driver driver_;
  runtime::ScopedDriver scoped_;
};

}  // namespace tilesmith::tuner
