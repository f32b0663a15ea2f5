// What the phases of a candidate took, for the log.
#pragma once

#include <chrono>
#include <string>

#include "tuner/workers/measure_session.hpp"

namespace tilesmith::tuner {

class PhaseClock {
 public:
  /// Ends the phase before. `new_problem`: as MeasureSession::OnPhase has it.
  void enter(Phase phase, bool new_problem);
  /// "loading 0.4 ms, verification of a new problem 212.0 ms, timing 9.8 ms"; ends the last phase.
  std::string text();

 private:
  void end();

  std::string text_;
  std::string phase_;  ///< empty: none
  std::chrono::steady_clock::time_point began_{};
};

}  // namespace tilesmith::tuner
