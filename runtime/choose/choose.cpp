#include "runtime/choose/choose.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <map>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "db/store/ranked.hpp"
#include "kernels/base/on_all_cores.hpp"
#include "runtime/choose/neighbour.hpp"
#include "runtime/choose/time_model.hpp"

namespace tilesmith::runtime {
namespace {

/// A config is a candidate elsewhere if it took no more than this times its problem's best.
constexpr double kNearlyBest = 1.3;
/// Further than this from all that was measured, the families' initial configs are asked for.
constexpr double kFarDoublings = 1.5;

bool is_something(const Problem& problem) {
  return problem.m > 0 && problem.n > 0 && problem.k > 0 && problem.batch > 0;
}

/// A config whose kernel exists for the target.
struct Candidate {
  Config config;
  const Family* family;
  TimeModel::Handle handle;
  bool stored;  ///< nothing has to be compiled for it, as far as is known
};

bool needs_proof(const Config& config) {
  const Family* family = find_family(config.family());
  return family != nullptr && family->needs_proof();
}

}  // namespace

bool tell_of_each_other(const TypePair& a, const TypePair& b) {
  const auto is_like = [](Scalar one, Scalar other) {
    return size_bits(one) == size_bits(other) && is_integer(one) == is_integer(other) && is_fp8(one) == is_fp8(other);
  };
  return is_like(a.a, b.a) && is_like(a.b, b.b);
}

struct Chooser::State {
  State(std::span<const db::Record> entries, const KernelTarget& target, const EnvironmentToJudgeBy& now,
      const db::DeviceIdentity* device, const StoredKernels& stored)
      : target_(target), now_(now), model_(target, device) {
    if (device != nullptr && device->sm_count > 0) target_.limits.sm_count = device->sm_count;
    ranked_ = db::rank(entries, [&](const db::Record& entry) { return environment_of(entry.config.family()); });
    std::unordered_set<std::string> seen;
    for (const db::RankedTask& one : ranked_) {
      const Problem& problem = one.problem();
      if (!is_something(problem)) continue;
      if (problem.signature() == target.signature()) ++known_problems_;
      retired_entries_ += one.retired_entries;
      if (!tell_of_each_other(problem.type, target.type)) continue;
      if (problem.epilogue.has_block_scales() != target.epilogue.has_block_scales()) continue;  // other loops over K
      const bool same_kernels = problem.signature() == target.signature();
      if (same_kernels) note_failures(one);
      if (problem.sparsity == target.sparsity && !one.best.empty()) knows_sparsity_ = true;
      learn(one.best, same_kernels, seen, stored);
      learn(one.retired_times, false, seen, stored);
      if (device != nullptr && !(one.device() == *device)) continue;
      if (same_kernels) exact_.emplace(text(problem), &one);
      sisters_.add(one);
    }
    for (const Config& config : stored.candidates) {
      if (!needs_proof(config) && seen.insert(config.text()).second) add_candidate(config, stored);
    }
    initial_configs_are_stored_ = !stored.has;
    for (Candidate& candidate : candidates_) candidate.handle = model_.handle(candidate.config);
  }

  /// A kernel that is wrong, or none at all, is so for every problem; what failed to launch or to end in time, for its
  /// own.
  void note_failures(const db::RankedTask& one) {
    for (const db::Record* entry : one.failed) {
      const db::Status status = entry->outcome.status;
      const bool of_kernel = status == db::Status::compile_failed || status == db::Status::spilled ||
                             status == db::Status::mismatch || status == db::Status::device_fault;
      (of_kernel ? failed_ : failed_here_[text(one.problem())]).insert(entry->config.text());
    }
  }

  /// From times of one problem, fastest first. `proven`: they are of the target's kernels as they are today.
  void learn(const std::vector<db::Judged>& times, bool proven, std::unordered_set<std::string>& seen,
      const StoredKernels& stored) {
    double fastest_us = 0;  // of those that may run
    for (const db::Judged& one : times) {
      if (!db::is_trial(one.entry->environment) && !model_.add(*one.entry))
        continue;  // a trial's time is not the kernel's alone
      const double us = one.entry->outcome.timing->median_us;
      if (fastest_us == 0) fastest_us = us;
      const bool may_run = proven || !needs_proof(one.entry->config);
      if (may_run && us <= kNearlyBest * fastest_us && seen.insert(one.entry->config.text()).second)
        add_candidate(one.entry->config, stored);
    }
  }

  void add_candidate(const Config& config, const StoredKernels& stored) {
    const Family* family = find_family(config.family());
    if (family == nullptr) return;
    const auto known = legalities_.try_emplace(config.family(), *family, target_).first;
    if (!known->second.illegal_because(config))
      candidates_.push_back({config, family, {}, !stored.has || stored.has(config)});
  }

  const db::Environment& environment_of(const std::string& family) {
    const auto known = environments_.find(family);
    return known != environments_.end() ? known->second : environments_.emplace(family, now_(family)).first->second;
  }

  bool runs(const Family& family, const Config& config, const Problem& problem) const {
    const auto known = legalities_.find(config.family());
    const bool illegal = known != legalities_.end() ? known->second.illegal_because(config).has_value()
                                                    : illegal_because(family, config, target_).has_value();
    return !illegal && !refused_because(family, config, problem);
  }

  /// The best of this very problem that may run, best first.
  std::vector<db::Judged> exact(const Problem& problem, const Without& without, std::size_t most) const {
    std::vector<db::Judged> found;
    const auto [first, last] = exact_.equal_range(text(problem));
    for (auto at = first; at != last; ++at) {
      for (const db::Judged& one : at->second->best) {
        const Family* family = find_family(one.entry->config.family());
        if (family != nullptr && !without.configs.contains(one.entry->config.text()) &&
            runs(*family, one.entry->config, problem))
          found.push_back(one);
        if (found.size() == most) return found;
      }
    }
    return found;
  }

  /// Of what may run, the fastest of the nearest sister that has any.
  void mark_best_of_sister(const Problem& problem, std::vector<RankedConfig>& found) const {
    for (const db::RankedTask* sister : sisters_.nearest_first(problem)) {
      for (const db::Judged& one : sister->best) {
        const auto at = std::ranges::find_if(
            found, [&](const RankedConfig& may_run) { return *may_run.config == one.entry->config; });
        if (at == found.end()) continue;
        at->sister = &sister->problem();
        return;
      }
    }
  }

  /// Of the model level, best first; `initial`: keeps the configs that are in no records alive.
  std::vector<RankedConfig> ranked(
      const Problem& problem, const Without& without, std::size_t most, std::vector<Config>& initial) const {
    const TimeModel::At at(model_, problem);
    std::vector<RankedConfig> found;
    const auto failed_here = failed_here_.find(text(problem));
    const auto is_out = [&](const Config& config) {
      if (without.configs.empty() && failed_.empty() && failed_here == failed_here_.end()) return false;
      const std::string text = config.text();
      return without.configs.contains(text) || failed_.contains(text) ||
             (failed_here != failed_here_.end() && failed_here->second.contains(text));
    };
    const auto add = [&](const TimeModel::Handle& handle, bool stored) {
      if (const auto prediction = at.predict(handle)) found.push_back({handle.config, *prediction, stored});
    };
    for (const Candidate& candidate : candidates_) {
      if (without.compiling && !candidate.stored) continue;
      if (!refused_because(*candidate.family, candidate.config, problem) && !is_out(candidate.config))
        add(candidate.handle, candidate.stored);
    }
    const bool any =
        std::ranges::any_of(found, [](const RankedConfig& one) { return one.prediction.by_family_estimate; });
    if (!without.compiling && (!any || !knows_sparsity_ || at.nearest_doublings() > kFarDoublings)) {
      std::vector<std::vector<Config>> of_families(families().size());
      on_all_cores(of_families.size(), [&](std::size_t i) {
        const Family& family = *families()[i];
        if (family.needs_proof() || !family.supports(target_)) return;
        of_families[i] = family.initial_configs(target_, as_planned(problem));
        std::erase_if(
            of_families[i], [&](const Config& config) { return !runs(family, config, problem) || is_out(config); });
      });
      for (std::vector<Config>& configs : of_families) std::ranges::move(configs, std::back_inserter(initial));
      for (const Config& config : initial) {
        const TimeModel::Handle handle = model_.handle(config);
        if (std::ranges::none_of(found, [&](const RankedConfig& one) { return *one.config == config; }))
          add(handle, initial_configs_are_stored_);
      }
    }
    mark_best_of_sister(problem, found);
    const std::size_t count = std::min(most, found.size());
    std::partial_sort(found.begin(), found.begin() + std::ptrdiff_t(count), found.end(), comes_first);
    found.resize(count);
    return found;
  }

  Choice choose(const Problem& problem, const Without& without, std::size_t runners_up) const {
    Choice choice;
    if (!is_something(problem)) {
      choice.config = generic_config(target_);
      choice.reason = problem.batch == 0 ? "the batch has no entry: there is nothing to multiply"
                                         : "M, N or K is 0: there is nothing to multiply";
      return choice;
    }
    const std::vector<db::Judged> measured = exact(problem, without, runners_up + 1);
    std::vector<Config> initial;
    Without rest = without;
    for (const db::Judged& one : measured) rest.configs.insert(one.entry->config.text());
    rest.compiling = without.compiling || !measured.empty();  // runners-up are not worth a wait
    std::vector<RankedConfig> predicted;
    if (measured.size() <= runners_up) predicted = ranked(problem, rest, runners_up + 1 - measured.size(), initial);
    if (!measured.empty()) {
      take_exact(measured, choice);
    } else if (!predicted.empty()) {
      take_predicted(predicted.front(), choice);
    } else {
      take_generic(choice);
    }
    for (std::size_t i = measured.empty() ? 1 : 0; i < predicted.size(); ++i) {
      choice.runners_up.push_back({*predicted[i].config, Level::model, predicted[i].prediction.us,
          fmt::format("estimated {:.2f} us, times {:.2f}", predicted[i].prediction.estimated_us,
              predicted[i].prediction.us / predicted[i].prediction.estimated_us)});
    }
    return choice;
  }

  void take_exact(const std::vector<db::Judged>& measured, Choice& choice) const {
    const db::Judged& first = measured.front();
    choice.config = first.entry->config;
    choice.level = Level::exact;
    choice.record = *first.entry;
    choice.trust = first.trust;
    choice.environment = environments_.at(choice.config.family());
    choice.reason = fmt::format("measured on this problem: {:.2f} us", first.entry->outcome.timing->median_us);
    for (std::size_t i = 1; i < measured.size(); ++i) {
      choice.runners_up.push_back(
          {measured[i].entry->config, Level::exact, measured[i].entry->outcome.timing->median_us,
              measured[i].trust == db::Trust::reverify ? "same problem, to be re-verified" : "same problem"});
    }
  }

  void take_predicted(const RankedConfig& first, Choice& choice) const {
    choice.config = *first.config;
    choice.level = Level::model;
    choice.predicted_us = first.prediction.us;
    choice.reason = why(first);
    if (first.prediction.nearest == nullptr) return;
    choice.record = *first.prediction.nearest;
    choice.environment = environments_.at(choice.config.family());
    choice.trust = db::judge(*first.prediction.nearest, choice.environment);
  }

  void take_generic(Choice& choice) const {
    choice.config = generic_config(target_);
    choice.reason = fmt::format(
        "no other config can run {} {} here: {} measured, {} retired (kernel, launches or compiler options changed)",
        target_.type.name, tilesmith::name(target_.trans), known_problems_, retired_entries_);
  }

  KernelTarget target_;
  EnvironmentToJudgeBy now_;
  TimeModel model_;
  std::vector<db::RankedTask> ranked_;
  std::multimap<std::string, const db::RankedTask*> exact_;  // by problem text
  Sisters sisters_;                                          // of this device
  std::vector<Candidate> candidates_;
  std::set<std::string> failed_;                                   // configs that have no right kernel
  std::map<std::string, std::set<std::string>> failed_here_;       // by problem text
  std::unordered_map<std::string, Legality> legalities_;           // by family
  std::unordered_map<std::string, db::Environment> environments_;  // by family
  std::size_t known_problems_ = 0, retired_entries_ = 0;
  bool knows_sparsity_ = false;             ///< of the target's; what was measured of dense operands has other tiles
  bool initial_configs_are_stored_ = true;  ///< nobody knows what is
};

std::string_view name(Level level) {
  constexpr std::string_view kNames[] = {"exact", "trial", "model", "generic"};
  return kNames[std::size_t(level)];
}

std::string reason_of(const Choice& choice) {
  if (choice.trust == db::Trust::reverify) {
    return choice.reason + "; the driver or NVRTC changed since, the tuner has to verify it again";
  }
  if (choice.record && db::is_trial(choice.record->environment)) {
    return choice.reason + "; timed in a trial of the library, the tuner has to verify it";
  }
  if (choice.trust == db::Trust::remeasure && choice.record) {
    return fmt::format("{}; timed by the measuring policy {}, the tuner has to time it again", choice.reason,
        choice.record->environment.measuring_policy);
  }
  return choice.reason;
}

Chooser::Chooser(std::span<const db::Record> entries, const KernelTarget& target, const EnvironmentToJudgeBy& now,
    const db::DeviceIdentity* device, const StoredKernels& stored)
    : state_(std::make_unique<State>(entries, target, now, device, stored)) {}
Chooser::~Chooser() = default;
Chooser::Chooser(Chooser&&) noexcept = default;
Chooser& Chooser::operator=(Chooser&&) noexcept = default;

Choice Chooser::choose(const Problem& problem, const Without& without, std::size_t runners_up) const {
  return state_->choose(problem, without, runners_up);
}

std::vector<Choice::RunnerUp> Chooser::candidates(
    const Problem& problem, std::size_t most, const Without& without) const {
  std::vector<Choice::RunnerUp> result;
  if (!is_something(problem)) return result;
  std::vector<Config> initial;
  for (const RankedConfig& one : state_->ranked(problem, without, most, initial))
    result.push_back({*one.config, Level::model, one.prediction.us, why(one), !one.prediction.by_family_estimate});
  return result;
}

std::vector<double> Chooser::predict(const Problem& problem, std::span<const Config> configs) const {
  const TimeModel::At at(state_->model_, problem);
  std::vector<double> times;
  for (const Config& config : configs) {
    const Family* family = find_family(config.family());
    const bool runs = family != nullptr && !refused_because(*family, config, problem);
    const auto prediction = runs ? at.predict(state_->model_.handle(config)) : std::nullopt;
    times.push_back(prediction ? prediction->us : std::numeric_limits<double>::infinity());
  }
  return times;
}

Choice choose(std::span<const db::Record> entries, const Problem& problem, const KernelTarget& target,
    const EnvironmentToJudgeBy& now, const db::DeviceIdentity* device) {
  return Chooser(entries, target, now, device).choose(problem);
}

}  // namespace tilesmith::runtime
