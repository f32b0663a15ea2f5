#include "tuner/loop/tune_start.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>

#include "kernels/families/family.hpp"
#include "kernels/own/kernel.hpp"

namespace tilesmith::tuner {
namespace {

constexpr std::launch kMeanwhile = std::launch::async | std::launch::deferred;  // at once, if a thread can be had

/// Says of a clock's start how many seconds ago it was.
class Seconds {
 public:
  double operator()() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - began_).count(); }

 private:
  std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
};

}  // namespace

StartingPoints::StartingPoints(
    const std::vector<std::string>& families, Evaluator& evaluator, const db::Store& store, std::size_t only_finalists)
    : families_(families_named(families)),
      evaluator_(evaluator),
      reader_(store.reader()),
      whom_{families_, evaluator.device(), evaluator.limits(),
          [this](const std::string& family) { return evaluator_.environment(family); },
          [this](const Task& task, const Config& config) { return evaluator_.knows(task, config); }, only_finalists},
      source_(whom_, reader_ ? *reader_ : store) {
  if (only_finalists > 0) return;
  runtime::DeviceInfo device;
  device.identity = evaluator.device();
  device.limits = evaluator.limits();
  device.driver_version = evaluator.environment(std::string(families_.front()->name())).driver_version;
  untuned_.emplace(std::move(device), reader_ ? *reader_ : store);
  for (const db::Run& before : store.runs()) {
    if (before.ended_how != "done" && before.ended_how != "budget") cut_short_.insert(before.uuid);
  }
}

const db::Environment& StartingPoints::environment(const std::string& family) {
  const auto known = environments_.find(family);
  if (known != environments_.end()) return known->second;
  return environments_.emplace(family, evaluator_.environment(family)).first->second;
}

const SearchSpace& StartingPoints::legal_configs(const Task& task) {
  auto found = std::find_if(kept_.begin(), kept_.end(),
      [&](const LegalConfigs& kept) { return kept.signature == task.problem().signature(); });
  if (found == kept_.end()) {
    if (kept_.size() == kMostKept) kept_.pop_back();
    SearchSpace space;
    for (const Family* family : families_) {  // one by one: a family's configs take up to 200 MB until they are codes
      if (abandoned_) break;
      space.add(enumerate_space(*family, {task.problem(), evaluator_.limits()}));
    }
    found = kept_.insert(kept_.end(), {task.problem(), std::move(space)});
  }
  std::rotate(kept_.begin(), found, found + 1);
  return kept_.front().space;
}

SearchSpace StartingPoints::space_of(const Task& task) {
  if (!task.is_gemm()) {
    const Space all = own::kernel_of(task.kernel()).space(task.kernel(), evaluator_.limits());
    return SearchSpace({all}).where(
        [&](const Config& config) { return !abandoned_ && evaluator_.knows(task, config); });
  }
  return legal_configs(task).where([&](const Config& config) {
    return !abandoned_ && eligible(*find_family(config.family()), config, task.problem()) &&
           evaluator_.knows(task, config);
  });
}

/// What may be tried of what the library would run (StartingPoint::untuned).
std::vector<std::vector<Config>> StartingPoints::untuned_choices(
    const Task& task, const InitialConfigs& initial_configs) {
  if (!untuned_ || !task.is_gemm()) return {};
  const std::vector<KnownCandidate>& known = initial_configs.known;
  const bool was_cut_short =
      std::ranges::none_of(known, &KnownCandidate::repeated) &&
      std::ranges::any_of(known, [&](const KnownCandidate& one) { return cut_short_.contains(one.run); });
  const UntunedChoices::Ranked& ranked = untuned_->of(task.problem(), was_cut_short);
  std::vector<std::vector<Config>> lists{ranked.exact, ranked.model};
  for (std::vector<Config>& list : lists) {
    std::erase_if(list, [&](const Config& config) {
      const Family* family = find_family(config.family());
      return std::ranges::find(families_, family) == families_.end() || !eligible(*family, config, task.problem()) ||
             !evaluator_.knows(task, config);
    });
  }
  return lists;
}

InitialConfigs StartingPoints::to_announce(const Task& task, std::size_t most) {
  const Seconds took;
  InitialConfigs initial_configs = source_.of(task, most);
  std::vector<Config>& to_try = initial_configs.to_try;
  for (const std::vector<Config>& list : untuned_choices(task, initial_configs)) {
    if (!list.empty()) to_try.insert(to_try.begin(), list.front());  // its kernel is wanted first
  }
  spdlog::debug("{}: announced in {:.2f} s", text(task), took());
  return initial_configs;
}

void StartingPoints::prepare(const Task& task, std::size_t most_initial, const Task* after) {
  finish_prepared(task);
  prepared_ = Prepared{task, std::async(kMeanwhile, [this, task] { return space_of(task); }), {}};
  if (most_initial == 0) return;
  std::shared_future<InitialConfigs> before;
  for (const Task* one : {&task, after}) {
    if (one == nullptr || std::ranges::find(told_, *one) != told_.end()) continue;
    before = std::async(reader_ ? kMeanwhile : std::launch::deferred, [this, before, of = *one, most_initial] {
      if (before.valid()) before.wait();
      return to_announce(of, most_initial);
    });
    prepared_->to_tell.emplace_back(*one, before);
  }
}

std::optional<StartingPoints::Announced> StartingPoints::announced(bool wait) {
  if (!prepared_ || prepared_->to_tell.empty()) return std::nullopt;
  const auto [task, initial_configs] = prepared_->to_tell.front();
  const bool waits = wait && task == prepared_->task;
  if (!waits && initial_configs.wait_for(std::chrono::seconds(0)) == std::future_status::timeout) return std::nullopt;
  prepared_->to_tell.erase(prepared_->to_tell.begin());  // before get(): what could not be made is thrown once, too
  if (told_.size() == 2) told_.erase(told_.begin());
  told_.push_back(task);
  return Announced{task, initial_configs.get()};
}

/// Waits until no thread is at work on what was prepared, but on its space if it is this task's: that is what it
/// gives then.
std::future<SearchSpace> StartingPoints::finish_prepared(const Task& task) {
  if (!prepared_) return {};
  Prepared prepared = std::move(*prepared_);  // which waits for what is left in it when it goes
  prepared_.reset();
  return prepared.task == task ? std::move(prepared.space) : std::future<SearchSpace>();
}

StartingPoint StartingPoints::of(const Task& task) {
  const Seconds seconds;
  std::future<SearchSpace> space = finish_prepared(task);
  if (!space.valid()) space = std::async(kMeanwhile, [this, task] { return space_of(task); });
  const double began_listing = seconds();
  source_.refresh_bests();
  const InitialConfigs initial_configs = source_.of(task);
  const std::vector<std::vector<Config>> untuned = untuned_choices(task, initial_configs);
  const double listed = seconds();
  space.wait();
  spdlog::debug(
      "{}: begun after {:.2f} s: {:.2f} for what was being prepared, {:.2f} for initial configs, then {:.2f} for its space",
      text(task), seconds(), began_listing, listed - began_listing, seconds() - listed);
  StartingPoint start{space.get(), {}, {}, {}, initial_configs.best_is_lost};
  for (const KnownCandidate& known : initial_configs.known) {
    if (const auto index = start.space.index_of(known.config))
      start.reused.push_back({*index, known.outcome, known.repeated, known.run});
  }
  for (const Config& config : initial_configs.to_try) {
    if (const auto index = start.space.index_of(config)) start.initial_configs.push_back(*index);
  }
  for (const std::vector<Config>& list : untuned) {
    std::vector<std::size_t>& indices = start.untuned.emplace_back();
    for (const Config& config : list) {
      if (const auto index = start.space.index_of(config)) indices.push_back(*index);
    }
  }
  return start;
}

}  // namespace tilesmith::tuner
