// The environment that would measure now: what stored records are judged by.
#pragma once

#include <span>
#include <string>

#include "db/store/record.hpp"
#include "kernels/families/family.hpp"

namespace tilesmith::runtime {

/// For a family's kernels on this device, by the entries of these compiler options: NVRTC is that of the family's newest, since a stored cubin
/// is preferred to compiling; the measuring policy is that of the newest of any family, since times of two policies are not comparable.
/// The device's own entries come before another machine's, and trials last.
/// `driver_version`: the driver that is here; empty: that of the newest entry.
db::Environment environment_to_judge_by(std::span<const db::Record> entries, const std::string& family, const db::DeviceIdentity& device,
                          const KernelTarget& target, const std::string& driver_version);

}  // namespace tilesmith::runtime
