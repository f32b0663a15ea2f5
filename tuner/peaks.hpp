// A device's peak rates, and how much of them a time reaches.
#pragma once

#include <optional>
#include <string>

#include "db/store/record.hpp"

namespace tilesmith::tuner {

/// Dense peak in TFLOP/s (integers: TOPS) of the multiply units that the type pair can use, or nullopt if it is not
/// known. The clock is the one the device is rated at, where its name is known (the figure of its data sheet, scaled to
/// its live SM count), else `clock_mhz`, its maximum SM clock (0: unknown).
std::optional<double> peak_tflops(const db::DeviceIdentity& device, const TypePair& type, double clock_mhz = 0);

/// The clock that peak_tflops() reckons with; 0: unknown. On Jetson the power mode sets it.
double rated_clock_mhz(const db::DeviceIdentity& device, const TypePair& type, double clock_mhz = 0);

/// What a run moves at least: A and B read, and D written, once each.
double moved_bytes(const Problem& problem);
double gbps(const Problem& problem, double us);  ///< of these; 0 if there is no time

/// The bandwidth that memory is given for, GB/s; 0 where one architecture's code ran on another's units, or it is
/// unknown.
double memory_gbps(const db::DeviceIdentity& device);

/// How fast a time is, by what bounds the problem on the device. Every share of a peak that is shown anywhere comes
/// from here.
struct Rate {
  double value = 0;  ///< 0 if there is no time
  bool memory_bound = false;
  std::string unit;               ///< TFLOP/s, TOPS, or GB/s where memory bounds the problem
  std::optional<double> of_peak;  ///< of the multiply units, or of the memory; nullopt if that is not known

  const char* bound() const { return memory_bound ? "memory" : "compute"; }
  std::string percent() const;  ///< "43.1%", "71.4% memory"; "-" if it is not known
  std::string text() const;     ///< "512.3 TFLOP/s (51.8% of peak)", "3401.2 GB/s (71.4% of peak memory bandwidth)"
};
/// Memory bounds a problem whose bytes take longer than its operations, each at its peak; where no peak is known, one
/// with M = 1 or N = 1. Every operand is read, and D written, once. `clock_mhz`: as for peak_tflops().
Rate rate_of(const Problem& problem, const db::DeviceIdentity& device, double us, double clock_mhz = 0);
Rate rate_of(const Task& task, const db::DeviceIdentity& device, double us, double clock_mhz = 0);

/// The time below which the problem cannot come on the device: its operations at the peak, or its operands and result
/// at the bandwidth of memory, whichever takes longer. 0 where neither is known.
double floor_us(const db::DeviceIdentity& device, const Problem& problem);
double floor_us(const db::DeviceIdentity& device, const Task& task);

/// What a task is estimated to take on the device where nobody measured it: twice floor_us(), and no less than a
/// launch.
double estimated_us(const db::DeviceIdentity& device, const Task& task);
/// The same on every machine: on a certain device, an H200. Only what tasks take beside each other counts.
double nominal_us(const Task& task);

/// One line that says why no device of this kind can have taken so little time; nullopt if it may have, or where its
/// peaks are not known. Far beyond means kFarBeyond times: clocks may be above those of data sheets, and what a cache
/// holds is read faster.
inline constexpr double kFarBeyond = 2;
std::optional<std::string> impossible_because(const db::DeviceIdentity& device, const Problem& problem, double us);

}  // namespace tilesmith::tuner
