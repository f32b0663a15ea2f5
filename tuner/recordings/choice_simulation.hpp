// What the runtime's choice is worth on problems that nobody tuned, by a recording: each problem is chosen for with
// every measurement of its M, N, K and batch left out, of all type pairs, transposes and epilogues, and the choice is
// held against the recording.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <vector>

#include "db/exchange/recording.hpp"

namespace tilesmith::tuner {

/// What the choice may go by.
enum class ChoosingBy {
  other_shapes,
  no_records,
  sisters,  ///< everything but the problem itself; of problems that have a sister in the recording (are_sisters)
};

struct SimulatedChoice {
  Problem problem;
  Config config;  ///< of the first 64 of the choice's ranking the first that was recorded on the problem with a time
  std::size_t place = 0;  ///< where in the ranking it stands; 0: it is what would have run
  double us = 0,
         best_us = 0;    ///< its time, and that of the best recorded; us is 0 if nothing that was ranked was recorded
  bool generic = false;  ///< the choice was the generic config
  double of_best() const { return us > 0 ? best_us / us : 0; }
};

/// One for each problem of the recording (by `sisters`: that has one) with M, N, K ≥ 1 and a time of a config that is
/// legal today, by problem text. Times of former templates count too: the question is how far times tell of other
/// problems. On all cores. `on_done` is called after each, by several threads; where `stop` is set the rest is left
/// out.
std::vector<SimulatedChoice> simulate_choices(
    const db::Recording& recording, ChoosingBy by, const std::atomic<bool>& stop, const std::function<void()>& on_done);

}  // namespace tilesmith::tuner
