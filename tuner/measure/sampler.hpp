// Takes single samples of one contender. A sample is device time between two events over the launches between them.
#pragma once

#include <vector>

#include "runtime/device.hpp"
#include "tuner/measure/pacing.hpp"
#include "tuner/measure/stopwatch.hpp"

namespace tilesmith::tuner {

/// How the launches of a rotation through the operand sets are spread over CUDA graphs.
struct GraphLayout {
  int graphs = 1;              ///< replayed in turn; together they pass through all sets
  int launches_per_graph = 1;  ///< the last graph of several may be shorter
};

/// A graph should last some hundred µs: long against an event's resolution and the launch of the graph, short enough for
/// many samples. Rotations shorter than that are repeated whole within one graph; longer ones are cut in up to 8 pieces.
GraphLayout graph_layout(int operand_sets, double launch_us);

/// Whether launches of that length are timed inside a graph: below some 50 µs the gaps around a single launch would show.
bool is_short(double launch_us);

class Sampler {
 public:
  struct Sample {
    double us = 0;           ///< of one launch
    double measured_us = 0;  ///< of all launches of the sample
  };

  /// Warms the contender up: at least two launches (one if it is very long) and 200 µs of work. The arguments must
  /// outlive it.
  Sampler(const Contender& contender, int operand_sets, Pacing& pacing, const runtime::Stream& stream);

  /// A rough time of one launch, from the warm-up.
  double launch_us() const { return launch_us_; }

  /// Call once before take(): captures the graphs and replays each once (its first replay also uploads it). Contenders
  /// that are compared must be prepared alike.
  void prepare(bool graphed);
  Sample take();

 private:
  double time_launches(int launches);

  const Contender& contender_;
  int operand_sets_;
  Pacing& pacing_;
  const runtime::Stream& stream_;
  runtime::Event before_, after_;
  double launch_us_ = 0;
  struct Piece {
    runtime::Graph graph;
    int launches = 0;
  };
  std::vector<Piece> pieces_;  ///< empty: single launches
  std::size_t next_piece_ = 0;
  int next_set_ = 0;
};

}  // namespace tilesmith::tuner
