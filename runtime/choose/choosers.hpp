// The choosers of one device, made from a catalogue's records when a target is first asked for.
//
// Threads: one at a time (Library holds a lock).
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "db/store/vendor_times.hpp"
#include "runtime/choose/catalogue.hpp"
#include "runtime/choose/choose.hpp"
#include "runtime/driver/device.hpp"

namespace tilesmith::runtime {

class Choosers {
 public:
  /// Both must outlive it. `logs`: whether records of families that are not loaded are one line in the log.
  Choosers(const Catalogue& catalogue, const DeviceInfo& device, bool logs)
      : catalogue_(catalogue), device_(device), logs_(logs) {}

  const Chooser& of(const KernelTarget& target);
  /// What the vendor took on this device.
  const db::VendorIndex& vendor_of(const TypePair& type);

 private:
  const std::vector<db::Record>& records_of(const KernelTarget& target);

  const Catalogue& catalogue_;
  const DeviceInfo& device_;
  const bool logs_;
  std::map<std::string, std::vector<db::Record>> records_;  // by type pair
  std::map<std::string, db::VendorIndex> vendor_;           // by type pair
  std::map<std::string, Chooser> choosers_;                 // by signature; they refer to records_
};

/// The environment that would measure now, by which stored records are judged. For a family's kernels on this device,
/// by the entries of these compiler options: NVRTC is that of the family's newest, since a stored cubin is preferred to
/// compiling; the measuring policy is that of the newest of any family, since times of two policies are not comparable.
/// The device's own entries come before another machine's, and trials last. `driver_version`: the driver that is here;
/// empty: that of the newest entry.
db::Environment environment_to_judge_by(std::span<const db::Record> entries, const std::string& family,
    const db::DeviceIdentity& device, const KernelTarget& target, const std::string& driver_version);

}  // namespace tilesmith::runtime
