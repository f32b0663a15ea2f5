// The analytic prior: how long a config may take on a problem, from counting alone. It orders the configs that are
// tried first, before anything is compiled; `tilesmith explain --prior` shows it.
#pragma once

#include <optional>
#include <string_view>

#include "kernels/families/family.hpp"

namespace tilesmith {

/// Good for comparing configs on one problem. How far it can be trusted is learnt from what was measured
/// (runtime/choose/time_model.hpp). Times are in clock cycles.
struct Estimate {
  double cycles = 0;  ///< in all, launches included

  // Blocks, and the multiprocessors that they can fill.
  double blocks = 0, sms = 0;
  double resident = 0;  ///< blocks that an SM holds at a time
  double waves = 0;     ///< blocks / what the SMs hold at a time; the last wave is rarely full
  /// How many blocks an SM has room for by each of its resources (0: not counted), and how many the kernel is compiled
  /// for.
  int room_by_shared_memory = 0, room_by_registers = 0, room_by_threads = 0, compiled_for = 0;

  /// What the busiest SM would take if only this took time.
  double multiplying = 0, shared_memory = 0, l2 = 0, dram = 0, latency = 0, storing = 0;
  double passes = 0;  ///< launches, packing before and sums after: part of `cycles`

  /// The name of the longest of them, passes aside.
  std::string_view bound_by() const;
};

/// Cycles of a plan's first launch. It comes behind a kernel of the application, so that it takes as long whether it may
/// begin early or not; in a row of products early launches gain, so they win a tie.
double first_launch_cycles(const Config& config);
/// Cycles of each further launch. It waits until the launch before has ended; if it overlaps, it starts while that
/// ends.
double next_launch_cycles(bool overlaps);

/// Of the SMs, those that clusters of so many blocks can fill: they do not span the groups that SMs come in.
double share_of_sms(int cluster);

/// Empty if the config's family makes none. Precondition: the config is legal; m, n, k ≥ 1.
std::optional<Estimate> estimate(const Config& config, const KernelTarget& target, const Problem& problem);

}  // namespace tilesmith
