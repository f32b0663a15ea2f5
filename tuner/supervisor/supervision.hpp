// Tuners of several devices: how each is started, watched, and started again when it dies.
#pragma once

#include <atomic>
#include <chrono>
#include <deque>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "db/store/record.hpp"
#include "kernels/families/device_limits.hpp"
#include "tuner/schedule/slice_board.hpp"
#include "tuner/workload.hpp"

namespace tilesmith::tuner {

/// A GPU, or a recording that is replayed as one.
struct TuneDevice {
  int ordinal = 0;
  db::DeviceIdentity identity;
  DeviceLimits limits;
  double clock_mhz = 0;  ///< 0: unknown
  std::string driver_version;
  std::string gpu;          ///< its name among all GPUs of the machine; empty: a recording
  std::string recording;    ///< the file; empty: a GPU
  bool integrated = false;  ///< it shares memory, heat and power with the CPU
};

/// Devices of one model, on which records are the same: they share the problems.
struct Model {
  std::vector<TuneDevice> devices;
  SliceBoard board;
  int status = 0;  ///< of its tuners, once they have ended (tuner/exit_status.hpp)
  const db::DeviceIdentity& identity() const { return devices.front().identity; }
};

/// The models of the devices, in their order. In a deque: boards stay where they are. `budget` starts now; 0: none.
std::deque<Model> models_of(
    const std::vector<TuneDevice>& devices, const Workload& workload, std::chrono::duration<double> budget);

/// Where the supervisor shows what goes on.
struct SupervisorOutput {
  std::function<void(const TuneDevice&, const std::string& line)> line;  ///< that a tuner wrote
  std::function<void(std::vector<std::string> lines)> status;  ///< what each tuner does now; empty: not asked for
};

/// A tuner process for each device of the models, until every one has ended, by itself or because `stop` asks for it.
/// `arguments`: those of `tilesmith tune`, without --device and --board. Leaves each model's status in it.
void supervise(std::deque<Model>& models, const Workload& workload, std::vector<std::string> arguments,
    const SupervisorOutput& output, const std::atomic<bool>& stop);

/// The exit status of the tuners of one board, or of several boards: the first that tells of a failure, else
/// kExitSetAside if one is that, else kExitOk.
int worst_of(std::span<const int> statuses);

/// What one tuner's exit status means beside the others of its board: what it set aside is well if each problem had a
/// slice with one of them, be it one that ended with the budget.
int beside_others(int status, const SliceBoard& board);

/// For the log. `status`: of the board's tuners.
std::string_view how_it_ended(const SliceBoard& board, bool stopped, int status);

}  // namespace tilesmith::tuner
