// The device that records hold for, and which devices are similar or meant by a text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/families/device_limits.hpp"

namespace tilesmith::db {

/// Records of another power mode or live SM count are another device's.
struct DeviceIdentity {
  std::string name;  ///< as the driver reports it: "NVIDIA H200"
  int sm = 0;        ///< 10·major + minor
  int sm_count = 0;  ///< live multiprocessors
  std::int64_t l2_bytes = 0;
  int smem_per_sm_bytes = 0;
  int bandwidth_class_gbps = 0;  ///< theoretical memory bandwidth, rounded to 2 digits; 0: unknown
  std::string power_mode;        ///< nvpmodel's name on Jetson; empty elsewhere
  friend bool operator==(const DeviceIdentity&, const DeviceIdentity&) = default;
};
/// Canonical text, used as key: "NVIDIA H200/sm_90/132SM/..."
std::string text(const DeviceIdentity& device);

/// This device while it runs code of another architecture (`--as`): a device of its own, "NVIDIA H200 as sm_87". Its
/// times compare with no other device's.
DeviceIdentity identity_as(DeviceIdentity device, const DeviceLimits& limits);
/// Which architecture's code such a device ran: "sm_87"; empty for a device that ran its own.
std::string ran_as(const DeviceIdentity& device);
/// How far apart they are in number of multiprocessors, in doublings.
double sm_doublings(const DeviceIdentity& a, const DeviceIdentity& b);
/// Whether both run the same code on at most twice as many multiprocessors, so that what is fast on one is likely fast
/// on the other. An H100 and an H200 are similar, and a Jetson in two power modes; an A100 and what runs as one are
/// not.
bool are_similar(const DeviceIdentity& a, const DeviceIdentity& b);
/// Whether the device's text contains `part`, whatever the case. A device that ran as another is meant only by "as sm_"
/// and the like.
bool is_meant_by(const DeviceIdentity& device, std::string_view part);
/// Whether `whole` is the device's text, whatever the case.
bool is_text_of(const DeviceIdentity& device, std::string_view whole);
/// The device whose whole text is `part`, since one may begin another (".../MAXN", ".../MAXN_SUPER"); else those that
/// it means.
std::vector<DeviceIdentity> meant_by(const std::vector<DeviceIdentity>& devices, std::string_view part);

}  // namespace tilesmith::db
