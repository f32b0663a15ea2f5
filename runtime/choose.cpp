#include "runtime/choose.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <unordered_map>

#include "kernels/eligible.hpp"
#include "runtime/neighbour.hpp"

namespace tilesmith::runtime {
namespace {

constexpr std::size_t kNearestProblems = 5;
constexpr std::size_t kMostRunnersUp = 5;
constexpr double kAlikeDeviceDoublings = 0.02;
constexpr double kOtherDeviceDoublings = 2;

/// What a problem measured on the one device is further away on the other; of devices alike, less where they have as many SMs.
double device_doublings(const db::DeviceIdentity& on, const db::DeviceIdentity& here) {
  return db::are_alike(on, here) ? kAlikeDeviceDoublings * (1 + db::sm_doublings(on, here)) : kOtherDeviceDoublings;
}

/// An entry that may be used, as far as its evidence goes; whether its config runs this problem here is asked later.
using Usable = db::Judged;

struct Tally {
  std::size_t seen = 0;  ///< entries of the type pair and transposes
  std::size_t retired = 0;
  std::size_t refused = 0;  ///< best configs looked at that are illegal here or refuse the problem
};

/// All usable configs of one measured problem on one device.
struct MeasuredProblem {
  std::vector<Usable> all;
  std::vector<Usable> configs;  ///< those of which times compare, best first
  double distance = 0;
  bool same_device = true;
  const Problem& problem() const { return all.front().entry->problem; }
};

bool better(const Usable& a, const Usable& b) {
  if (a.trust != b.trust) return a.trust < b.trust;
  if (a.entry->outcome.timing->median_us != b.entry->outcome.timing->median_us) {
    return a.entry->outcome.timing->median_us < b.entry->outcome.timing->median_us;
  }
  return a.entry->config.text() < b.entry->config.text();
}

bool has_time(const db::Evidence& entry) {
  return entry.outcome.status == db::Status::ok && entry.outcome.timing && entry.outcome.timing->median_us > 0 &&
         std::isfinite(entry.outcome.timing->median_us);
}

void rank(MeasuredProblem& measured) {
  measured.configs = measured.all;
  db::keep_comparable(measured.configs);
  std::sort(measured.configs.begin(), measured.configs.end(), better);
}

class Chooser {
 public:
  Chooser(std::span<const db::Evidence> entries, const Problem& problem, const KernelTarget& target, const ProducerNow& now,
          const db::DeviceIdentity* device)
      : problem_(problem), target_(target), now_(now), device_(device) {
    if (is_something()) measured_ = group(latest_of_candidates(entries));
  }

  Choice choose() {
    tally_.refused = 0;
    Choice choice;
    bool found = false;
    for (const MeasuredProblem& one : measured_) {
      if (one.same_device && one.problem() == problem_) found = take_exact(one, choice);
    }
    const std::vector<Neighbour> neighbours = nearest();
    if (!found && !neighbours.empty()) {
      take_neighbour(neighbours, choice);
    } else if (!found) {
      take_generic(choice);
    } else {
      add_runners_up(neighbours, 0, choice);
    }
    return choice;
  }

  void pass_over(const Config& config) {
    for (MeasuredProblem& one : measured_) {
      if (std::erase_if(one.all, [&](const Usable& usable) { return usable.entry->config == config; }) > 0) rank(one);
    }
    std::erase_if(measured_, [](const MeasuredProblem& one) { return one.all.empty(); });
  }

 private:
  struct Neighbour {
    const MeasuredProblem* where;
    Usable best;
    double misfit;
    double score() const { return where->distance + misfit; }
  };

  bool is_something() const { return problem_.m > 0 && problem_.n > 0 && problem_.k > 0; }

  db::Trust trust(const db::Evidence& entry) {
    auto known = producers_.find(entry.config.family());
    if (known == producers_.end()) {
      known = producers_.emplace(entry.config.family(), now_(entry.config.family())).first;
    }
    return db::judge(entry.producer, known->second);
  }

  /// Entries of the type pair and transposes that are not retired, the latest of each candidate.
  std::vector<Usable> latest_of_candidates(std::span<const db::Evidence> entries) {
    std::unordered_map<std::string, Usable> latest;
    for (const db::Evidence& entry : entries) {
      if (!(entry.problem.type == problem_.type) || !(entry.problem.trans == problem_.trans)) continue;
      if (entry.problem.m < 1 || entry.problem.n < 1 || entry.problem.k < 1) continue;
      if (find_family(entry.config.family()) == nullptr) continue;
      ++tally_.seen;
      const db::Trust how = trust(entry);
      if (how == db::Trust::retired) {
        ++tally_.retired;
        continue;
      }
      const std::string candidate =
          fmt::format("{}\n{}\n{}", text(entry.problem), entry.config.text(), db::text(entry.device));
      const auto [place, fresh] = latest.try_emplace(candidate, Usable{&entry, how});
      if (!fresh && db::is_later(entry, *place->second.entry)) place->second = {&entry, how};
    }
    std::vector<Usable> result;
    for (const auto& [candidate, usable] : latest) {
      if (has_time(*usable.entry)) result.push_back(usable);
    }
    return result;
  }

  std::vector<MeasuredProblem> group(const std::vector<Usable>& usable) const {
    std::map<std::string, MeasuredProblem> groups;  // ordered, so that equal distances are always resolved alike
    for (const Usable& one : usable) {
      groups[text(one.entry->problem) + '\n' + db::text(one.entry->device)].all.push_back(one);
    }
    std::vector<MeasuredProblem> result;
    for (auto& [key, measured] : groups) {
      rank(measured);
      const db::DeviceIdentity& on = measured.all.front().entry->device;
      measured.same_device = device_ == nullptr || on == *device_;
      measured.distance = runtime::distance(measured.problem(), problem_);
      if (!measured.same_device) measured.distance += device_doublings(on, *device_);
      result.push_back(std::move(measured));
    }
    std::stable_sort(result.begin(), result.end(),
                     [](const auto& a, const auto& b) { return a.distance < b.distance; });
    return result;
  }

  bool runs_here(const Config& config) {
    const Family* family = find_family(config.family());
    if (!illegal_because(*family, config, target_) && eligible(*family, config, problem_)) return true;
    ++tally_.refused;
    return false;
  }

  bool take_exact(const MeasuredProblem& measured, Choice& choice) {
    bool found = false;
    for (const Usable& one : measured.configs) {
      if (choice.runners_up.size() == kMostRunnersUp) break;
      if (!runs_here(one.entry->config)) continue;
      if (found) {
        choice.runners_up.push_back(
            {one.entry->config, Rung::exact, one.entry->outcome.timing->median_us,
             one.trust == db::Trust::reverify ? "same problem, to be re-verified" : "same problem"});
        continue;
      }
      found = true;
      fill(one, Rung::exact, choice);
      choice.reason = fmt::format("measured on this problem: {:.2f} us, best of {}",
                                  one.entry->outcome.timing->median_us, measured.configs.size());
    }
    return found;
  }

  /// The best config of each of the nearest problems that has one for this problem, smallest score first; each problem on the device
  /// that is nearest.
  std::vector<Neighbour> nearest() {
    std::vector<Neighbour> result;
    const auto is_there = [&](const Problem& problem) {
      return std::ranges::any_of(result, [&](const Neighbour& other) { return other.where->problem() == problem; });
    };
    for (const MeasuredProblem& one : measured_) {
      if (result.size() == kNearestProblems) break;
      if ((one.same_device && one.problem() == problem_) || is_there(one.problem())) continue;
      const auto best = std::find_if(one.configs.begin(), one.configs.end(),
                                     [&](const Usable& usable) { return runs_here(usable.entry->config); });
      if (best == one.configs.end()) continue;
      const db::Evidence& entry = *best->entry;
      const Place there{entry.problem, entry.device.sm_count}, here{problem_, device_ == nullptr ? there.sm_count : device_->sm_count};
      result.push_back({&one, *best, misfit(*find_family(entry.config.family()), entry.config, there, here)});
    }
    std::stable_sort(result.begin(), result.end(),
                     [](const Neighbour& a, const Neighbour& b) { return a.score() < b.score(); });
    return result;
  }

  void take_neighbour(const std::vector<Neighbour>& neighbours, Choice& choice) {
    const Neighbour& first = neighbours.front();
    fill(first.best, Rung::neighbour, choice);
    choice.reason = fmt::format("not measured itself; best config of {} ({})", where(first), describe(first));
    add_runners_up(neighbours, 1, choice);
  }

  void take_generic(Choice& choice) {
    choice.config = generic_config(target_);
    choice.rung = Rung::generic;
    if (!is_something()) {
      choice.reason = "M, N or K is 0: there is nothing to multiply";
      return;
    }
    if (tally_.seen == 0) {
      choice.reason = fmt::format("no evidence for {} {} on this device", problem_.type.name, name(problem_.trans));
      return;
    }
    choice.reason = fmt::format(
        "none of {} entries for {} {} can be used: {} retired (template or compiler options changed; `tilesmith renew` "
        "keeps those of which the same would run), {} illegal here or refusing the problem",
        tally_.seen, problem_.type.name, name(problem_.trans), tally_.retired, tally_.refused);
  }

  static void fill(const Usable& usable, Rung rung, Choice& choice) {
    choice.config = usable.entry->config;
    choice.rung = rung;
    choice.evidence = *usable.entry;
    choice.trust = usable.trust;
  }

  static std::string where(const Neighbour& neighbour) {
    const std::string problem = text(neighbour.where->problem());
    return neighbour.where->same_device ? problem : fmt::format("{} on {}", problem, db::text(neighbour.best.entry->device));
  }

  static std::string describe(const Neighbour& neighbour) {
    return fmt::format("distance {:.2f}, misfit {:.2f} doublings", neighbour.where->distance, neighbour.misfit);
  }

  static bool names(const Choice& choice, const Config& config) {
    return choice.config == config || std::ranges::any_of(choice.runners_up, [&](const Choice::RunnerUp& other) {
             return other.config == config;
           });
  }

  /// Of neighbours that share a best config the nearest names it.
  static void add_runners_up(const std::vector<Neighbour>& neighbours, std::size_t from, Choice& choice) {
    for (std::size_t i = from; i < neighbours.size() && choice.runners_up.size() < kMostRunnersUp; ++i) {
      const db::Evidence& entry = *neighbours[i].best.entry;
      if (names(choice, entry.config)) continue;
      choice.runners_up.push_back({entry.config, Rung::neighbour, entry.outcome.timing->median_us,
                                   fmt::format("best of {}: {}", where(neighbours[i]), describe(neighbours[i]))});
    }
  }

  const Problem& problem_;
  const KernelTarget& target_;
  const ProducerNow& now_;
  const db::DeviceIdentity* device_;
  std::unordered_map<std::string, db::Producer> producers_;
  std::vector<MeasuredProblem> measured_;  ///< nearest first
  Tally tally_;
};

}  // namespace

std::string_view name(Rung rung) {
  switch (rung) {
    case Rung::exact:
      return "exact";
    case Rung::neighbour:
      return "neighbour";
    case Rung::generic:
      return "generic";
  }
  return "?";
}

std::string reason_of(const Choice& choice) {
  if (choice.trust == db::Trust::reverify) {
    return choice.reason + "; the driver or NVRTC changed since, the tuner has to verify it again";
  }
  if (choice.trust == db::Trust::remeasure && choice.evidence) {
    return fmt::format("{}; timed by the measuring policy {}, the tuner has to time it again", choice.reason,
                       choice.evidence->producer.measuring_policy);
  }
  return choice.reason;
}

struct Choices::State : Chooser {
  using Chooser::Chooser;
};

Choices::Choices(std::span<const db::Evidence> entries, const Problem& problem, const KernelTarget& target, const ProducerNow& now,
                 const db::DeviceIdentity* device)
    : state_(std::make_unique<State>(entries, problem, target, now, device)) {}
Choices::~Choices() = default;

Choice Choices::best() { return state_->choose(); }
void Choices::pass_over(const Config& config) { state_->pass_over(config); }

Choice choose(std::span<const db::Evidence> entries, const Problem& problem, const KernelTarget& target, const ProducerNow& now,
              const db::DeviceIdentity* device) {
  return Choices(entries, problem, target, now, device).best();
}

}  // namespace tilesmith::runtime
