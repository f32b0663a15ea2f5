#include "tuner/workers/phase_clock.hpp"

#include <fmt/format.h>

namespace tilesmith::tuner {

void PhaseClock::end() {
  if (phase_.empty()) return;
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - began_;
  text_ += fmt::format("{}{} {:.1f} ms", text_.empty() ? "" : ", ", phase_, took.count());
  phase_.clear();
}

void PhaseClock::enter(Phase phase, bool new_problem) {
  end();
  phase_ = std::string(name(phase)) + (new_problem ? " of a new problem" : "");
  began_ = std::chrono::steady_clock::now();
}

std::string PhaseClock::text() {
  end();
  return text_;
}

}  // namespace tilesmith::tuner
