#include "runtime/interface/library_state.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "db/store/logger.hpp"
#include "db/store/trust.hpp"
#include "kernels/families/plan_hash.hpp"
#include "kernels/families/tasks.hpp"
#include "runtime/choose/trial.hpp"
#include "runtime/compile/compiler.hpp"
#include "runtime/driver/driver.hpp"

namespace tilesmith::runtime {
namespace {

/// More are not tried for one plan: if so many have no kernel, all of a database's configs may have none.
constexpr std::size_t kMostPassedOver = 8;

std::unique_ptr<Context> open_context(int ordinal) {
  const std::string unavailable = device_unavailable_because();
  if (!unavailable.empty()) throw Error(ErrorCode::no_device, unavailable);
  try {
    return std::make_unique<Context>(ordinal);
  } catch (const DeviceError& error) {
    const bool memory = error.code() == CUDA_ERROR_OUT_OF_MEMORY;
    throw Error(memory ? ErrorCode::out_of_memory : ErrorCode::no_device, error.what());
  }
}

/// The configs that a plan did without, for its explanation: the first two by name, since there may be many.
class PassedOver {
 public:
  void add(const Config& config, const std::string& why) {
    if (++count_ <= kNamed) named_ += fmt::format("; {} was passed over: {}", config.text(), why);
  }
  std::size_t count() const { return count_; }
  std::string text() const {
    return count_ <= kNamed ? named_ : fmt::format("{}; and {} more", named_, count_ - kNamed);
  }

 private:
  static constexpr std::size_t kNamed = 2;

  std::string named_;
  std::size_t count_ = 0;
};

/// As an application is told of it. What the vendor took is told on the exact level, if it was taken beside the very
/// entry that was chosen.
Explanation explain(const Choice& choice, const db::VendorIndex& vendor) {
  Explanation why;
  why.level = name(choice.level);
  why.reason = reason_of(choice);
  why.config = choice.config.text();
  if (choice.record) why.trust = name(choice.trust);
  why.predicted_us = choice.predicted_us;
  if (choice.record) {
    why.measured = text(choice.record->task);
    if (choice.record->outcome.timing) why.median_us = choice.record->outcome.timing->median_us;
  }
  if (choice.level != Level::exact || !choice.record) return why;
  if (const db::VendorTimes* beside = vendor.beside(*choice.record)) {
    why.vendor_us = beside->first.us;
    why.vendor_best_us = beside->best.us;
  }
  return why;
}

/// Why a choice runs whose kernel was loaded or compiled.
Explanation explain(
    Choice choice, const LoadedKernel& kernel, const PassedOver& passed_over, const db::VendorIndex& vendor) {
  if (choice.record) {
    choice.environment.nvrtc_version = kernel.nvrtc_version;
    choice.trust = db::judge(*choice.record, choice.environment);
  }
  Explanation why = explain(choice, vendor);
  why.reason += passed_over.text();
  why.kernel = kernel.source;
  return why;
}

/// What made the choice's kernel; empty where nothing is recorded of it.
std::string nvrtc_of(const Choice& choice) {
  return choice.record ? choice.record->environment.nvrtc_version : std::string();
}

/// Nothing is launched, so no kernel is needed.
LibraryState::Planned plan_of_nothing(const Problem& problem, const KernelTarget& target) {
  const Choice choice = choose({}, problem, target, {});
  return {Plan(nullptr, choice.config, problem), explain(choice, {})};
}

Choice generic_choice(const KernelTarget& target, std::size_t passed_over) {
  Choice choice;
  choice.config = generic_config(target);
  choice.reason = fmt::format("none of the {} configs that would be best has a kernel that can run here", passed_over);
  return choice;
}

}  // namespace

LibraryState::LibraryState(std::unique_ptr<Catalogue> catalogue, const LibraryOptions& options)
    : options_(options),
      context_(open_context(options.device)),
      device_text_(db::text(context_->info().identity)),
      cache_(kernel_cache_folder()),
      helpers_(cache_),
      catalogue_(std::move(catalogue)),
      choosers_(*catalogue_, context_->info(), options.log_misses),
      kernels_(*catalogue_, cache_, options.allow_compile, !options.trial_database.empty()) {
  const auto made_for = catalogue_->made_for();
  if (!options_.log_misses || !made_for || *made_for == context_->info().identity) return;
  db::logger()->warn("the bundle was made for {}, and the device here is {}: its configs may not be the fastest here",
      db::text(*made_for), device_text_);
}

LibraryState::~LibraryState() {
  KeepCurrentContext keep(KeepCurrentContext::IfNone::leave_none);
  const LetOthersCapture let_others;
  context_->make_current_if_possible();
  kernels_.clear();
  helpers_.clear();
  group_fault_.reset();
  keep.release(std::move(context_));
}

LibraryState::Planned LibraryState::plan(const Problem& problem) {
  const std::lock_guard lock(mutex_);
  const KernelTarget target{problem, context_->info().limits};
  if (problem.m == 0 || problem.n == 0 || problem.batch == 0) return plan_of_nothing(problem, target);
  if (problem.batch_mode == BatchMode::grouped && !group_fault_) group_fault_ = std::make_unique<SharedWord>();
  Planned planned = plan_by_choice(problem, target);
  if (options_.trial_budget > 1 && planned.why.level == name(Level::model))
    return plan_by_trial(problem, target, std::move(planned));
  return planned;
}

std::vector<LibraryState::Compilation> LibraryState::compile_later(std::span<const Problem> problems) {
  const std::lock_guard lock(mutex_);
  std::vector<Compilation> found;
  if (!can_compile()) return found;
  for (std::size_t i = 0; i < problems.size(); ++i) {
    const Problem& problem = problems[i];
    if (problem_error(problem) || problem.m == 0 || problem.n == 0 || problem.batch == 0) continue;
    const KernelTarget target{problem, context_->info().limits};
    const auto add = [&](const Config& config, const std::string& nvrtc_version) {
      if (auto task = kernels_.compile_later(config, target, nvrtc_version)) found.push_back({*std::move(task), i});
    };
    const Choice& choice = first_choice(problem, target);
    add(choice.config, nvrtc_of(choice));
    if (options_.trial_budget <= 1 || choice.level != Level::model || winners_.contains(text(problem))) continue;
    for (const Choice::RunnerUp& one : choosers_.of(target).candidates(problem, std::size_t(options_.trial_budget)))
      add(one.config, "");
  }
  return found;
}

const Choice& LibraryState::first_choice(const Problem& problem, const KernelTarget& target) {
  std::string asked = text(problem);
  if (const auto known = first_choices_.find(asked); known != first_choices_.end()) return known->second;
  Choice choice = choosers_.of(target).choose(problem, {{}, !can_compile()}, 0);
  return first_choices_.emplace(std::move(asked), std::move(choice)).first->second;
}

LibraryState::Planned LibraryState::plan_by_choice(const Problem& problem, const KernelTarget& target) {
  Without without{{}, !can_compile()};
  PassedOver passed_over;
  bool may_compile = true;  // not after NVRTC failed
  while (true) {
    const Choice choice = passed_over.count() == 0                ? first_choice(problem, target)
                          : passed_over.count() < kMostPassedOver ? choosers_.of(target).choose(problem, without, 0)
                                                                  : generic_choice(target, passed_over.count());
    PlanByConfig found = kernels_.plan(choice.config, problem, target, nvrtc_of(choice), may_compile);
    if (found.plan) {
      Planned planned{
          std::move(*found.plan), explain(choice, found.kernel, passed_over, choosers_.vendor_of(target.type))};
      if (problem.k > 0 && (choice.level != Level::exact || found.compiled_now))
        log_miss(text(problem), planned.why, found.compiled_now);
      return planned;
    }
    if (choice.level == Level::generic) throw Error(found.code, found.why_not + passed_over.text());
    passed_over.add(choice.config, found.why_not);
    without.configs.insert(choice.config.text());
    if (found.compiler_failed) may_compile = false, without.compiling = true;
  }
}

LibraryState::Planned LibraryState::plan_by_trial(const Problem& problem, const KernelTarget& target, Planned first) {
  const Winner* const winner = find_or_time_winner(problem, target, first.plan);
  if (winner == nullptr) return first;
  PlanByConfig found = kernels_.plan(winner->config, problem, target);
  if (!found.plan) throw Error(found.code, found.why_not);
  return {std::move(*found.plan), {std::string(name(Level::trial)), winner->reason, winner->config.text(),
                                      text(problem), winner->us, 0, "", found.kernel.source}};
}

const LibraryState::Winner* LibraryState::find_or_time_winner(
    const Problem& problem, const KernelTarget& target, const Plan& first) {
  const auto known = winners_.find(text(problem));
  if (known != winners_.end()) return &known->second;
  std::vector<PlanByConfig> found;
  for (const Choice::RunnerUp& one :
      choosers_.of(target).candidates(problem, std::size_t(options_.trial_budget), {{}, !can_compile()})) {
    found.push_back(kernels_.plan(one.config, problem, target));
    if (!found.back().plan) found.pop_back();
  }
  std::vector<const Plan*> plans;
  for (const PlanByConfig& one : found) plans.push_back(&*one.plan);
  const std::vector<std::optional<db::Timing>> times = time_in_turn(plans);
  const auto us = [](const std::optional<db::Timing>& timing) {
    return timing ? timing->median_us : std::numeric_limits<double>::infinity();
  };
  const auto best = std::ranges::min_element(times, {}, us);
  if (best == times.end() || !*best) return nullptr;
  const bool has_first = first.config() == plans.front()->config() && times.front();
  const PlanByConfig& won = found[std::size_t(best - times.begin())];
  if (!options_.trial_database.empty()) keep_winner(problem, target, won, **best);
  const std::string models = has_first ? fmt::format(", the model's first {:.2f} us", us(times.front())) : "";
  const std::string reason =
      fmt::format("the fastest of {} that were tried here: {:.2f} us{}", plans.size(), us(*best), models);
  return &winners_.insert({text(problem), {won.plan->config(), us(*best), reason}}).first->second;
}

void LibraryState::keep_winner(
    const Problem& problem, const KernelTarget& target, const PlanByConfig& best, const db::Timing& timing) {
  db::Record winner;
  winner.task = problem;
  winner.config = best.plan->config();
  winner.device = context_->info().identity;
  winner.environment = {compiler_options_text(target), best.kernel.nvrtc_version, context_->info().driver_version,
      std::string(db::kTrialPolicy)};
  winner.plan_hash = plan_hash(winner.config, problem, winner.environment.compiler_options);
  winner.outcome = {db::Status::ok, "timed in a trial of the library, never verified", timing};
  winner.run = "trial";
  keep_trial(options_.trial_database, winner, best.kernel.build.get());
}

OwnChooser LibraryState::chooser_of(const own::Kernel& kernel) {
  const std::lock_guard lock(mutex_);
  return {catalogue_->records_of_kernel(kernel.name(), context_->info().limits.sm), kernel, context_->info()};
}

LibraryState::PlannedOwn LibraryState::plan_own(
    const own::Kernel& kernel, const OwnChooser& chooser, const SizedKernel& sized) {
  const std::lock_guard lock(mutex_);
  const DeviceLimits& limits = context_->info().limits;
  PassedOver passed_over;
  bool may_compile = true;  // not after NVRTC failed
  for (const Choice& choice : chooser.choices(sized)) {
    const db::KernelKey key = kernel_key(choice.config, sized, limits, nvrtc_of(choice));
    std::optional<OwnPlan> plan;
    const PlanByConfig found = kernels_.with_kernel(key, limits, may_compile, [&](const LoadedKernel& from) {
      plan.emplace(from.module, from.symbols, kernel, sized, kernel.launches(choice.config, sized));
    });
    if (plan) {
      Explanation why = explain(choice, found.kernel, passed_over, {});
      if (choice.level != Level::exact || found.compiled_now) log_miss(text(sized), why, found.compiled_now);
      return {std::move(*plan), std::move(why)};
    }
    may_compile = may_compile && !found.compiler_failed;
    passed_over.add(choice.config, found.why_not);
  }
  const bool is_legal = passed_over.count() > 0;
  throw Error(is_legal ? ErrorCode::no_kernel : ErrorCode::bad_argument,
      fmt::format("{} has no kernel on {}{}", text(sized), limits.arch,
          is_legal ? passed_over.text() : ": expected sizes at which a config is legal"));
}

void LibraryState::log_miss(const std::string& task, const Explanation& why, bool compiled) {
  if (!options_.log_misses || !logged_.insert(task).second) return;
  db::logger()->warn("{}: {} level{}: {}", task, why.level, compiled ? ", kernel compiled now" : "", why.reason);
}

}  // namespace tilesmith::runtime
