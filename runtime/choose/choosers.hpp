// The choosers of one device, made from a catalogue's records when a target is first asked for.
//
// Threads: one at a time (Library holds a lock).
#pragma once

#include <map>
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
  const std::vector<db::Record>& record_of(const KernelTarget& target);

  const Catalogue& catalogue_;
  const DeviceInfo& device_;
  const bool logs_;
  std::map<std::string, std::vector<db::Record>> records_;  // by type pair
  std::map<std::string, db::VendorIndex> vendor_;              // by type pair
  std::map<std::string, Chooser> choosers_;                    // by signature; they refer to records_
};

}  // namespace tilesmith::runtime
