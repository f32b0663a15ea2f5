// Takes single samples of one competitor. A sample is device time between two events over the launches between them;
// behind another kernel, the difference of two such times: of a graph of pairs, and of one of the other kernel alone.
#pragma once

#include <map>
#include <vector>

#include "runtime/driver/device.hpp"
#include "tuner/measure/pacing.hpp"
#include "tuner/measure/rotation.hpp"
#include "tuner/measure/stopwatch.hpp"

namespace tilesmith::tuner {

class Sampler {
 public:
  struct Sample {
    double us = 0;           ///< of one launch
    double measured_us = 0;  ///< of all launches of the sample, those of another kernel too
  };

  /// Warms the competitor up: at least two launches (one if it is very long) and 200 µs of work. The arguments must
  /// outlive it; competitors that are compared share the rotation.
  Sampler(const Competitor& competitor, Rotation& rotation, Pacing& pacing, const runtime::Stream& stream);

  /// A rough time of one launch, from the warm-up.
  double launch_us() const { return launch_us_; }

  /// For samples of graphs instead of single launches: captures them and replays each once (its first replay also
  /// uploads it). Competitors that are compared must be given the same layout, all before the first sample.
  void prepare(const GraphLayout& layout, Before before);
  Sample take();

 private:
  double time_launches(int launches);
  double time_graph(const runtime::Graph& graph);
  Sample take_behind(int graph);

  const Competitor& competitor_;
  Rotation& rotation_;
  Pacing& pacing_;
  const runtime::Stream& stream_;
  runtime::Event before_, after_;
  double launch_us_ = 0;
  GraphLayout layout_;
  std::vector<runtime::Graph> graphs_;    ///< of the layout; empty: single launches
  std::map<int, runtime::Graph> others_;  ///< of the other kernel alone, by its launches; empty: no such kernel
  bool others_first_ = false;             ///< in the next sample
};

}  // namespace tilesmith::tuner
