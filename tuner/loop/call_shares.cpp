#include "tuner/loop/call_shares.hpp"

#include "tuner/peaks.hpp"

namespace tilesmith::tuner {
namespace {

constexpr std::int64_t kLastTimes = 16;  // on record; a final benchmark's are among them

double time_us(const Task& task, const db::Store& store, const db::DeviceIdentity& device) {
  double best_us = 0;
  for (const db::Record& entry :
      store.records({.task = task, .device_exactly = device, .status = db::Status::ok, .limit = kLastTimes})) {
    const double us = entry.outcome.timing->median_us;
    if (best_us == 0 || us < best_us) best_us = us;
  }
  return best_us > 0 ? best_us : estimated_us(device, task);
}

}  // namespace

std::vector<double> call_shares(const Workload& workload, const db::Store& store, const db::DeviceIdentity& device) {
  std::vector<double> shares;
  if (!workload.weights_are_calls) return shares;
  for (const auto& [task, calls] : workload.tasks) shares.push_back(calls * time_us(task, store, device));
  return shares;
}

}  // namespace tilesmith::tuner
