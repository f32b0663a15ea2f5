// In which order operand sets are read: always the one after the last, whoever launches and whether the launch is
// timed.
//
// One rotation belongs to a problem's operands and is shared by all that are timed on them, so that between two
// launches on one set all the other sets were read. Competitors with rotations of their own would go in step, and find
// in the L2 what another has just read.
#pragma once

namespace tilesmith::tuner {

/// How the launches of a rotation through the operand sets are spread over CUDA graphs. Competitors that are compared
/// have one layout: a piece of one's then ends where a piece of any other's begins.
struct GraphLayout {
  int operand_sets = 1;
  int graphs = 1;              ///< pieces of the rotation, replayed in turn; together they pass through all sets
  int launches_per_graph = 1;  ///< the last graph of several may be shorter

  int first_set(int graph) const;
  int launches(int graph) const;
  int fewest_launches() const { return launches(graphs - 1); }
};

/// A graph should last some hundred µs: long against an event's resolution and the launch of the graph, short enough
/// for many samples. Rotations shorter than that are repeated whole within one graph; longer ones are cut in up to 8
/// pieces. `launch_us`: of the fastest that is timed in it, with what stands before each launch.
GraphLayout graph_layout(int operand_sets, double launch_us);

class Rotation {
 public:
  explicit Rotation(int operand_sets);

  int operand_sets() const { return operand_sets_; }
  /// The set of the next launch.
  int next();
  /// Whether the next set is the first one of a graph.
  bool begins_graph(const GraphLayout& layout) const;
  /// The graph that is replayed next. Precondition: begins_graph(layout).
  int next_graph(const GraphLayout& layout);

 private:
  int operand_sets_;
  int next_set_ = 0;
};

}  // namespace tilesmith::tuner
