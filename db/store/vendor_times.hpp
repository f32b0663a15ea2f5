// What the vendor's library (cuBLASLt) took for a problem, in a final benchmark beside ours.
//
// A row of them is compared with the entries that it names as timed beside it, and with no others: times of two
// benchmarks differ by some percent. If several rows name an entry, the newest row counts.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "db/store/record.hpp"

namespace tilesmith::db {

inline constexpr std::string_view kCublasLt = "cublaslt";

/// One algorithm's time. `us` of 0: none.
struct VendorTime {
  double us = 0;
  double spread = 0;      ///< as Timing::spread
  std::string algorithm;  ///< as far as the library tells: its place among what was offered, and its own words for it
};

struct VendorTimes {
  std::int64_t id = 0;  ///< as Records::id, among rows of this kind
  Problem problem;
  DeviceIdentity device;
  std::string vendor{kCublasLt};
  std::string vendor_version;                    ///< "13.1.0"; empty if the library did not come to tell it
  std::string driver_version, measuring_policy;  ///< as of Environment
  std::string message;         ///< Why there are no times. Of a row with times: what disturbed them, as a rule nothing.
  int offered = 0, timed = 0;  ///< Algorithms that its heuristic gave. How many of them had a time.
  VendorTime first, best;      ///< Of its own first choice. Of the fastest that was timed.
  int samples = 0;             ///< this and the next four: as of Timing
  double clock_mhz = 0, temperature_c = 0, power_w = 0, drift = 1;

  /// An entry of ours that was timed in turn with it, by what does not change when it is merged or imported.
  struct Beside {
    Config config;
    std::string plan_hash;
    double median_us = 0;  ///< as the entry has it
  };
  std::vector<Beside> beside;

  std::string run, origin, created_at;  ///< as of Records

  bool has_time() const { return first.us > 0 || best.us > 0; }
  /// Whether that entry's time was taken beside these.
  bool is_beside(const Record& entry) const;
};

/// nullopt if it is consistent in itself; else one line that names the field and what was expected.
std::optional<std::string> vendor_times_error(const VendorTimes& times);

/// Finds what belongs to an entry.
class VendorIndex {
 public:
  VendorIndex() = default;
  /// The newest first, as a store gives them.
  explicit VendorIndex(std::vector<VendorTimes> newest_first);

  /// The newest that has times and was taken beside the entry; null if there is none. Lives as long as this.
  const VendorTimes* beside(const Record& entry) const;
  /// The newest of the problem on the device, whatever it says.
  const VendorTimes* newest(const Problem& problem, const DeviceIdentity& device) const;

 private:
  using Key = std::pair<std::string, std::string>;  // texts of problem and device
  std::map<Key, std::vector<VendorTimes>> rows_;    // the newest first
};

}  // namespace tilesmith::db
