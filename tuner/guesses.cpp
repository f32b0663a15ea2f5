#include "tuner/guesses.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <set>
#include <stdexcept>
#include <unordered_set>

#include "kernels/eligible.hpp"
#include "tuner/added_parameters.hpp"
#include "tuner/finalists.hpp"
#include "tuner/tried_nearby.hpp"

namespace tilesmith::tuner {
namespace {

constexpr std::size_t kMostRetired = 8;  // of this problem: good guesses, and proof of nothing; as many as a play-off takes
constexpr std::size_t kMostVaried = 8;   // by what was added to their families since; and of how many is asked
constexpr std::size_t kMostBests = 8;    // of other problems, from this device and others together
constexpr double kNearDoublings = 4;     // what was best further away is no better a guess than a family's own
constexpr std::size_t kLeastTried = 100;  // candidates that the model learns from
constexpr double kGoodSlowdown = 1.1;  // what did no worse on one of those problems may do well on this one
constexpr std::uint64_t kModelSeed = 1;

using Outcomes = std::map<std::string, std::pair<Config, db::Outcome>>;  // by config text

constexpr double kNever = std::numeric_limits<double>::infinity();

double time_or_never(const db::Outcome& outcome) {
  return score_of(outcome).value_or(kNever);
}

/// Those that are ok, fastest first.
std::vector<Config> fastest_first(const Outcomes& outcomes) {
  std::vector<std::pair<double, const Config*>> timed;
  for (const auto& [text, candidate] : outcomes) {
    const auto& [config, outcome] = candidate;
    if (const double us = time_or_never(outcome); us < kNever) timed.emplace_back(us, &config);
  }
  std::stable_sort(timed.begin(), timed.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<Config> configs;
  for (const auto& [median_us, config] : timed) configs.push_back(*config);
  return configs;
}

}  // namespace

std::vector<const Family*> families_named(const std::vector<std::string>& names) {
  std::string known;
  for (const auto& family : families()) known += fmt::format("{}{}", known.empty() ? "" : ", ", family->name());
  for (const std::string& name : names) {
    if (find_family(name) == nullptr)
      throw std::invalid_argument(fmt::format("unknown family '{}': expected one of {}", name, known));
  }
  std::vector<const Family*> found;
  for (const auto& family : families()) {
    if (names.empty() || std::find(names.begin(), names.end(), family->name()) != names.end())
      found.push_back(family.get());
  }
  return found;
}

/// Configs in the order in which they come, each once.
class Guesser::List {
 public:
  List(std::vector<Config>& configs, std::size_t most) : configs_(configs), most_(most) {}

  bool full() const { return configs_.size() >= most_; }
  bool holds(const Config& config) const { return seen_.contains(config.text()); }
  void leave_out(const Config& config) { seen_.insert(config.text()); }
  /// False if nothing was added.
  bool add(const Config& config) {
    if (full() || !seen_.insert(config.text()).second) return false;
    configs_.push_back(config);
    return true;
  }
  /// The first from `at` on that is new; `at` is then behind it.
  bool add_next(const std::vector<Config>& from, std::size_t& at) {
    while (at < from.size()) {
      if (add(from[at++])) return true;
    }
    return false;
  }

 private:
  std::vector<Config>& configs_;
  std::size_t most_;
  std::unordered_set<std::string> seen_;
};

Guesser::Guesser(GuessingFor whom, const db::Store& store) : whom_(std::move(whom)), store_(store), bests_(store) {}

Guesses Guesser::of(const Problem& problem, std::size_t most) {
  Guesses guesses;
  List list(guesses.to_try, most);
  add_own(guesses, list, problem);
  if (list.full()) return guesses;
  // What the model promises most of, what was best nearby and what a family thinks best in turn: a short search hears of all.
  const std::vector<Config> bests = nearest_bests(problem, list);
  const std::vector<Config>& own = family_guesses(problem);
  const std::vector<Config>& learned = promising(problem, bests);
  std::size_t next_best = 0, next_own = 0, next_learned = 0;
  bool any = true;
  while (any && !list.full()) {
    any = list.add_next(learned, next_learned);
    any = list.add_next(bests, next_best) || any;
    any = list.add_next(learned, next_learned) || any;
    any = list.add_next(own, next_own) || any;
  }
  for (const Config& rung : ladders(problem)) list.add(rung);
  return guesses;
}

const Guesser::OfTarget& Guesser::of_target(const Problem& problem) {
  for (const OfTarget& known : targets_) {
    if (known.target.type == problem.type && known.target.trans == problem.trans) return known;
  }
  OfTarget fresh{{problem.type, problem.trans, whom_.limits}, {}};
  for (const Family* family : whom_.families) fresh.families.emplace_back(*family, fresh.target);
  return targets_.emplace_back(std::move(fresh));
}

/// Null if the config's family is none of those that guesses are for.
const Legality* Guesser::legality_of(const Config& config, const Problem& problem) {
  for (const Legality& legality : of_target(problem).families) {
    if (legality.family().name() == config.family()) return &legality;
  }
  return nullptr;
}

/// The config as of today, if it may be tried on the problem.
std::optional<Config> Guesser::runnable(const Config& config, const Problem& problem) {
  const Legality* legality = legality_of(config, problem);
  if (legality == nullptr) return std::nullopt;
  for (Config& today : as_of_today(config, legality->parameters())) {
    if (legality->illegal_because(today) || !eligible(legality->family(), today, problem)) continue;
    if (whom_.knows && !whom_.knows(problem, today)) continue;
    return std::move(today);
  }
  return std::nullopt;
}

void Guesser::add_own(Guesses& guesses, List& list, const Problem& problem) {
  db::EvidenceFilter filter;
  filter.problem = problem;
  filter.device_exactly = whom_.device;
  std::map<std::string, db::Producer> producers;
  struct Found {
    KnownCandidate candidate;
    std::size_t entries_since;  // the first of it
  };
  std::map<std::string, Found> valid;  // by config text; the latest of each candidate
  Outcomes to_reverify, retired;
  std::set<std::string> of_other_policy;  // of the retired: their times compare among themselves
  AddedParameters added;
  std::size_t entries = 0;
  for (const db::Evidence& entry : store_.evidence(filter)) {
    ++entries;
    if (const Legality* legality = legality_of(entry.config, problem)) added.saw(entry.config, legality->parameters());
    const auto config = runnable(entry.config, problem);
    if (!config) continue;
    const std::string key = config->text();
    const bool filled_in = config->values().size() != entry.config.values().size();
    const auto producer = producers.try_emplace(config->family());
    if (producer.second) producer.first->second = whom_.producer(config->family());
    switch (filled_in ? db::Trust::retired : db::judge(entry.producer, producer.first->second)) {
      case db::Trust::valid: {
        const auto [known, is_new] = valid.try_emplace(key, Found{{*config, entry.outcome, false}, entries});
        if (!is_new) known->second = {{*config, known->second.candidate.outcome, true}, entries};
        break;
      }
      case db::Trust::reverify:
        to_reverify.try_emplace(key, *config, entry.outcome);
        break;
      case db::Trust::remeasure:
      case db::Trust::retired:
        if (retired.try_emplace(key, *config, entry.outcome).second &&
            entry.producer.measuring_policy != producer.first->second.measuring_policy)
          of_other_policy.insert(key);
        break;
    }
  }
  // A candidate counts once, by the evidence that is trusted most.
  for (const auto& [key, candidate] : to_reverify) retired.erase(key);
  // The fastest of former times, which compare among themselves; one that was tried again since is known, whatever came of it.
  double best_then = kNever, best_known = kNever;
  bool is_known = true;
  for (const Outcomes* outcomes : {&to_reverify, &retired}) {
    for (const auto& [key, candidate] : *outcomes) {
      const double us = of_other_policy.contains(key) ? kNever : time_or_never(candidate.second);
      if (us >= best_then) continue;
      best_then = us;
      is_known = valid.contains(key);
    }
  }
  for (const auto& [key, found] : valid) best_known = std::min(best_known, time_or_never(found.candidate.outcome));
  guesses.best_is_lost = !is_known && best_then < best_known;
  std::vector<Found> in_order;
  for (auto& [key, found] : valid) {
    to_reverify.erase(key);
    retired.erase(key);
    list.leave_out(found.candidate.config);
    in_order.push_back(std::move(found));
  }
  std::stable_sort(in_order.begin(), in_order.end(),
                   [](const Found& a, const Found& b) { return a.entries_since > b.entries_since; });
  for (Found& found : in_order) guesses.known.push_back(std::move(found.candidate));
  // What failed then is no guess: a search comes to it in its own time.
  for (const Config& config : fastest_first(to_reverify)) list.add(config);
  std::vector<Config> formerly = fastest_first(retired);
  formerly.resize(std::min(formerly.size(), kMostRetired));
  Outcomes tried = std::move(retired);
  tried.merge(to_reverify);
  for (const KnownCandidate& known : guesses.known) tried.try_emplace(known.config.text(), known.config, known.outcome);
  const std::vector<Config> varied = with_added(added, fastest_first(tried), problem);
  std::size_t next_former = 0, next_varied = 0;
  for (bool any = true; any;) {
    any = list.add_next(formerly, next_former);
    any = list.add_next(varied, next_varied) || any;
  }
}

/// The first few of them with what was added to their families and never tried on the problem.
std::vector<Config> Guesser::with_added(const AddedParameters& added, const std::vector<Config>& fastest, const Problem& problem) {
  std::vector<Config> found;
  for (std::size_t i = 0; i < std::min(fastest.size(), kMostVaried); ++i) {
    const Legality* legality = legality_of(fastest[i], problem);
    for (const Config& other : added.untried(fastest[i], legality->parameters())) {
      if (found.size() < kMostVaried && runnable(other, problem)) found.push_back(other);
    }
  }
  return found;
}

void Guesser::refresh_bests() {
  if (promising_ && promising_->second.empty()) promising_.reset();
  bests_.refresh();
}

/// The bests of other problems that the list does not hold.
std::vector<Config> Guesser::nearest_bests(const Problem& problem, const List& list) {
  struct Neighbour {
    bool other_device;
    double distance;
    const Config* config;
  };
  std::vector<Neighbour> neighbours;
  for (const db::Best& best : bests_.all()) {
    const Problem& other = best.evidence.problem;
    if (other.m < 1 || other.n < 1 || other.k < 1) continue;
    const bool other_device = !(best.evidence.device == whom_.device);
    if (!other_device && other == problem) continue;  // judged as the problem's own
    const double far = doublings_apart(other, problem);
    if (far <= kNearDoublings) neighbours.push_back({other_device, far, &best.evidence.config});
  }
  // This device's first: the nearest problem there says more than the same one elsewhere.
  std::stable_sort(neighbours.begin(), neighbours.end(), [](const Neighbour& a, const Neighbour& b) {
    return a.other_device != b.other_device ? !a.other_device : a.distance < b.distance;
  });
  std::vector<Config> found;
  for (const Neighbour& neighbour : neighbours) {
    if (found.size() == kMostBests) break;
    const auto config = runnable(*neighbour.config, problem);
    if (config && !list.holds(*config) && std::find(found.begin(), found.end(), *config) == found.end())
      found.push_back(*config);
  }
  return found;
}

/// The best guess of each family, then the second of each, and so on; of equal rank the family documented last comes first,
/// which was added for what those before it do not do as well.
const std::vector<Config>& Guesser::family_guesses(const Problem& problem) {
  if (family_guesses_ && family_guesses_->first == problem) return family_guesses_->second;
  const OfTarget& target = of_target(problem);
  std::vector<std::vector<Config>> of_families;
  std::size_t most = 0;
  for (auto legality = target.families.rbegin(); legality != target.families.rend(); ++legality) {
    if (!legality->family().supports(target.target)) continue;
    std::vector<Config> good;
    for (const Config& guess : legality->family().seeds(target.target, problem)) {
      if (auto config = runnable(guess, problem)) good.push_back(*std::move(config));
    }
    most = std::max(most, good.size());
    of_families.push_back(std::move(good));
  }
  std::vector<Config> found;
  for (std::size_t rank = 0; rank < most; ++rank) {
    for (const std::vector<Config>& of_family : of_families) {
      if (rank < of_family.size()) found.push_back(of_family[rank]);
    }
  }
  family_guesses_.emplace(problem, std::move(found));
  return family_guesses_->second;
}

/// What a model of the evidence nearby promises most of: of the bests, the families' guesses and what did well there.
const std::vector<Config>& Guesser::promising(const Problem& problem, const std::vector<Config>& nearest) {
  if (promising_ && promising_->first == problem) return promising_->second;
  promising_.emplace(problem, std::vector<Config>{});
  const auto today = [&](const Config& config, const Problem& other) { return runnable(config, other); };
  const std::vector<Tried> tried = tried_nearby(problem, bests_.all(), store_, whom_.device, today);
  if (tried.size() < kLeastTried) return promising_->second;
  std::vector<Config> candidates;
  List once(candidates, kAll);
  for (const Config& config : nearest) once.add(config);
  for (const Config& config : family_guesses(problem)) once.add(config);
  for (const Tried& one : tried) {
    if (one.slowdown > kGoodSlowdown) continue;
    if (const auto config = runnable(one.config, problem)) once.add(*config);
  }
  promising_->second = most_promising_first(std::move(candidates), tried, problem, {whom_.device, whom_.limits}, kModelSeed);
  return promising_->second;
}

/// From the top: the fastest rung first.
std::vector<Config> Guesser::ladders(const Problem& problem) {
  const OfTarget& target = of_target(problem);
  std::vector<Config> found;
  for (const Legality& legality : target.families) {
    if (!legality.family().supports(target.target)) continue;
    const std::vector<NamedConfig> ladder = legality.family().ladder(target.target);
    for (std::size_t i = ladder.size(); i-- > 0;) {
      if (auto config = runnable(ladder[i].config, problem)) found.push_back(*std::move(config));
    }
  }
  return found;
}

}  // namespace tilesmith::tuner
