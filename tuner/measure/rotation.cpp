#include "tuner/measure/rotation.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace tilesmith::tuner {

constexpr double kGraphUs = 300;
constexpr double kLongestGraphUs = 500;
constexpr int kMostLaunchesPerGraph = 512;
constexpr int kMostGraphs = 8;

int GraphLayout::first_set(int graph) const { return graph * launches_per_graph; }

int GraphLayout::launches(int graph) const {
  return graphs == 1 ? launches_per_graph : std::min(launches_per_graph, operand_sets - first_set(graph));
}

GraphLayout graph_layout(int operand_sets, double launch_us) {
  launch_us = std::max(launch_us, 0.5);
  const double rotation_us = operand_sets * launch_us;
  GraphLayout layout;
  layout.operand_sets = operand_sets;
  if (rotation_us <= kLongestGraphUs) {
    const int most = std::max(1, kMostLaunchesPerGraph / operand_sets);
    layout.launches_per_graph = operand_sets * std::clamp(int(kGraphUs / rotation_us), 1, most);
    return layout;
  }
  layout.graphs = std::min({operand_sets, kMostGraphs, int(std::ceil(rotation_us / kGraphUs))});
  layout.launches_per_graph = (operand_sets + layout.graphs - 1) / layout.graphs;
  layout.graphs = (operand_sets + layout.launches_per_graph - 1) / layout.launches_per_graph;
  return layout;
}

Rotation::Rotation(int operand_sets) : operand_sets_(operand_sets) {
  if (operand_sets < 1) throw std::invalid_argument("a rotation through no operand sets");
}

int Rotation::next() {
  const int set = next_set_;
  next_set_ = (next_set_ + 1) % operand_sets_;
  return set;
}

bool Rotation::begins_graph(const GraphLayout& layout) const { return next_set_ % layout.launches_per_graph == 0; }

int Rotation::next_graph(const GraphLayout& layout) {
  if (!begins_graph(layout)) throw std::logic_error("the rotation stands within a graph");
  const int graph = next_set_ / layout.launches_per_graph;
  next_set_ = (next_set_ + layout.launches(graph)) % operand_sets_;
  return graph;
}

}  // namespace tilesmith::tuner
