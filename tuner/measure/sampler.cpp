#include "tuner/measure/sampler.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace tilesmith::tuner {
namespace {

constexpr double kShortLaunchUs = 50;   // below: the event's and the launch's own time would show
constexpr double kGraphUs = 300;
constexpr double kLongestGraphUs = 500;
constexpr int kMostLaunchesPerGraph = 512;
constexpr int kMostGraphs = 8;
constexpr double kWarmUpUs = 200;
constexpr double kLongLaunchUs = 10000;  // one launch of these is warm-up and estimate at once

}  // namespace

GraphLayout graph_layout(int operand_sets, double launch_us) {
  launch_us = std::max(launch_us, 0.5);
  const double rotation_us = operand_sets * launch_us;
  GraphLayout layout;
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

bool is_short(double launch_us) { return launch_us < kShortLaunchUs; }

Sampler::Sampler(const Contender& contender, int operand_sets, Pacing& pacing, const runtime::Stream& stream)
    : contender_(contender), operand_sets_(operand_sets), pacing_(pacing), stream_(stream) {
  // The first launch also loads the kernel's code, and is no measure of a short one.
  launch_us_ = time_launches(1);
  if (launch_us_ > kLongLaunchUs) return;
  launch_us_ = time_launches(1);
  const int launches = std::clamp(int(kWarmUpUs / std::max(launch_us_, 1.0)) + 1, 1, 64);
  launch_us_ = std::min(launch_us_, time_launches(launches) / launches);
}

double Sampler::time_launches(int launches) {
  pacing_.lead_in(stream_);
  before_.record(stream_);
  for (int i = 0; i < launches; ++i) {
    contender_.enqueue(next_set_, stream_);
    next_set_ = (next_set_ + 1) % operand_sets_;
  }
  after_.record(stream_);
  after_.synchronize();
  return after_.elapsed_us_since(before_);
}

void Sampler::prepare(bool graphed) {
  if (!graphed) return;
  const GraphLayout layout = graph_layout(operand_sets_, launch_us_);
  for (int i = 0; i < layout.graphs; ++i) {
    const int first = layout.graphs == 1 ? 0 : i * layout.launches_per_graph;
    const int launches = layout.graphs == 1 ? layout.launches_per_graph
                                            : std::min(layout.launches_per_graph, operand_sets_ - first);
    runtime::Graph graph = runtime::Graph::capture(stream_, [&] {
      for (int j = 0; j < launches; ++j) contender_.enqueue((first + j) % operand_sets_, stream_);
    });
    graph.launch(stream_);
    pieces_.push_back({std::move(graph), launches});
  }
  stream_.synchronize();
}

Sampler::Sample Sampler::take() {
  // So many sets may still fit the L2 together (see kMaxOperandSets).
  if (operand_sets_ >= kMaxOperandSets) pacing_.scrub(stream_);
  if (pieces_.empty()) {
    const double us = time_launches(1);
    return {us, us};
  }
  const Piece& piece = pieces_[next_piece_];
  next_piece_ = (next_piece_ + 1) % pieces_.size();
  pacing_.lead_in(stream_);
  before_.record(stream_);
  piece.graph.launch(stream_);
  after_.record(stream_);
  after_.synchronize();
  const double us = after_.elapsed_us_since(before_);
  return {us / piece.launches, us};
}

}  // namespace tilesmith::tuner
