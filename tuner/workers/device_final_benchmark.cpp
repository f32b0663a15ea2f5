// The final benchmark of an evaluator on a device: the finalists in one process, interleaved; if that does not survive,
// each by itself, so that only the one at fault has a failure as its outcome.
#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "runtime/compile/compiler.hpp"
#include "tuner/measure/timing_policy.hpp"
#include "tuner/workers/device_evaluator.hpp"
#include "tuner/workers/protocol.hpp"

namespace tilesmith::tuner {
namespace {

constexpr int kMostVendorFailures = 2;

/// While it lives, no candidate in flight is given to the device.
class [[nodiscard]] Hold {
 public:
  explicit Hold(bool& held) : held_(held) { held_ = true; }
  ~Hold() { held_ = false; }
  Hold(const Hold&) = delete;
  Hold& operator=(const Hold&) = delete;

 private:
  bool& held_;
};

}  // namespace

struct DeviceEvaluator::Finalist {
  std::size_t index = 0;  // among those asked for
  Item item;
};

/// The kernels from the store, or compiled now, side by side: of records from elsewhere none is at hand.
std::vector<CompilePool::Done> DeviceEvaluator::builds_now(std::span<const Finalist> finalists) {
  std::vector<std::size_t> tickets(finalists.size());
  std::vector<std::optional<CompilePool::Done>> builds(finalists.size());
  for (std::size_t i = 0; i < finalists.size(); ++i) {
    if (auto kept = store_.find_build(finalists[i].item.key)) {
      builds[i] = CompilePool::Done{0, *std::move(kept)};
      continue;
    }
    tickets[i] = ticket_for(finalists[i].item.key);
    wanted_.try_emplace(tickets[i]);
  }
  std::vector<CompilePool::Done> found;
  for (std::size_t i = 0; i < finalists.size(); ++i) {
    while (!builds[i] && !wanted_.at(tickets[i])) step(true);
    found.push_back(builds[i] ? *std::move(builds[i]) : *wanted_.at(tickets[i]));
  }
  wanted_.clear();
  return found;
}

/// As a candidate, with no control.
db::Outcome DeviceEvaluator::evaluate_alone(const Item& item) {
  const MeasureSession::Job job{item.candidate.task, item.candidate.config, item.cubin, item.suite_passed, 0};
  return conclude(item, exchange(to_message(job)));
}

/// Those that can play; the outcomes of the others are filled in. Records from elsewhere, and from before the suite
/// proved as much as it does now, has no proof here: its kernel is proven first.
std::vector<DeviceEvaluator::Finalist> DeviceEvaluator::prepare(
    const Task& task, std::span<const Config> configs, std::vector<db::Outcome>& outcomes) {
  std::vector<Finalist> legal;
  for (std::size_t i = 0; i < configs.size(); ++i) {
    Finalist one{i, {{task, configs[i]}, {}, {}}};
    if (auto outcome = refused(one.item.candidate, one.item.key)) {
      outcomes[i] = *outcome;
    } else {
      legal.push_back(std::move(one));
    }
  }
  const std::vector<CompilePool::Done> builds = builds_now(legal);
  std::vector<Finalist> finalists;
  for (std::size_t i = 0; i < legal.size(); ++i) {
    db::Outcome& outcome = outcomes[legal[i].index];
    if (builds[i].build.status != db::Status::ok) {
      outcome = builds[i].failure();
    } else if (auto known = known_proof(legal[i].item)) {
      outcome = *known;
    } else {
      legal[i].item.cubin = builds[i].build.cubin;
      if (!legal[i].item.suite_passed) outcome = evaluate_alone(legal[i].item);
      if (legal[i].item.suite_passed || outcome.status == db::Status::ok) finalists.push_back(std::move(legal[i]));
    }
  }
  return finalists;
}

/// Asks the measuring process and waits for its answer; compilation goes on meanwhile.
MeasureProcess::Answer DeviceEvaluator::exchange(const Message& request) {
  while (measuring_ || !measuring_process_.idle() || !measuring_process_.request(request)) step(true);
  for (;;) {
    if (auto answer = measuring_process_.collect()) return *std::move(answer);
    step(true);
  }
}

/// What the answer says of the vendor.
void DeviceEvaluator::take_vendor(const Task& task, const VendorAnswer& answer, BesideVendor& result) {
  if (!answer.unavailable.empty()) {
    vendor_ = false;
    spdlog::info("the vendor is not timed: {}", answer.unavailable);
    return;
  }
  result.vendor = answer.times;
  result.vendor->problem = task.problem();
  result.vendor->device = device_.identity;
  result.vendor->driver_version = device_.driver_version;
  result.vendor->measuring_policy = kMeasuringPolicy;
}

/// It cost a process, and was alone in that: the finalists did without it.
void DeviceEvaluator::vendor_failed(const Task& task, const std::string& why, BesideVendor& result) {
  VendorAnswer answer;
  answer.times.message = why;
  take_vendor(task, answer, result);
  if (++vendor_failures_ < kMostVendorFailures) return;
  vendor_ = false;
  spdlog::warn("the vendor is not timed any more: it ended the measuring process on {} tasks", vendor_failures_);
}

/// False if the process did not live to the end of it, or any finalist lost the context for all; `ended_by` then says
/// so.
bool DeviceEvaluator::play_together(const Task& task, const std::vector<Finalist>& finalists,
    const std::optional<VendorAsk>& ask, BesideVendor& result, db::Outcome& ended_by) {
  FinalBenchmarkRequest request{task, {}, control_of(task), ask};
  for (const Finalist& finalist : finalists) {
    request.finalists.push_back({task, finalist.item.candidate.config, finalist.item.cubin, true, 0});
  }
  const MeasureProcess::Answer answer = exchange(to_message(request));
  const auto parsed = answer.message ? final_benchmark_answer(*answer.message) : std::nullopt;
  if (!parsed || parsed->context_lost || parsed->outcomes.size() != finalists.size()) {
    ended_by = answer.failure;
    if (answer.message) ended_by.message = parsed ? "device fault" : "malformed answer";
    return false;
  }
  for (std::size_t i = 0; i < finalists.size(); ++i) result.outcomes[finalists[i].index] = parsed->outcomes[i];
  if (parsed->vendor) take_vendor(task, *parsed->vendor, result);
  return true;
}

Evaluator::BesideVendor DeviceEvaluator::play(
    const Task& task, std::span<const Config> configs, std::optional<VendorAsk> ask) {
  const Hold hold(held_);
  BesideVendor result;
  result.outcomes.resize(configs.size());
  const auto began = std::chrono::steady_clock::now();
  const std::vector<Finalist> finalists = prepare(task, configs, result.outcomes);
  const auto ready = std::chrono::steady_clock::now();
  if (finalists.empty()) return result;
  db::Outcome ended_by;
  bool played = play_together(task, finalists, ask, result, ended_by);
  if (!played && ask) {
    spdlog::warn("{}: the final benchmark beside the vendor ended early ({}); it is played without", text(task),
        ended_by.message);
    const db::Outcome beside_vendor = ended_by;
    played = play_together(task, finalists, std::nullopt, result, ended_by);
    if (played && !beside_vendor.by_machine) vendor_failed(task, beside_vendor.message, result);
  }
  if (played) {
    int rounds = 0;
    for (const db::Outcome& outcome : result.outcomes)
      rounds = std::max(rounds, outcome.timing ? outcome.timing->samples : 0);
    const auto ms = [](std::chrono::duration<double, std::milli> took) { return took.count(); };
    spdlog::debug("{}: played off {} in {} rounds: kernels {:.1f} ms, final benchmark {:.1f} ms", text(task),
        finalists.size(), rounds, ms(ready - began), ms(std::chrono::steady_clock::now() - ready));
    return result;
  }
  spdlog::warn(
      "{}: the final benchmark ended early ({}); finalists are timed one by one", text(task), ended_by.message);
  for (const Finalist& finalist : finalists) result.outcomes[finalist.index] = evaluate_alone(finalist.item);
  return result;
}

std::vector<db::Outcome> DeviceEvaluator::final_benchmark(const Task& task, std::span<const Config> configs) {
  return play(task, configs, std::nullopt).outcomes;
}

Evaluator::BesideVendor DeviceEvaluator::final_benchmark_beside_vendor(
    const Task& task, std::span<const Config> configs, const VendorAsk& ask) {
  return play(task, configs, vendor_ ? std::optional(ask) : std::nullopt);
}

}  // namespace tilesmith::tuner
