// What all strategies share: the first initial configs come first, the others in turn with what the strategy proposes
// of its own, and nothing is proposed twice or after it was observed.
#pragma once

#include <cstddef>
#include <optional>
#include <unordered_map>
#include <vector>

#include "tuner/search/rng.hpp"
#include "tuner/search/strategy.hpp"

namespace tilesmith::tuner {

class StrategyBase : public Strategy {
 public:
  StrategyBase(const SearchSpace& space, std::uint64_t seed, Hints hints);
  std::vector<std::size_t> ask(std::size_t most) final;
  void observe(std::size_t index, Score time_us) final;
  bool done() const final { return unvisited_ == 0; }

 protected:
  /// The next proposal where it is no seed's turn: a config not visited yet, or nothing (observe first).
  virtual std::optional<std::size_t> propose() = 0;
  /// Called for every observation; the score is a positive number if there is one.
  virtual void learn(std::size_t /*index*/, Score /*time_us*/) {}

  const SearchSpace& space() const { return space_; }
  Rng& rng() { return rng_; }
  const Hints& hints() const { return hints_; }
  /// Proposed or observed.
  bool visited(std::size_t index) const { return visited_[index]; }
  /// What was observed last; nothing if it failed or was not observed.
  Score score_of(std::size_t index) const;
  /// How many configs were observed.
  std::size_t observed_count() const { return scores_.size(); }
  /// Of those not visited, the next in a shuffled order; nothing if there is none.
  std::optional<std::size_t> random_unvisited();
  /// The last of the queue that is not visited; takes it out, with those behind it. Nothing if there is none.
  std::optional<std::size_t> take_unvisited(std::vector<std::size_t>& queue) const;
  /// To be taken from the back: what is estimated to be fastest first; without estimates, and where these are equal,
  /// single steps and then larger ones, each part shuffled.
  std::vector<std::size_t> neighbours_to_take(std::size_t centre);
  /// The next of a well-spread sample: families take turns, and of some random configs the one that differs most from
  /// those of the sample before. Nothing if there is none.
  std::optional<std::size_t> spread_unvisited();

 private:
  std::optional<std::size_t> spread_in(std::size_t family);
  void visit(std::size_t index);
  std::optional<std::size_t> next_initial();
  /// Proposed and not yet observed.
  std::size_t in_flight() const;

  const SearchSpace& space_;
  Rng rng_;
  Hints hints_;
  std::size_t next_initial_ = 0;
  std::size_t turn_ = 0;  // of a seed or an own proposal
  std::vector<bool> visited_;
  std::size_t unvisited_;
  std::unordered_map<std::size_t, Score> scores_;  // looked up only: its order is not the same everywhere
  std::size_t timed_ = 0;                          // of them, those with a time that count towards the ten (Hints)
  std::vector<std::size_t> shuffled_;              // made when first needed
  std::size_t next_shuffled_ = 0;
  std::vector<std::size_t> sample_;  // by spread_unvisited
  std::size_t next_family_ = 0;
};

}  // namespace tilesmith::tuner
