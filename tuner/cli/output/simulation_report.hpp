// What `tilesmith simulate` prints and plots, and prints with --choose.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tuner/cli/output/output.hpp"
#include "tuner/recordings/choice_simulation.hpp"
#include "tuner/search/simulation.hpp"

namespace tilesmith::tuner {

struct SimulatedStrategy {
  std::string name;
  Curve curve;
  double score = 0;
};

/// What the names of Kernel Tuner's strategies begin with.
inline constexpr std::string_view kKernelTunerPrefix = "kt:";

/// One recording, with the strategies in the order asked for. The curve of one that failed is empty.
struct SimulatedRecording {
  std::string name;
  std::size_t configs = 0, ok = 0;
  double optimum_us = 0;
  std::optional<OtherObjective> objective;  ///< nullopt: time
  std::vector<SimulatedStrategy> strategies;
  Curve random;  ///< what scores are against
};

/// One table a recording, then, of several, one of the means over them; as CSV and JSON the same figures, one record a
/// recording and strategy. Precondition: at least one recording.
std::string simulation_report(const std::vector<SimulatedRecording>& recordings, const SimulationOptions& options,
    TextFormat format, std::size_t width);

/// One table of all recordings with the means alone, the best of ours and of Kernel Tuner's marked; its last rows are
/// the means over all recordings. Precondition: at least one recording.
std::string beside_report(
    const std::vector<SimulatedRecording>& recordings, const SimulationOptions& options, std::size_t width);

/// A self-contained SVG: a panel for each recording with the strategies' mean fractions over evaluations (logarithmic),
/// and a band from the tenth percentile up to the mean. Random search is always drawn, dashed.
std::string simulation_plot(const std::vector<SimulatedRecording>& recordings, const SimulationOptions& options);

/// One recording's choices, in one of the ways.
struct SimulatedChoices {
  std::string recording;
  ChoosingBy by = ChoosingBy::other_shapes;
  std::vector<SimulatedChoice> choices;
};

/// A table of the means, and of the worst problems; as CSV and JSON one record a problem.
std::string choice_report(const std::vector<SimulatedChoices>& all, TextFormat format, std::size_t width);

}  // namespace tilesmith::tuner
