#include "tuner/tune_start.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "kernels/eligible.hpp"
#include "runtime/neighbour.hpp"

namespace tilesmith::tuner {
namespace {

constexpr std::size_t kMostKeptSpaces = 4;  // type pairs and transposes
constexpr std::size_t kMostRetired = 3;     // of this problem: good guesses, and proof of nothing
constexpr std::size_t kMostBests = 8;  // of other problems, from this device and others together
constexpr double kNearDoublings = 4;   // what was best further away is no better a guess than a family's own
constexpr double kOtherTypeDoublings = 0.5;
constexpr double kOtherTransposeDoublings = 0.25;  // for each operand

/// How far a measured problem of any type pair and transposes is from this one, in doublings.
double distance(const Problem& measured, const Problem& problem) {
  double sum = runtime::distance(measured, problem);
  if (measured.type != problem.type) sum += kOtherTypeDoublings;
  sum +=
      kOtherTransposeDoublings * (int(measured.trans.a != problem.trans.a) + int(measured.trans.b != problem.trans.b));
  return sum;
}

/// The indices of those that are ok, fastest first.
std::vector<std::size_t> fastest_first(const std::map<std::size_t, db::Outcome>& outcomes) {
  std::vector<std::pair<double, std::size_t>> timed;
  for (const auto& [index, outcome] : outcomes) {
    if (outcome.status == db::Status::ok && outcome.timing) timed.emplace_back(outcome.timing->median_us, index);
  }
  std::sort(timed.begin(), timed.end());
  std::vector<std::size_t> indices;
  for (const auto& [median_us, index] : timed) indices.push_back(index);
  return indices;
}

}  // namespace

StartingPoints::StartingPoints(const std::vector<std::string>& families, Evaluator& evaluator, const db::Store& store)
    : evaluator_(evaluator), store_(store) {
  for (const auto& family : tilesmith::families()) {
    if (families.empty()) families_.push_back(family.get());
  }
  for (const std::string& name : families) {
    const Family* family = find_family(name);
    if (family == nullptr) {
      std::string known;
      for (const auto& each : tilesmith::families())
        known += fmt::format("{}{}", known.empty() ? "" : ", ", each->name());
      throw std::invalid_argument(fmt::format("unknown family '{}': expected one of {}", name, known));
    }
    if (std::find(families_.begin(), families_.end(), family) == families_.end()) families_.push_back(family);
  }
}

const db::Producer& StartingPoints::producer(const std::string& family) {
  const auto known = producers_.find(family);
  if (known != producers_.end()) return known->second;
  return producers_.emplace(family, evaluator_.producer(family)).first->second;
}

const std::vector<Space>& StartingPoints::spaces_of(const Problem& problem) {
  auto found = std::find_if(kept_.begin(), kept_.end(), [&](const KeptSpaces& kept) {
    return kept.type == problem.type && kept.trans == problem.trans;
  });
  if (found == kept_.end()) {
    if (kept_.size() == kMostKeptSpaces) kept_.pop_back();
    KeptSpaces fresh{problem.type, problem.trans, {}};
    for (const Family* family : families_) {
      fresh.spaces.push_back(enumerate_space(*family, {problem.type, problem.trans, evaluator_.limits()}));
    }
    found = kept_.insert(kept_.end(), std::move(fresh));
  }
  std::rotate(kept_.begin(), found, found + 1);
  return kept_.front().spaces;
}

StartingPoint StartingPoints::of(const Problem& problem) {
  std::vector<Space> allowed;
  for (const Space& space : spaces_of(problem)) {
    const Family* family = find_family(space.family);
    Space kept{space.family, space.parameters, {}, space.combinations, {}};
    for (const Config& config : space.configs) {
      if (eligible(*family, config, problem) && evaluator_.knows(problem, config)) kept.configs.push_back(config);
    }
    allowed.push_back(std::move(kept));
  }
  StartingPoint start{SearchSpace(std::move(allowed)), {}, {}};
  add_evidence(start, problem);
  add_bests_of_other_problems(start, problem);
  add_family_seeds(start, problem);
  return start;
}

void StartingPoints::add_evidence(StartingPoint& start, const Problem& problem) {
  db::EvidenceFilter filter;
  filter.problem = problem;
  filter.device_exactly = evaluator_.device();
  std::map<std::size_t, StartingPoint::Known> valid;  // the latest of each candidate
  std::map<std::size_t, db::Outcome> to_reverify, retired;
  for (const db::Evidence& entry : store_.evidence(filter)) {
    const auto index = start.space.index_of(entry.config);
    if (!index) continue;
    switch (db::judge(entry.producer, producer(entry.config.family()))) {
      case db::Trust::valid: {
        const auto [known, is_new] = valid.try_emplace(*index, StartingPoint::Known{*index, entry.outcome, false});
        if (!is_new) known->second.repeated = true;
        break;
      }
      case db::Trust::reverify:
        to_reverify.try_emplace(*index, entry.outcome);
        break;
      case db::Trust::retired:
        retired.try_emplace(*index, entry.outcome);
        break;
    }
  }
  // A candidate counts once, by the evidence that is trusted most.
  for (const auto& [index, outcome] : to_reverify) retired.erase(index);
  for (auto& [index, known] : valid) {
    to_reverify.erase(index);
    retired.erase(index);
    start.known.push_back(std::move(known));
  }
  // What failed then is no seed: the strategy comes to it in its own time.
  start.seeds = fastest_first(to_reverify);
  std::vector<std::size_t> guesses = fastest_first(retired);
  guesses.resize(std::min(guesses.size(), kMostRetired));
  start.seeds.insert(start.seeds.end(), guesses.begin(), guesses.end());
}

void StartingPoints::add_bests_of_other_problems(StartingPoint& start, const Problem& problem) const {
  struct Neighbour {
    bool other_device;
    double distance;
    std::size_t index;
  };
  std::vector<Neighbour> neighbours;
  db::EvidenceFilter right_ones;  // a best is one of these: the store need not rank the others
  right_ones.status = db::Status::ok;
  for (const db::Best& best : store_.best(right_ones)) {
    const Problem& other = best.evidence.problem;
    if (other.m < 1 || other.n < 1 || other.k < 1) continue;
    const bool other_device = !(best.evidence.device == evaluator_.device());
    if (!other_device && other == problem) continue;  // judged as evidence above
    const double far = distance(other, problem);
    if (!(far <= kNearDoublings)) continue;
    const auto index = start.space.index_of(best.evidence.config);
    if (index) neighbours.push_back({other_device, far, *index});
  }
  // This device's first: the nearest problem there says more than the same one elsewhere.
  std::stable_sort(neighbours.begin(), neighbours.end(), [](const Neighbour& a, const Neighbour& b) {
    return a.other_device != b.other_device ? !a.other_device : a.distance < b.distance;
  });
  std::vector<std::size_t> added;
  for (const Neighbour& neighbour : neighbours) {
    if (added.size() == kMostBests) break;
    if (std::find(added.begin(), added.end(), neighbour.index) == added.end()) added.push_back(neighbour.index);
  }
  start.seeds.insert(start.seeds.end(), added.begin(), added.end());
}

void StartingPoints::add_family_seeds(StartingPoint& start, const Problem& problem) const {
  const KernelTarget target{problem.type, problem.trans, evaluator_.limits()};
  const auto add = [&](const Config& config) {
    if (const auto index = start.space.index_of(config)) start.seeds.push_back(*index);
  };
  // The best guess of each family, then the second of each, and so on: a short search hears of all of them.
  std::vector<std::vector<Config>> guesses;
  std::size_t most = 0;
  for (const Family* family : families_) {
    if (!family->supports(target)) continue;
    guesses.push_back(family->seeds(target, problem));
    most = std::max(most, guesses.back().size());
  }
  for (std::size_t i = 0; i < most; ++i) {
    for (const std::vector<Config>& of_family : guesses) {
      if (i < of_family.size()) add(of_family[i]);
    }
  }
  for (const Family* family : families_) {
    if (!family->supports(target)) continue;
    const std::vector<NamedConfig> ladder = family->ladder(target);  // slowest first; here the fastest comes first
    for (std::size_t i = ladder.size(); i-- > 0;) add(ladder[i].config);
  }
}

}  // namespace tilesmith::tuner
