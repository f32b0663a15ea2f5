#include "tuner/warm_start/initial_configs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <unordered_set>

#include "kernels/families/tasks.hpp"
#include "tuner/search/sample.hpp"
#include "tuner/warm_start/finalists.hpp"
#include "tuner/warm_start/own_kernel_start.hpp"
#include "tuner/warm_start/tried_nearby.hpp"

namespace tilesmith::tuner {
namespace {

constexpr std::size_t kMostFormerTimes =
    8;  // of this problem: good initial configs, and proof of nothing; as many as a final benchmark takes
constexpr std::size_t kMostOfSimilar = 4;  // of this problem on similar devices
constexpr std::size_t kMostBests = 8;      // of other problems, from this device and others together
constexpr double kNearDoublings = 4;       // what was best further away is no better a guess than a family's own
constexpr std::size_t kLeastTried = 100;   // candidates that the model learns from
constexpr double kGoodSlowdown = 1.1;      // what did no worse on one of those problems may do well on this one
constexpr std::uint64_t kModelSeed = 1;

/// What would measure an entry's config today. A config is as good a guess whatever its compiler options were, and
/// another device's driver and NVRTC are its own.
std::function<db::Environment(const db::Record&)> judging_for(const InitialConfigsFor& whom) {
  return [device = whom.device, environment = whom.environment](const db::Record& entry) {
    db::Environment now = environment(entry.config.family());
    now.compiler_options = entry.environment.compiler_options;
    if (entry.device == device) return now;
    now.driver_version = entry.environment.driver_version;
    now.nvrtc_version = entry.environment.nvrtc_version;
    return now;
  };
}

template <typename Value>
const Value* kept(const std::deque<std::pair<Problem, Value>>& values, const Problem& problem) {
  const auto found = std::ranges::find(values, problem, &std::pair<Problem, Value>::first);
  return found == values.end() ? nullptr : &found->second;
}
template <typename Value>
Value& keep(std::deque<std::pair<Problem, Value>>& values, const Problem& problem, Value value, std::size_t most) {
  if (values.size() == most) values.pop_back();
  return values.emplace_front(problem, std::move(value)).second;
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
class InitialConfigSource::List {
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

InitialConfigSource::InitialConfigSource(InitialConfigsFor whom, const db::Store& store)
    : whom_(std::move(whom)),
      store_(store),
      families_(whom_.families, whom_.limits),
      bests_(store, judging_for(whom_)) {}

InitialConfigs InitialConfigSource::of(const Task& task, std::size_t most) {
  InitialConfigs initial_configs;
  List list(initial_configs.to_try, most);
  add_own(initial_configs, list, task);
  if (list.full() || whom_.only_finalists > 0) return initial_configs;
  if (!task.is_gemm()) {
    for (const Config& config : bests_at_nearest_sizes(task.kernel(), whom_, store_)) {
      if (runnable(config, task)) list.add(config);
    }
    return initial_configs;
  }
  const Problem& problem = task.problem();
  add_best_of_sister(list, problem);
  // What was fastest on similar devices, what the model promises most of, what was best nearby and what a family thinks
  // best in turn: a short search hears of all.
  const std::vector<Config> of_similar = of_similar_devices(problem);
  const std::vector<Config> bests = nearest_bests(problem, list, of_similar);
  const Learned& learned = learned_nearby(problem, of_similar, bests);
  std::vector<Config> own = family_configs(problem);
  const auto outclassed = std::stable_partition(
      own.begin(), own.end(), [&](const Config& config) { return !learned.outclassed.contains(config.family()); });
  const std::vector<Config> own_last(outclassed, own.end());
  own.erase(outclassed, own.end());
  std::size_t next_similar = 0, next_best = 0, next_own = 0, next_learned = 0;
  bool any = true;
  while (any && !list.full()) {
    any = list.add_next(of_similar, next_similar);
    any = list.add_next(learned.promising, next_learned) || any;
    any = list.add_next(bests, next_best) || any;
    any = list.add_next(learned.promising, next_learned) || any;
    any = list.add_next(own, next_own) || any;
  }
  for (const Config& config : own_last) list.add(config);
  for (const Config& level : ladders(problem)) list.add(level);
  return initial_configs;
}

std::optional<Config> InitialConfigSource::runnable(const Config& config, const Task& task) {
  if (task.is_gemm()) return families_.runnable(config, task.problem(), whom_.knows);
  const bool runs = !refused_because(config, task, whom_.limits) && (!whom_.knows || whom_.knows(task, config));
  return runs ? std::optional(config) : std::nullopt;
}

OwnRecords InitialConfigSource::record_on(const db::DeviceIdentity& device, const Task& task) {
  const std::vector<db::Record> entries = store_.records({.task = task, .device_exactly = device});  // newest first
  Today today;
  today.config = [&](const Config& config) { return runnable(config, task); };
  today.parameters = [&](const Config& config) {
    const Legality* legality = families_.legality_of(config, task.problem());
    return legality == nullptr ? nullptr : &legality->parameters();
  };
  today.environment = whom_.environment;
  if (device == whom_.device && task.is_gemm()) {
    if (!entries.empty() && entries.front().id > first_tried_until_) {
      first_tried_until_ = store_.last_entry();
      first_tried_ = store_.first_tried();
    }
    today.first_tried = &first_tried_;
  }
  return own_records(entries, today);
}

void InitialConfigSource::add_own(InitialConfigs& initial_configs, List& list, const Task& task) {
  OwnRecords own = record_on(whom_.device, task);
  initial_configs.best_is_lost = own.best_is_lost;
  initial_configs.known = std::move(own.known);
  for (const KnownCandidate& known : initial_configs.known) list.leave_out(known.config);
  if (whom_.only_finalists > 0) {
    for (const Config& config : former_finalists(own.former, whom_.only_finalists)) list.add(config);
    return;
  }
  for (const Config& config : own.to_reverify) list.add(config);
  own.former_times.resize(std::min(own.former_times.size(), kMostFormerTimes));
  std::size_t next_former = 0, next_varied = 0;
  // A turn may be one candidate long. What is slower than a known one says less then than a value that this one lacks.
  const auto has_time = [](const KnownCandidate& known) { return known.outcome.status == db::Status::ok; };
  if (!own.best_is_lost && std::any_of(initial_configs.known.begin(), initial_configs.known.end(), has_time))
    list.add_next(own.varied, next_varied);
  for (bool any = true; any;) {
    any = list.add_next(own.former_times, next_former);
    any = list.add_next(own.varied, next_varied) || any;
  }
}

/// The best of the same problem with another epilogue, or none: nothing else is as likely to be as fast.
void InitialConfigSource::add_best_of_sister(List& list, const Problem& problem) {
  std::vector<std::pair<double, const Config*>> sisters;
  for (const db::Record& best : bests_.all()) {
    if (best.device == whom_.device && are_sisters(best.task.problem(), problem))
      sisters.emplace_back(doublings_apart(best.task.problem(), problem), &best.config);
  }
  std::ranges::stable_sort(sisters, {}, &std::pair<double, const Config*>::first);
  for (const auto& [far, best] : sisters) {
    const auto config = runnable(*best, problem);
    if (!config || list.holds(*config)) continue;
    list.add(*config);
    return;
  }
}

/// Of each such device that knows the problem, the most similar first, what it would play off, and then what it would
/// try again.
std::vector<Config> InitialConfigSource::of_similar_devices(const Problem& problem) {
  std::vector<const db::DeviceIdentity*> devices;
  for (const db::Record& best : bests_.all()) {
    const db::DeviceIdentity& device = best.device;
    if (best.task.problem() == problem && !(device == whom_.device) && db::are_similar(device, whom_.device))
      devices.push_back(&device);
  }
  std::stable_sort(devices.begin(), devices.end(), [&](const auto* a, const auto* b) {
    return db::sm_doublings(*a, whom_.device) < db::sm_doublings(*b, whom_.device);
  });
  std::vector<Config> found;
  List once(found, kMostOfSimilar);
  for (const db::DeviceIdentity* device : devices) {
    if (once.full()) break;
    const OwnRecords there = record_on(*device, problem);
    for (const Config& config : known_finalists(there.known, kMostOfSimilar)) once.add(config);
    for (const Config& config : there.to_reverify) once.add(config);
    for (const Config& config : there.former_times) once.add(config);
  }
  return found;
}

void InitialConfigSource::refresh_bests() {
  std::erase_if(learned_, [](const auto& of_problem) { return of_problem.second.nothing(); });
  bests_.refresh();
}

/// The bests of other problems, and of devices that are not similar of this one, that neither list holds.
std::vector<Config> InitialConfigSource::nearest_bests(
    const Problem& problem, const List& list, const std::vector<Config>& of_similar) {
  struct Neighbour {
    bool other_device;
    double distance;
    const Config* config;
  };
  std::vector<Neighbour> neighbours;
  for (const db::Record& best : bests_.all()) {
    const Problem& other = best.task.problem();
    if (other.m < 1 || other.n < 1 || other.k < 1 || other.batch < 1) continue;
    const bool other_device = !(best.device == whom_.device);
    if (!other_device && other == problem) continue;  // judged as the problem's own
    const double far = doublings_apart(other, problem);
    if (far <= kNearDoublings) neighbours.push_back({other_device, far, &best.config});
  }
  // This device's first: similar devices have had their say of this problem, and others say less of it than the nearest
  // problem here.
  std::stable_sort(neighbours.begin(), neighbours.end(), [](const Neighbour& a, const Neighbour& b) {
    return a.other_device != b.other_device ? !a.other_device : a.distance < b.distance;
  });
  std::vector<Config> found;
  List once(found, kMostBests);
  for (const Config& config : of_similar) once.leave_out(config);
  for (const Neighbour& neighbour : neighbours) {
    if (once.full()) break;
    const auto config = runnable(*neighbour.config, problem);
    if (config && !list.holds(*config)) once.add(*config);
  }
  return found;
}

/// The best guess of each family, then the second of each, and so on; of equal rank the family documented last comes
/// first, which was added for what those before it do not do as well.
const std::vector<Config>& InitialConfigSource::family_configs(const Problem& problem) {
  if (const auto* known = kept(family_configs_, problem)) return *known;
  const FamiliesToday::OfTarget& target = families_.of_target(problem);
  std::vector<std::vector<Config>> of_families;
  for (auto legality = target.families.rbegin(); legality != target.families.rend(); ++legality) {
    if (!legality->family().supports(target.target)) continue;
    std::vector<Config> good;
    for (const Config& guess : legality->family().initial_configs(target.target, as_planned(problem))) {
      if (auto config = runnable(guess, problem)) good.push_back(*std::move(config));
    }
    of_families.push_back(std::move(good));
  }
  return keep(family_configs_, problem, in_turns(of_families), kMostKept);
}

/// What a model of the records nearby promises most of: of what was fastest on similar devices, the bests, the
/// families' initial configs and what did well there; and which families did badly.
const InitialConfigSource::Learned& InitialConfigSource::learned_nearby(
    const Problem& problem, const std::vector<Config>& of_similar, const std::vector<Config>& nearest) {
  if (const auto* known = kept(learned_, problem)) return *known;
  Learned& learned = keep(learned_, problem, Learned{}, kMostKept);
  const auto today = [&](const Config& config, const Problem& other) { return runnable(config, other); };
  TriedNearby tried = tried_nearby(problem, bests_.all(), store_, whom_.device, today);
  if (tried.sample.size() < kLeastTried) return learned;
  std::vector<Config> candidates;
  List once(candidates, kAll);
  for (const std::vector<Config>* configs : {&of_similar, &nearest}) {
    for (const Config& config : *configs) once.add(config);
  }
  for (const Config& config : family_configs(problem)) once.add(config);
  for (const Tried& one : tried.sample) {
    if (one.slowdown > kGoodSlowdown) continue;
    if (const auto config = runnable(one.config, problem)) once.add(*config);
  }
  learned.promising =
      most_promising_first(std::move(candidates), tried.sample, problem, {whom_.device, whom_.limits}, kModelSeed);
  learned.outclassed = std::move(tried.outclassed);
  return learned;
}

/// From the top: the fastest level first.
std::vector<Config> InitialConfigSource::ladders(const Problem& problem) {
  const FamiliesToday::OfTarget& target = families_.of_target(problem);
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
