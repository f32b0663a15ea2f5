// The bests of a database as they count today: what would run, and what is recorded as faster and does not count.
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "db/exchange/export.hpp"
#include "db/store/store.hpp"
#include "db/store/trust.hpp"
#include "tuner/wanted.hpp"

namespace tilesmith::tuner {

struct BestsToday {
  std::vector<db::JudgedBest> bests;  ///< by type pair, transposes, M, N, K and device
  std::size_t without = 0;            ///< problems, on a device, that have a time, and none that counts today
  std::size_t passed_over = 0;        ///< those of whose times a faster one does not count
  std::set<std::string> not_loaded;   ///< families of which there are entries, and which this process does not know
};

/// The best `most` configs of each problem on each device, best first. They are judged as `explain` judges and a bundle
/// takes them (usable_bests); a device that is not here, by its newest records. A device that this build knows no
/// architecture of runs nothing. `with_retired`: behind them also the fastest of all recorded times, where it is faster
/// or the only one. Its trust says why it does not count.
BestsToday bests_today(const db::Store& store, const Wanted& wanted, bool with_retired, std::size_t most = 1);

/// The bests of kernels of users' own at these sizes on this device, judged likewise. GEMM problems are passed over.
std::vector<db::JudgedBest> bests_of_kernels(
    const db::Store& store, const std::vector<Task>& tasks, const db::DeviceIdentity& device);

/// How many candidates each trust has, each judged by its latest entry.
using TrustCounts = std::map<db::Trust, std::size_t>;
/// By text of the device and family, judged as bests are.
std::map<std::string, std::map<std::string, TrustCounts>> trust_counts(const db::Store& store);

}  // namespace tilesmith::tuner
