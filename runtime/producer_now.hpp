// The producer that would measure now: what stored evidence is judged by.
#pragma once

#include <span>
#include <string>

#include "db/evidence.hpp"
#include "kernels/family.hpp"

namespace tilesmith::runtime {

/// For a family's kernels on this device. A stored cubin is preferred to compiling, so NVRTC and measuring policy are taken to be those of
/// the newest entry of this family and these compiler options, of the device itself if it has one: another machine's say nothing of it.
/// `driver_version`: the driver that is here; empty: that of the newest entry.
db::Producer producer_now(std::span<const db::Evidence> entries, const std::string& family, const db::DeviceIdentity& device,
                          const KernelTarget& target, const std::string& driver_version);

}  // namespace tilesmith::runtime
