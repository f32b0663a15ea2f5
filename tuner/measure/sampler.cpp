#include "tuner/measure/sampler.hpp"

#include <algorithm>

#include "tuner/measure/statistics.hpp"

namespace tilesmith::tuner {

constexpr double kWarmUpUs = 200;
constexpr double kLongLaunchUs = 10000;  // one launch of these is warm-up and estimate at once

Sampler::Sampler(const Competitor& competitor, Rotation& rotation, Pacing& pacing, const runtime::Stream& stream)
    : competitor_(competitor), rotation_(rotation), pacing_(pacing), stream_(stream) {
  // The first launch also loads the kernel's code, and is no measure of a short one.
  launch_us_ = time_launches(1);
  if (launch_us_ > kLongLaunchUs) return;
  launch_us_ = time_launches(1);
  const int launches = std::clamp(int(kWarmUpUs / std::max(launch_us_, 1.0)) + 1, 1, 64);
  launch_us_ = std::min(launch_us_, time_launches(launches) / launches);
}

double Sampler::time_launches(int launches) {
  pacing_.blocking_kernel(stream_);
  before_.record(stream_);
  for (int i = 0; i < launches; ++i) competitor_.enqueue(rotation_.next(), stream_);
  after_.record(stream_);
  after_.synchronize();
  return after_.elapsed_us_since(before_);
}

void Sampler::prepare(const GraphLayout& layout, Before before) {
  layout_ = layout;
  const bool behind = before == Before::another_kernel;
  for (int i = 0; i < layout.graphs; ++i) {
    const int launches = layout.launches(i);
    graphs_.push_back(runtime::Graph::capture(stream_, [&] {
      for (int j = 0; j < launches; ++j) {
        if (behind) pacing_.another_kernel(stream_);
        competitor_.enqueue((layout.first_set(i) + j) % layout.operand_sets, stream_);
      }
    }));
    if (!behind || others_.contains(launches)) continue;
    others_.emplace(launches, runtime::Graph::capture(stream_, [&] {
      for (int j = 0; j < launches; ++j) pacing_.another_kernel(stream_);
    }));
  }
  while (!rotation_.begins_graph(layout)) competitor_.enqueue(rotation_.next(), stream_);
  for (int i = 0; i < layout.graphs; ++i) graphs_[std::size_t(rotation_.next_graph(layout))].launch(stream_);
  for (const auto& [launches, graph] : others_) graph.launch(stream_);
  stream_.synchronize();
}

double Sampler::time_graph(const runtime::Graph& graph) {
  pacing_.blocking_kernel(stream_);
  before_.record(stream_);
  graph.launch(stream_);
  after_.record(stream_);
  after_.synchronize();
  return after_.elapsed_us_since(before_);
}

/// Both halves within a millisecond, so that the device's speed is the same; in turns the one or the other comes first.
Sampler::Sample Sampler::take_behind(int graph) {
  const int launches = layout_.launches(graph);
  const runtime::Graph& pairs = graphs_[std::size_t(graph)];
  const runtime::Graph& others = others_.at(launches);
  const bool others_first = others_first_;
  others_first_ = !others_first_;
  const double first_us = time_graph(others_first ? others : pairs);
  const double second_us = time_graph(others_first ? pairs : others);
  const double pairs_us = others_first ? second_us : first_us;
  const double others_us = others_first ? first_us : second_us;
  return {difference_us(pairs_us, others_us, launches), pairs_us + others_us};
}

Sampler::Sample Sampler::take() {
  // So many sets may still fit the L2 together (see kMaxOperandSets).
  if (rotation_.operand_sets() >= kMaxOperandSets) pacing_.scrub(stream_);
  if (graphs_.empty()) {
    const double us = time_launches(1);
    return {us, us};
  }
  const int graph = rotation_.next_graph(layout_);
  if (!others_.empty()) return take_behind(graph);
  const double us = time_graph(graphs_[std::size_t(graph)]);
  return {us / layout_.launches(graph), us};
}

}  // namespace tilesmith::tuner
