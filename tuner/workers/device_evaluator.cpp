#include "tuner/workers/device_evaluator.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <iterator>
#include <stdexcept>
#include <utility>

#include "kernels/families/tasks.hpp"
#include "runtime/compile/compiler.hpp"
#include "tuner/measure/timing_policy.hpp"
#include "tuner/verify/verifier.hpp"
#include "tuner/workers/compile_process_count.hpp"
#include "tuner/workers/protocol.hpp"

namespace tilesmith::tuner {
namespace {

constexpr int kReservedCores = 1;
constexpr double kControlTooSlow =
    1.25;                          // times as slow as another: that one replaces it. Rarely: each time adds its error
constexpr int kMostAttempts = 2;   // of a candidate whose measuring process was killed from outside
constexpr int kMostPostponed = 2;  // of one candidate's timings
constexpr std::chrono::seconds kNonePostponed{60};  // after a candidate that was disturbed to the last

db::Outcome failure(db::Status status, std::string message) { return {status, std::move(message), std::nullopt}; }

/// How far the candidate came.
Phase phase_of(const MeasureProcess::Answer& answer) {
  const auto result = answer.message ? evaluate_answer(*answer.message) : std::nullopt;
  return result ? result->phase : answer.phase;
}

}  // namespace

DeviceEvaluator::DeviceEvaluator(
    db::Store& store, const DeviceEvaluatorOptions& options, const runtime::DeviceInfo& device)
    : store_(store),
      device_(device),
      compile_processes_(options.compile_processes > 0
                             ? options.compile_processes
                             : default_compile_process_count(kReservedCores, device.integrated)),
      postpone_for_(std::chrono::duration_cast<std::chrono::steady_clock::duration>(options.postpone_for)),
      pool_(compile_processes_, options.compile_limit, options.worker_executable),
      measuring_process_(options.device, options.as, options.time_limit, options.worker_executable),
      vendor_(options.vendor) {}

db::Environment DeviceEvaluator::environment(const std::string&) const {
  return {.compiler_options = runtime::compiler_options_text({{type_pairs().front(), {}}, device_.limits}),
      .nvrtc_version = runtime::nvrtc_version(),
      .driver_version = device_.driver_version,
      .measuring_policy = kMeasuringPolicy};
}

/// The outcome of a candidate that need not be compiled to be told; else its kernel's key.
std::optional<db::Outcome> DeviceEvaluator::refused(const Candidate& candidate, db::KernelKey& key) const {
  if (auto reason = refused_because(candidate.config, candidate.task, device_.limits))
    return failure(db::Status::illegal, *reason);
  key = runtime::kernel_key(candidate.config, candidate.task, device_.limits);
  return std::nullopt;
}

void DeviceEvaluator::submit(const Candidate& candidate, const std::optional<Incumbent>& incumbent) {
  if (incumbent && !incumbent->disturbed) note_time(candidate.task, incumbent->config, incumbent->us);
  Item item{candidate, {}, {}};
  if (auto outcome = refused(candidate, item.key)) {
    finish(item, *outcome);
  } else if (const auto build = store_.find_build(item.key)) {
    take_build(std::move(item), {0, *build});
  } else {
    compile(std::move(item));
  }
  step(false);
}

void DeviceEvaluator::finish(const Item& item, db::Outcome outcome) {
  const bool disturbed = !outcome.message.empty();
  if (outcome.timing && !disturbed) note_time(item.candidate.task, item.candidate.config, outcome.timing->median_us);
  done_.push_back({item.candidate, std::move(outcome)});
}

void DeviceEvaluator::note_time(const Task& task, const Config& config, double us) {
  double& best_us = best_us_.try_emplace(text(task), us).first->second;
  best_us = std::min(best_us, us);
  const bool has_control = control_ && control_->task == task;
  if (is_short(best_us)) {  // what competes for it is timed in graphs
    if (has_control) control_.reset();
    return;
  }
  if ((has_control && us * kControlTooSlow > control_->kernel.us) || never_controls_.contains(config.text())) return;
  const auto build = store_.find_build(runtime::kernel_key(config, task, device_.limits));
  if (build && build->status == db::Status::ok) control_ = ControlOf{task, {config, build->cubin, us}};
}

std::optional<MeasureSession::ControlKernel> DeviceEvaluator::control_of(const Task& task) const {
  if (!control_ || !(control_->task == task)) return std::nullopt;
  return control_->kernel;
}

/// The outcome if the kernel is known to be wrong; also notes that it is known to be right.
std::optional<db::Outcome> DeviceEvaluator::known_proof(Item& item) {
  const auto proof = store_.find_proof(item.key, device_.identity, device_.driver_version, kSuiteVersion);
  if (proof && proof->status != db::Status::ok) return proof;
  item.suite_passed = proof.has_value();
  return std::nullopt;
}

bool DeviceEvaluator::can_dispatch() const { return !held_ && !measuring_ && measuring_process_.idle(); }

void DeviceEvaluator::dispatch() {
  while (can_dispatch()) {
    const auto now = std::chrono::steady_clock::now();
    const auto next =
        std::find_if(ready_.begin(), ready_.end(), [&](const Item& one) { return one.not_before <= now; });
    if (next == ready_.end()) break;
    Item item = std::move(*next);
    ready_.erase(next);
    if (auto outcome = known_proof(item)) {
      finish(item, *outcome);
      continue;
    }
    const Task& task = item.candidate.task;
    const auto best = best_us_.find(text(task));
    const double incumbent_us = best == best_us_.end() ? 0 : best->second;
    const auto control = item.failed_beside.empty() ? control_of(task) : std::nullopt;
    item.control = control ? control->config.text() : "";
    const Message request = to_message(MeasureSession::Job{task, item.candidate.config, item.cubin, item.suite_passed,
        incumbent_us, control, item.suite_passed ? std::vector<std::byte>() : item.delayed_cubin});
    if (measuring_process_.request(request)) {
      ++item.attempts;
      measuring_ = std::move(item);
    } else {
      ready_.push_front(std::move(item));
    }
  }
}

void DeviceEvaluator::record_proof(const Item& item, const db::Outcome& outcome) {
  store_.record_proof({item.key, device_.identity, device_.driver_version, kSuiteVersion, outcome});
}

/// The outcome that an answer means for the candidate; keeps what it proves of the kernel.
db::Outcome DeviceEvaluator::conclude(const Item& item, const MeasureProcess::Answer& answer) {
  MeasureSession::Result result;
  if (answer.message) {
    const auto parsed = evaluate_answer(*answer.message);
    if (!parsed) return failure(db::Status::device_fault, "the measuring process answered nonsense");
    result = *parsed;
  } else {
    result.outcome = answer.failure;
    result.phase = answer.phase;
    result.suite_passed = answer.phase == Phase::verification || answer.phase == Phase::timing;
  }
  if (item.suite_passed) return result.outcome;
  const db::Status status = result.outcome.status;
  const bool condemned =
      result.phase == Phase::suite && !result.outcome.by_machine &&
      (status == db::Status::mismatch || status == db::Status::device_fault || status == db::Status::timed_out);
  if (result.suite_passed) record_proof(item, failure(db::Status::ok, ""));
  else if (condemned) record_proof(item, result.outcome);
  return result.outcome;
}

/// Whether a disturbed timing does not count and its candidate is queued again, for later: a device that throttles
/// needs time. What is still disturbed then is taken as it is, and says so.
bool DeviceEvaluator::postpone(Item& item, const db::Outcome& outcome) {
  const auto now = std::chrono::steady_clock::now();
  if (outcome.status != db::Status::ok || outcome.message.empty() || now < none_postponed_until_) return false;
  if (item.postponed == kMostPostponed) {
    none_postponed_until_ = now + kNonePostponed;
    return false;
  }
  spdlog::info("{}: {}; timed again later", item.candidate.config.text(), outcome.message);
  ++item.postponed;
  item.attempts = 0;
  item.not_before = now + postpone_for_;
  ready_.push_back(std::move(item));
  return true;
}

void DeviceEvaluator::on_answer(const MeasureProcess::Answer& answer) {
  Item item = *std::exchange(measuring_, std::nullopt);
  if (answer.failure.by_machine && item.attempts < kMostAttempts) {
    spdlog::warn("{}: the measuring process was killed from outside; tried again", item.candidate.config.text());
    ready_.push_front(std::move(item));
    return;
  }
  db::Outcome outcome = conclude(item, answer);
  if (outcome.status != db::Status::ok && !outcome.by_machine && !item.control.empty() &&
      phase_of(answer) == Phase::timing) {
    spdlog::warn("{}: {} beside a control; tried again alone", item.candidate.config.text(), outcome.message);
    item.failed_beside = item.control;
    item.attempts = 0;
    ready_.push_front(std::move(item));
    return;
  }
  if (outcome.status == db::Status::ok && !item.failed_beside.empty()) {
    never_controls_.insert(item.failed_beside);
    if (control_ && control_->kernel.config.text() == item.failed_beside) control_.reset();
  }
  if (postpone(item, outcome)) return;
  finish(item, std::move(outcome));
}

void DeviceEvaluator::step(bool wait) {
  dispatch();
  if (wait) {
    std::vector<int> descriptors = pool_.descriptors();
    if (measuring_process_.descriptor() >= 0) descriptors.push_back(measuring_process_.descriptor());
    auto deadline = pool_.deadline();
    if (const auto other = measuring_process_.deadline(); other && (!deadline || *other < *deadline)) deadline = other;
    for (const Item& item : ready_) {  // postponed, where not even the process is waited for
      if (can_dispatch() && (!deadline || item.not_before < *deadline)) deadline = item.not_before;
    }
    wait_for_input(descriptors, deadline);
  }
  for (const CompilePool::Done& done : pool_.collect()) on_built(done);
  // What is asked in a final benchmark is answered to the final benchmark itself.
  if (measuring_ || !measuring_process_.busy()) {
    if (const auto answer = measuring_process_.collect()) on_answer(*answer);
  }
  dispatch();
}

Evaluated DeviceEvaluator::next() {
  if (in_flight() == 0) throw std::logic_error("next() with nothing in flight");
  step(false);
  while (done_.empty()) step(true);
  Evaluated result = std::move(done_.front());
  done_.pop_front();
  return result;
}

/// All that is known of what is under way: a worker that was lost took its job along.
std::vector<Evaluated> DeviceEvaluator::drop_in_flight() {
  pool_.drop_all();
  compiling_.clear();
  ticket_of_kernel_.clear();
  announced_.clear();
  announced_finalists_.clear();
  finalists_before_.clear();
  wanted_.clear();
  compiling_count_ = 0;
  ready_.clear();
  measuring_.reset();
  measuring_process_.give_up();
  std::vector<Evaluated> done(std::make_move_iterator(done_.begin()), std::make_move_iterator(done_.end()));
  done_.clear();
  return done;
}

std::unique_ptr<Evaluator> make_device_evaluator(db::Store& store, const DeviceEvaluatorOptions& options) {
  return make_device_evaluator(store, options, runtime::device_info(options.device, options.as));
}

std::unique_ptr<Evaluator> make_device_evaluator(
    db::Store& store, const DeviceEvaluatorOptions& options, const runtime::DeviceInfo& device) {
  if (const std::string reason = runtime::nvrtc_unfit_because(device.limits); !reason.empty())
    throw std::runtime_error(reason);
  return std::make_unique<DeviceEvaluator>(store, options, device);
}

}  // namespace tilesmith::tuner
