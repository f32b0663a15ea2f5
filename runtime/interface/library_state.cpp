#include "runtime/interface/library_state.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "db/families_not_loaded.hpp"
#include "db/logger.hpp"
#include "db/trust.hpp"
#include "kernels/plan_hash.hpp"
#include "runtime/compile/compiler.hpp"
#include "runtime/driver/driver.hpp"
#include "runtime/compile/find_nvrtc.hpp"
#include "runtime/choose/producer_to_judge_by.hpp"
#include "runtime/choose/trial.hpp"
#include "runtime/choose/trial_database.hpp"
#include "runtime/interface/explanation.hpp"

namespace tilesmith::runtime {
namespace {

std::string key_of(const Config& config, const KernelTarget& target) {
  return fmt::format("{} {}", text(target.signature()), config.text());
}

/// `nvrtc_version`: the one to prefer.
db::KernelKey key_of_kernel(const Config& config, const KernelTarget& target, const std::string& nvrtc_version = "") {
  const std::string options = compiler_options_text(target);
  return {config, target, target.limits.arch, kernel_hash(config, target, options), options, nvrtc_version};
}

/// More are not tried for one plan: where so many have no kernel, all of a database's evidence may have none.
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

/// Throws DeviceError.
std::shared_ptr<const Module> load_module(const db::KernelBuild& build) {
  try {
    return std::make_shared<const Module>(build.cubin);
  } catch (const DeviceError& error) {
    const std::string too_new =
        is_of_kernel(error.code()) ? too_new_for_driver(build.key.nvrtc_version, driver().version) : std::string();
    if (too_new.empty()) throw;
    throw DeviceError(error.code(), fmt::format("{}; {}", error.what(), too_new));
  }
}

/// NVRTC itself failed: no word on the config, and it may not do so the next time.
struct CompilerFailed : Error {
  explicit CompilerFailed(const Error& error) : Error(error) {}
};

/// The configs that a plan did without, for its explanation: the first by name, since all of a database's may be without a kernel.
class PassedOver {
 public:
  void add(const Config& config, const char* why) {
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

/// Nothing is launched, so that it needs no kernel.
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
      catalogue_(std::move(catalogue)) {
  const auto made_for = catalogue_->made_for();
  if (!options_.log_misses || !made_for || *made_for == context_->info().identity) return;
  db::logger()->warn("the bundle was made for {}, and the device here is {}: its configs may not be the fastest here",
                     db::text(*made_for), device_text_);
}

LibraryState::~LibraryState() {
  KeepCurrentContext keep(KeepCurrentContext::IfNone::leave_none);
  const LetOthersCapture let_others;
  try {
    context_->make_current();
  } catch (const std::exception&) {
    // The context is lost, and the kernels with it; unloading them logs what there is to say.
  }
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
  Planned planned = plan_untried(problem, target);
  if (options_.trial_budget > 1 && planned.why.rung == name(Level::model)) try_candidates(problem, target, planned);
  return planned;
}

void LibraryState::try_candidates(const Problem& problem, const KernelTarget& target, Planned& first) {
  const std::string key = text(problem);
  if (!tried_.contains(key)) {
    Without without;
    without.compiling = !can_compile();
    std::vector<Plan> plans;
    for (const Choice::RunnerUp& one : chooser_for(target).candidates(problem, std::size_t(options_.trial_budget), without)) {
      try {
        plans.emplace_back(load_unless_refused(one.config, target, "", true).module, one.config, problem);
      } catch (const DeviceError& error) {
        if (!is_of_kernel(error.code())) throw;
      } catch (const Error& error) {
        if (error.code() != ErrorCode::no_kernel) throw;
      }
    }
    const std::vector<std::optional<db::Timing>> times = time_in_turn(plans);
    const auto us = [](const std::optional<db::Timing>& timing) { return timing ? timing->median_us : std::numeric_limits<double>::infinity(); };
    const auto best = std::min_element(times.begin(), times.end(), [&](const auto& a, const auto& b) { return us(a) < us(b); });
    if (best == times.end() || !*best) return;
    const bool has_first = first.plan.config() == plans.front().config() && times.front();
    const Config& config = plans[std::size_t(best - times.begin())].config();
    tried_[key] = {config, us(*best),
                   fmt::format("the fastest of {} that were tried here: {:.2f} us{}", plans.size(), us(*best),
                               has_first ? fmt::format(", the model's first {:.2f} us", us(times.front())) : "")};
    if (!options_.trial_database.empty()) keep_winner(problem, target, config, **best);
  }
  const Winner& winner = tried_.at(key);
  const Kernel kernel = load(winner.config, target, "", true);
  first.plan = Plan(kernel.module, winner.config, problem);
  first.why = {std::string(name(Level::trial)), winner.reason, winner.config.text(), key, winner.us, 0, "", kernel.source};
}

void LibraryState::keep_winner(const Problem& problem, const KernelTarget& target, const Config& config, const db::Timing& timing) {
  const Kernel kernel = load(config, target, "", true);
  db::Evidence winner;
  winner.problem = problem;
  winner.config = config;
  winner.device = context_->info().identity;
  winner.producer = {compiler_options_text(target), kernel.nvrtc_version, context_->info().driver_version, std::string(db::kTrialPolicy)};
  winner.plan_hash = plan_hash(config, problem, winner.producer.compiler_options);
  winner.outcome = {db::Status::ok, "timed in a trial of the library, never verified", timing};
  winner.run = "trial";
  keep_trial(options_.trial_database, winner, kernel.build.get());
}

LibraryState::Planned LibraryState::plan_untried(const Problem& problem, const KernelTarget& target) {
  const Chooser& chooser = chooser_for(target);
  Without without;
  without.compiling = !can_compile();
  PassedOver passed_over;
  bool compiler_works = true;  // where it failed, the rest of this plan goes by what is stored
  while (true) {
    Choice choice = passed_over.count() < kMostPassedOver ? chooser.choose(problem, without, 0) : generic_choice(target, passed_over.count());
    const bool last = choice.level == Level::generic;
    try {
      const std::string nvrtc_version = choice.evidence ? choice.evidence->producer.nvrtc_version : std::string();
      const Kernel kernel = last ? load(choice.config, target, nvrtc_version, compiler_works)
                                 : load_unless_refused(choice.config, target, nvrtc_version, compiler_works);
      if (choice.evidence) {
        db::Producer producer = choice.producer;
        producer.nvrtc_version = kernel.nvrtc_version;
        choice.trust = db::judge(*choice.evidence, producer);
      }
      Planned planned{Plan(kernel.module, choice.config, problem), explain(choice, vendor_of(target.type))};
      planned.why.reason += passed_over.text();
      planned.why.kernel = kernel.source;
      if (choice.level != Level::exact || kernel.compiled) log_miss(problem, planned.why, kernel.compiled);
      return planned;
    } catch (const DeviceError& error) {
      if (!is_of_kernel(error.code()) || last) throw;
      passed_over.add(choice.config, error.what());
    } catch (const CompilerFailed& error) {
      if (last) throw Error(ErrorCode::no_kernel, error.what() + passed_over.text());
      passed_over.add(choice.config, error.what());
      compiler_works = false;
      without.compiling = true;
    } catch (const Error& error) {
      if (error.code() != ErrorCode::no_kernel) throw;
      if (last) throw Error(ErrorCode::no_kernel, error.what() + passed_over.text());
      passed_over.add(choice.config, error.what());
    }
    without.configs.insert(choice.config.text());
  }
}

bool LibraryState::can_compile() const { return options_.allow_compile && nvrtc_unavailable_because().empty(); }

const db::VendorIndex& LibraryState::vendor_of(const TypePair& type) {
  const auto known = vendor_.find(std::string(type.name));
  if (known != vendor_.end()) return known->second;
  return vendor_.emplace(type.name, db::VendorIndex(catalogue_->vendor_times(type, context_->info().identity))).first->second;
}

const Chooser& LibraryState::chooser_for(const KernelTarget& target) {
  const std::string type(target.type.name), key = text(target.signature());
  if (const auto known = choosers_.find(key); known != choosers_.end()) return known->second;
  const DeviceInfo& here = context_->info();
  if (!evidence_.contains(type)) evidence_.emplace(type, catalogue_->evidence(target.type, here.limits.sm));
  const std::vector<db::Evidence>& known = evidence_.at(type);
  log_not_loaded(known);
  const ProducerToJudgeBy now = [&](const std::string& family) { return producer_to_judge_by(known, family, here.identity, target, here.driver_version); };
  const std::set<std::string> stored = catalogue_->stored_configs(target);
  StoredKernels kernels{[&](const Config& config) { return stored.contains(config.text()); }, {}};
  if (catalogue_->is_selection()) {
    for (const std::string& text : stored) kernels.candidates.push_back(*Config::parse(text));
  }
  return choosers_.emplace(key, Chooser(known, target, now, &here.identity, kernels))
      .first->second;
}

LibraryState::Kernel LibraryState::load_unless_refused(const Config& config, const KernelTarget& target,
                                                       const std::string& nvrtc_version, bool may_compile) {
  const std::string key = key_of(config, target);
  const auto known = refused_.find(key);
  if (known != refused_.end()) throw Error(ErrorCode::no_kernel, known->second);
  try {
    return load(config, target, nvrtc_version, may_compile);
  } catch (const DeviceError& error) {
    if (is_of_kernel(error.code())) refused_.emplace(key, error.what());
    throw;
  } catch (const CompilerFailed&) {
    throw;
  } catch (const Error& error) {
    if (error.code() == ErrorCode::no_kernel) refused_.emplace(key, error.what());
    throw;
  }
}

LibraryState::Kernel LibraryState::load(const Config& config, const KernelTarget& target,
                                        const std::string& nvrtc_version, bool may_compile) {
  const std::string key = key_of(config, target);
  const auto known = kernels_.find(key);
  if (known != kernels_.end()) return known->second;
  const Kernel kernel = load_afresh(config, target, nvrtc_version, may_compile);
  Kernel& kept = kernels_.emplace(key, kernel).first->second;
  kept.compiled = false;  // the next plan with it compiles nothing
  return kernel;
}

LibraryState::Kernel LibraryState::load_afresh(const Config& config, const KernelTarget& target,
                                               const std::string& nvrtc_version, bool may_compile) const {
  std::string stored_failed;
  const db::KernelKey key = key_of_kernel(config, target, nvrtc_version);
  if (const auto build = catalogue_->find_build(key, driver().version)) {
    try {
      return {load_module(*build), build->key.nvrtc_version,
              fmt::format("stored cubin (NVRTC {})", build->key.nvrtc_version), false};
    } catch (const DeviceError& error) {
      if (!is_of_kernel(error.code())) throw;
      stored_failed = fmt::format("the stored cubin does not load ({})", error.what());
    }
  } else {
    stored_failed = "no cubin is stored";
  }
  const auto no_kernel = [&](const std::string& why) {
    return Error(ErrorCode::no_kernel,
                 fmt::format("no kernel for {} {} {} on {}: {}, and {}", config.text(), target.type.name,
                             name(target.trans), target.limits.arch, stored_failed, why));
  };
  if (!options_.allow_compile) throw no_kernel("compiling is switched off");
  const std::string unavailable = nvrtc_unavailable_because();
  if (!unavailable.empty()) throw no_kernel(unavailable);
  if (!may_compile) throw CompilerFailed(no_kernel("the compiler failed before"));
  db::KernelBuild build;
  try {
    build = compile(config, target);
  } catch (const std::runtime_error& error) {
    throw CompilerFailed(no_kernel(error.what()));
  }
  if (build.cubin.empty()) throw no_kernel("it does not compile: " + build.message);
  return {load_module(build), build.key.nvrtc_version, fmt::format("compiled by NVRTC {}", build.key.nvrtc_version), true,
          options_.trial_database.empty() ? nullptr : std::make_shared<const db::KernelBuild>(build)};
}

void LibraryState::log_not_loaded(std::span<const db::Evidence> entries) {
  const std::string line = db::not_loaded_text(db::families_not_loaded(entries));
  if (options_.log_misses && !line.empty() && logged_.insert(line).second) db::logger()->warn("{}", line);
}

void LibraryState::log_miss(const Problem& problem, const Explanation& why, bool compiled) {
  if (!options_.log_misses || !logged_.insert(text(problem)).second) return;
  if (problem.m == 0 || problem.n == 0 || problem.k == 0 || problem.batch == 0) return;
  db::logger()->warn("{}: {} level{}: {}", text(problem), why.rung, compiled ? ", kernel compiled now" : "", why.reason);
}

}  // namespace tilesmith::runtime
