// A device that no machine has: for evaluators whose measuring process only plays one.
#pragma once

#include "runtime/driver/device.hpp"

namespace tilesmith::tests {

// Of problems with these M the played device disturbs the first timing of a process, or all.
constexpr int kDisturbedOnceM = 80, kDisturbedM = 112;
constexpr int kDisturbedOnceUs = 200000;
// Of a problem with this M, which is none of a drill tuner's, each candidate's process is killed from outside; with
// this the device has no memory left.
constexpr int kKilledM = 145, kNoMemoryM = 177;
// And with this the process says that it cannot measure.
constexpr int kBrokenM = 209;

// In final benchmarks of these the vendor's library ends the process, hangs, is not there, answers nonsense, or
// refuses.
constexpr int kVendorCrashM = 241, kVendorHangM = 273, kVendorMissingM = 305, kVendorNonsenseM = 337,
              kVendorRefusesM = 369;

inline runtime::DeviceInfo fictional_device() {
  runtime::DeviceInfo device;
  device.identity.name = "Fictional";
  device.identity.sm = 87;
  device.identity.sm_count = 16;
  device.identity.l2_bytes = 4 << 20;
  device.limits = *limits_for_arch("sm_87");
  device.driver_version = "1.0";
  return device;
}

}  // namespace tilesmith::tests
