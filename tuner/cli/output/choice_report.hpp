// What `tilesmith simulate --choose` prints.
#pragma once

#include <string>
#include <vector>

#include "tuner/cli/output/output.hpp"
#include "tuner/recordings/choice_simulation.hpp"

namespace tilesmith::tuner {

/// One recording's choices, in one of the two ways.
struct SimulatedChoices {
  std::string recording;
  ChoosingBy by = ChoosingBy::other_shapes;
  std::vector<SimulatedChoice> choices;
};

/// A table of the means, and of the worst problems; as CSV and JSON one record a problem.
std::string choice_report(const std::vector<SimulatedChoices>& all, TextFormat format, std::size_t width);

}  // namespace tilesmith::tuner
