#include "tuner/search/strategy_base.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

namespace tilesmith::tuner {

constexpr int kSpreadDraws = 20;  // the one farthest from the sample joins it
// Initial configs come alone until so many configs have a time: strategies want to see them before they propose of
// their own. Until then so many are timed or in flight at most. While the first own proposals are compiled there is
// still something to be timed.
constexpr std::size_t kEnoughTimed = 10;
constexpr std::size_t kInitialAlone = 22;
constexpr std::size_t kInitialEvery = 3;  // proposals, from then on

StrategyBase::StrategyBase(const SearchSpace& space, std::uint64_t seed, Hints hints)
    : space_(space), rng_(seed), hints_(std::move(hints)), visited_(space.size(), false), unvisited_(space.size()) {}

std::vector<std::size_t> StrategyBase::ask(std::size_t most) {
  std::vector<std::size_t> proposals;
  while (proposals.size() < most && unvisited_ > 0) {
    const bool initial_alone = next_initial_ < hints_.initial_configs.size() && timed_ < kEnoughTimed;
    if (initial_alone && timed_ + in_flight() >= kInitialAlone) break;
    const bool initial_turn = initial_alone || turn_++ % kInitialEvery == 0;
    std::optional<std::size_t> next = initial_turn ? next_initial() : propose();
    if (!next) next = initial_turn ? propose() : next_initial();
    if (!next) break;
    visit(*next);
    proposals.push_back(*next);
  }
  return proposals;
}

void StrategyBase::observe(std::size_t index, Score time_us) {
  if (index >= visited_.size()) return;
  const bool known = !visited_[index];
  visit(index);
  if (time_us && !(std::isfinite(*time_us) && *time_us > 0)) time_us.reset();
  Score& score = scores_[index];
  if (time_us && !score && !(known && hints_.best_is_lost)) ++timed_;
  score = time_us;
  learn(index, time_us);
}

Score StrategyBase::score_of(std::size_t index) const {
  const auto at = scores_.find(index);
  return at == scores_.end() ? std::nullopt : at->second;
}

void StrategyBase::visit(std::size_t index) {
  if (visited_[index]) return;
  visited_[index] = true;
  --unvisited_;
}

std::size_t StrategyBase::in_flight() const { return space_.size() - unvisited_ - scores_.size(); }

std::optional<std::size_t> StrategyBase::next_initial() {
  while (next_initial_ < hints_.initial_configs.size()) {
    const std::size_t seed = hints_.initial_configs[next_initial_++];
    if (seed < visited_.size() && !visited_[seed]) return seed;
  }
  return std::nullopt;
}

std::optional<std::size_t> StrategyBase::random_unvisited() {
  if (shuffled_.empty()) {
    shuffled_.resize(space_.size());
    std::iota(shuffled_.begin(), shuffled_.end(), std::size_t{0});
    rng_.shuffle(shuffled_);
  }
  while (next_shuffled_ < shuffled_.size() && visited_[shuffled_[next_shuffled_]]) ++next_shuffled_;
  if (next_shuffled_ == shuffled_.size()) return std::nullopt;
  return shuffled_[next_shuffled_];
}

std::optional<std::size_t> StrategyBase::take_unvisited(std::vector<std::size_t>& queue) const {
  while (!queue.empty()) {
    const std::size_t next = queue.back();
    queue.pop_back();
    if (!visited_[next]) return next;
  }
  return std::nullopt;
}

std::vector<std::size_t> StrategyBase::neighbours_to_take(std::size_t centre) {
  SearchSpace::Neighbourhood around = space_.neighbourhood(centre);
  rng_.shuffle(around.adjacent);
  rng_.shuffle(around.farther);
  std::vector<std::size_t> queue = std::move(around.farther);
  queue.insert(queue.end(), around.adjacent.begin(), around.adjacent.end());
  if (!hints_.estimate) return queue;
  std::vector<std::pair<double, std::size_t>> estimated;
  for (const std::size_t index : queue) estimated.emplace_back(hints_.estimate(index), index);
  std::stable_sort(estimated.begin(), estimated.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  for (std::size_t i = 0; i < queue.size(); ++i) queue[i] = estimated[i].second;
  return queue;
}

std::optional<std::size_t> StrategyBase::spread_unvisited() {
  for (std::size_t turn = 0; turn < space_.family_count(); ++turn) {
    const std::size_t family = next_family_++ % space_.family_count();
    if (const auto found = spread_in(family)) {
      sample_.push_back(*found);
      return found;
    }
  }
  return random_unvisited();
}

std::optional<std::size_t> StrategyBase::spread_in(std::size_t family) {
  const auto [begin, end] = space_.family_range(family);
  std::optional<std::size_t> best;
  double best_distance = -1;
  for (int draw = 0; draw < kSpreadDraws && begin < end; ++draw) {
    const std::size_t index = begin + rng_.below(end - begin);
    if (visited_[index]) continue;
    double nearest = std::numeric_limits<double>::infinity();
    for (const std::size_t other : sample_) nearest = std::min(nearest, space_.distance(index, other));
    if (nearest > best_distance) {
      best = index;
      best_distance = nearest;
    }
  }
  return best;
}

}  // namespace tilesmith::tuner
