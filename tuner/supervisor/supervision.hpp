// Tuners of several devices: how each is started, watched, and started again when it dies.
#pragma once

#include <atomic>
#include <chrono>
#include <deque>
#include <functional>
#include <string>
#include <vector>

#include "tuner/schedule/slice_board.hpp"
#include "tuner/supervisor/tune_device.hpp"
#include "tuner/workload.hpp"

namespace tilesmith::tuner {

/// Devices of one model, on which records are the same: they share the problems.
struct Model {
  std::vector<TuneDevice> devices;
  SliceBoard board;
  int status = 0;  ///< of its tuners, once they have ended (tuner/exit_status.hpp)
  const db::DeviceIdentity& identity() const { return devices.front().identity; }
};

/// The models of the devices, in their order. In a deque: boards stay where they are. `budget` starts now; 0: none.
std::deque<Model> models_of(const std::vector<TuneDevice>& devices, const Workload& workload, std::chrono::duration<double> budget);

/// Where the supervisor shows what goes on.
struct SupervisorOutput {
  std::function<void(const TuneDevice&, const std::string& line)> line;   ///< that a tuner wrote
  std::function<void(std::vector<std::string> lines)> status;             ///< what each tuner does now; empty: not asked for
};

/// A tuner process for each device of the models, until every one has ended, by itself or because `stop` asks for it. `arguments`: those of
/// `tilesmith tune`, without --device and --board. Leaves each model's status in it.
void supervise(std::deque<Model>& models, const Workload& workload, std::vector<std::string> arguments, const SupervisorOutput& output,
               const std::atomic<bool>& stop);

}  // namespace tilesmith::tuner
