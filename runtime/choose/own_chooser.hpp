// Which configs of a user's own kernel run at given sizes, best first, and why. Pure: works on records already read.
//
// exact    Measured at these sizes on this device: the order of db/store/ranked.hpp.
// model    Measured at other sizes, or on another device of the same compute capability. The distance of two tasks is
//          the sum of |log2| of the ratios of their sizes, and one more for another device. Of each config the time
//          over the fastest's is averaged over the tasks, with weights that fall by 4 with each unit of distance; where
//          a config was not measured it counts as taking twice the fastest's time. One that failed last anywhere is
//          left out.
// generic  The first legal config in the order of kernel.json, its last parameter changing fastest.
#pragma once

#include <string>
#include <vector>

#include "db/store/ranked.hpp"
#include "kernels/own/kernel.hpp"
#include "runtime/choose/choose.hpp"
#include "runtime/driver/device.hpp"

namespace tilesmith::runtime {

/// Made once from the records of one kernel, then asked for many sizes. Threads: choices() may be called by several at
/// a time.
class OwnChooser {
 public:
  /// `entries`: of devices of this compute capability, in any order. The kernel must outlive it.
  OwnChooser(std::vector<db::Record> entries, const own::Kernel& kernel, const DeviceInfo& device);
  OwnChooser(const OwnChooser&) = delete;
  OwnChooser& operator=(const OwnChooser&) = delete;

  /// At most kMostMeasured with a record, then the generic one. Empty if no config is legal at these sizes.
  /// Precondition: sizes_error() of the kernel is empty.
  std::vector<Choice> choices(const SizedKernel& sized) const;
  static constexpr std::size_t kMostMeasured = 32;

 private:
  struct Measured {
    const db::Judged* entry;
    Level level;
    std::string reason;
  };
  std::vector<Measured> measured(const SizedKernel& sized) const;

  const own::Kernel& kernel_;
  const db::DeviceIdentity device_;
  const DeviceLimits limits_;
  const std::vector<db::Record> entries_;
  const db::Environment now_;
  std::vector<db::RankedTask> ranked_;  // of entries_, without tasks of other sizes than the kernel has today
};

}  // namespace tilesmith::runtime
