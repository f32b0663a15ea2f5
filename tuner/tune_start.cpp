#include "tuner/tune_start.hpp"

#include <algorithm>

#include "kernels/eligible.hpp"

namespace tilesmith::tuner {

StartingPoints::StartingPoints(const std::vector<std::string>& families, Evaluator& evaluator, const db::Store& store)
    : families_(families_named(families)),
      evaluator_(evaluator),
      guesser_({families_, evaluator.device(), evaluator.limits(),
                [this](const std::string& family) { return producer(family); },
                [this](const Problem& problem, const Config& config) { return evaluator_.knows(problem, config); }},
               store) {}

const db::Producer& StartingPoints::producer(const std::string& family) {
  const auto known = producers_.find(family);
  if (known != producers_.end()) return known->second;
  return producers_.emplace(family, evaluator_.producer(family)).first->second;
}

const SearchSpace& StartingPoints::legal_configs(const Problem& problem) {
  auto found = std::find_if(kept_.begin(), kept_.end(), [&](const LegalConfigs& kept) {
    return kept.type == problem.type && kept.trans == problem.trans;
  });
  if (found == kept_.end()) {
    if (kept_.size() == kMostKept) kept_.pop_back();
    SearchSpace space;
    for (const Family* family : families_) {  // one by one: a family's configs take up to 200 MB until they are codes
      if (abandoned_) break;
      space.add(enumerate_space(*family, {problem.type, problem.trans, evaluator_.limits()}));
    }
    found = kept_.insert(kept_.end(), {problem.type, problem.trans, std::move(space)});
  }
  std::rotate(kept_.begin(), found, found + 1);
  return kept_.front().space;
}

SearchSpace StartingPoints::space_of(const Problem& problem) {
  const Family* family = nullptr;  // of the config before: they come family by family
  return legal_configs(problem).where([&](const Config& config) {
    if (abandoned_) return false;
    if (family == nullptr || family->name() != config.family()) family = find_family(config.family());
    return eligible(*family, config, problem) && evaluator_.knows(problem, config);
  });
}

void StartingPoints::prepare(const Problem& problem) {
  if (prepared_) prepared_->space.wait();
  prepared_ = Prepared{problem, std::async(std::launch::async, [this, problem] { return space_of(problem); })};
}

StartingPoint StartingPoints::of(const Problem& problem) {
  std::optional<SearchSpace> space;
  if (prepared_) {
    Prepared prepared = std::move(*prepared_);
    prepared_.reset();
    prepared.space.wait();
    if (prepared.problem == problem) space = prepared.space.get();
  }
  if (!space) space = space_of(problem);
  guesser_.refresh_bests();
  const Guesses guesses = guesser_.of(problem);
  StartingPoint start{std::move(*space), {}, {}, guesses.best_is_lost};
  for (const KnownCandidate& known : guesses.known) {
    if (const auto index = start.space.index_of(known.config))
      start.known.push_back({*index, known.outcome, known.repeated});
  }
  for (const Config& config : guesses.to_try) {
    if (const auto index = start.space.index_of(config)) start.seeds.push_back(*index);
  }
  return start;
}

Guesses StartingPoints::foresee(const Problem& problem, std::size_t most) { return guesser_.of(problem, most); }

}  // namespace tilesmith::tuner
