// Which configs of a user's own kernel run at given sizes, best first, and why. Pure: works on records already read.
//
// exact    Measured at these sizes on this device: the order of db/store/ranked.hpp.
// model    Measured at the nearest other sizes, by the sum of |log2| of the ratios of the sizes. Another device of the
//          same compute capability is 1 farther. Configs that failed last at any sizes are left out.
// generic  If nothing that was measured is legal: the first legal config, the last parameter changing fastest.
#pragma once

#include <vector>

#include "db/store/ranked.hpp"
#include "kernels/own/kernel.hpp"
#include "runtime/choose/choose.hpp"
#include "runtime/driver/device.hpp"

namespace tilesmith::runtime {

/// Made once from the records of one kernel, then asked for many sizes, by several threads at a time.
class OwnChooser {
 public:
  /// `entries`: of devices of this compute capability, in any order. The kernel must outlive it.
  OwnChooser(std::vector<db::Record> entries, const own::Kernel& kernel, const DeviceInfo& device);
  OwnChooser(const OwnChooser&) = delete;
  OwnChooser& operator=(const OwnChooser&) = delete;

  /// Empty if no config is legal at these sizes. Precondition: sizes_error() of the kernel is empty.
  std::vector<Choice> choices(const SizedKernel& sized) const;

 private:
  const own::Kernel& kernel_;
  const DeviceInfo device_;
  const std::vector<db::Record> entries_;
  const db::Environment now_;
  const std::vector<db::RankedTask> ranked_;  // of entries_
};

}  // namespace tilesmith::runtime
