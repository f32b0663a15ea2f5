#include "tuner/workers/measure_session.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <deque>
#include <list>
#include <new>
#include <stdexcept>

#include "runtime/plan/plan.hpp"
#include "tuner/measure/operand_sets.hpp"
#include "tuner/measure/random_fill.hpp"
#include "tuner/measure/stopwatch.hpp"
#include "tuner/verify/verifier.hpp"
#include "tuner/workers/trial_launches.hpp"
#include "tuner/workers/vendor_contest.hpp"

namespace tilesmith::tuner {
namespace {

constexpr std::size_t kModulesHeld = 64;
constexpr std::array<std::string_view, 5> kPhaseNames{"loading", "suite", "verification", "timing", "final benchmark"};

db::Outcome failure(db::Status status, std::string message) { return {status, std::move(message), std::nullopt}; }

/// A message of one line that begins with the phase, as the verifier's own do.
std::string in_phase(Phase phase, const std::string& what) { return std::string(name(phase)) + ": " + what; }

db::Outcome out_of_memory(const std::string& whose, Phase phase, const std::string& what) {
  db::Outcome outcome =
      failure(db::Status::launch_failed, "the " + whose + " has no memory left: " + in_phase(phase, what));
  outcome.by_machine = true;
  return outcome;
}

/// The modules last loaded, so that a kernel that serves the next problem too is not loaded again.
class ModuleCache {
 public:
  /// Loads the cubin unless one of the same content is still held. Throws runtime::DeviceError.
  std::shared_ptr<const runtime::Module> load(std::span<const std::byte> cubin) {
    const XXH128_hash_t digest = XXH3_128bits(cubin.data(), cubin.size());
    const Hash hash{digest.low64, digest.high64};
    const auto found =
        std::find_if(entries_.begin(), entries_.end(), [&](const Entry& entry) { return entry.hash == hash; });
    if (found != entries_.end()) {
      entries_.splice(entries_.begin(), entries_, found);
      return entries_.front().module;
    }
    auto module = std::make_shared<const runtime::Module>(cubin);
    if (entries_.size() >= kModulesHeld) entries_.pop_back();
    entries_.push_front({hash, module});
    return module;
  }

 private:
  using Hash = std::pair<std::uint64_t, std::uint64_t>;
  struct Entry {
    Hash hash;
    std::shared_ptr<const runtime::Module> module;
  };
  std::list<Entry> entries_;  // most recently used first
};

/// Why a plan has no room on the device, however much of its memory is free. Where the operands alone have none, it is
/// not its doing.
std::optional<std::string> no_room_because(const runtime::Plan& plan, std::size_t memory_bytes) {
  const Problem& problem = plan.problem();
  const auto operand_bytes = std::size_t(problem.a_bytes() + problem.b_bytes() + problem.c_bytes());
  if (operand_bytes > memory_bytes || plan.workspace_bytes() <= memory_bytes - operand_bytes) return std::nullopt;
  return fmt::format("a workspace of {} bytes has no room beside operands of {}: the GPU has {}",
      plan.workspace_bytes(), operand_bytes, memory_bytes);
}

}  // namespace

std::string_view name(Phase phase) { return kPhaseNames[std::size_t(phase)]; }

std::optional<Phase> parse_phase(std::string_view text) {
  for (std::size_t i = 0; i < kPhaseNames.size(); ++i) {
    if (kPhaseNames[i] == text) return Phase(i);
  }
  return std::nullopt;
}

struct MeasureSession::Impl {
  Impl(const runtime::Context& in_context, const TimingPolicy& policy)
      : context(in_context),
        verifier(in_context),
        stopwatch(in_context, policy),
        random(in_context),
        contest(in_context) {}

  const runtime::Context& context;
  Verifier verifier;
  Stopwatch stopwatch;
  RandomFill random;
  ModuleCache modules;
  std::optional<OperandSets> operands;
  runtime::DeviceBuffer workspace;
  VendorContest contest;
  bool context_lost = false;

  runtime::Plan make_plan(const Problem& problem, const Config& config, std::span<const std::byte> cubin) {
    if (find_family(config.family()) == nullptr) {
      throw std::invalid_argument("this build has no family '" + config.family() + "'");
    }
    return runtime::Plan(modules.load(cubin), config, problem);
  }

  /// Nothing where the control cannot be loaded: what is timed is then timed without one.
  std::optional<runtime::Plan> control_plan(const Problem& problem, const std::optional<ControlKernel>& control) {
    if (!control) return std::nullopt;
    try {
      return make_plan(problem, control->config, control->cubin);
    } catch (const runtime::DeviceError& error) {
      if (error.context_lost()) throw;
      spdlog::warn("{}: the control cannot be loaded ({})", text(problem), error.what());
    } catch (const std::invalid_argument& error) {
      spdlog::warn("{}: the control is not usable ({})", text(problem), error.what());
    }
    return std::nullopt;
  }

  const OperandSets& operands_of(const Problem& problem) {
    if (!operands || !(operands->problem() == problem)) {
      operands.reset();  // its memory first
      operands.emplace(random, problem);
    }
    return *operands;
  }

  void* workspace_of(std::size_t bytes) {
    if (bytes > workspace.size()) {
      workspace = {};
      workspace = runtime::DeviceBuffer(bytes);
    }
    return bytes > 0 ? workspace.data() : nullptr;
  }

  db::Outcome device_error(Phase phase, const runtime::DeviceError& error) {
    if (error.out_of_memory() && !context_lost) return out_of_memory("GPU", phase, error.what());
    context_lost = context_lost || error.context_lost();
    return failure(context_lost ? db::Status::device_fault : db::Status::launch_failed, in_phase(phase, error.what()));
  }

  void run(const Job& job, const OnPhase& on_phase, Result& result);

  struct Player {
    std::optional<std::size_t> finalist;  ///< which; none: plays along
    runtime::Plan plan;
    bool is_control = false;
  };
  /// What plays beside finalists, and is to be told.
  struct Vendor {
    std::optional<VendorAsk> ask;
    std::optional<VendorAnswer>* answer;
    const OnPhase& on_phase;
  };
  void final_benchmark(const Problem& problem, std::span<const Job> finalists,
      const std::optional<ControlKernel>& control, const Vendor& vendor, std::vector<db::Outcome>& outcomes);
  std::vector<db::Outcome> play(std::vector<Competitor> playing, const OperandSets& sets,
      const std::optional<KnownTime>& known, const Vendor& vendor);
  void release() {
    operands.reset();
    contest.release();
  }
};

MeasureSession::MeasureSession(const runtime::Context& context, TimingPolicy policy)
    : impl_(std::make_unique<Impl>(context, policy)) {}

MeasureSession::~MeasureSession() = default;

bool MeasureSession::context_lost() const { return impl_->context_lost; }

double MeasureSession::clock_probe_us() const { return impl_->stopwatch.clock_probe_us(); }

void MeasureSession::Impl::run(const Job& job, const OnPhase& on_phase, Result& result) {
  const auto enter = [&](Phase phase, bool new_problem = false) {
    result.phase = phase;
    if (on_phase) on_phase(phase, new_problem);
  };
  enter(Phase::loading);
  const runtime::Plan plan = make_plan(job.task.problem(), job.config, job.cubin);
  if (const auto reason = no_room_because(plan, context.info().memory_bytes)) {
    result.outcome = failure(db::Status::launch_failed, in_phase(Phase::loading, *reason));
    return;
  }
  result.suite_passed = job.suite_passed;
  if (!job.suite_passed) {
    enter(Phase::suite);
    const KernelTarget target{job.task.problem(), context.info().limits};
    result.outcome = verifier.suite(modules.load(job.cubin), job.config, target);
    if (result.outcome.status != db::Status::ok) return;
    result.suite_passed = true;
  }
  enter(Phase::verification);
  result.outcome = verifier.on_problem(plan, [&] {
    operands.reset();  // of the former problem: they make room for the reference of this one
    enter(Phase::verification, true);
  });
  if (result.outcome.status != db::Status::ok) return;

  enter(Phase::timing, !operands || !(operands->problem() == job.task.problem()));
  const OperandSets& sets = operands_of(job.task.problem());
  const std::optional<runtime::Plan> beside = control_plan(job.task.problem(), job.control);
  // They run one after the other on one stream: one workspace serves both.
  void* const memory = workspace_of(std::max(plan.workspace_bytes(), beside ? beside->workspace_bytes() : 0));
  std::optional<Control> control;
  if (beside) control = Control{Stopwatch::competitor(*beside, sets, memory), job.control->us};
  const Competitor competitor = Stopwatch::competitor(plan, sets, memory);
  result.outcome = stopwatch.time(competitor, sets.rotation(), job.incumbent_us, control);
}

MeasureSession::Result MeasureSession::evaluate(const Job& job, const OnPhase& on_phase) {
  Result result;
  try {
    impl_->run(job, on_phase, result);
  } catch (const runtime::DeviceError& error) {
    result.outcome = impl_->device_error(result.phase, error);
    // Of a device out of memory nothing can be told about what the caches hold: they are made anew.
    if (!impl_->context_lost) impl_->release();
  } catch (const std::bad_alloc& error) {
    result.outcome = out_of_memory("host", result.phase, error.what());
  } catch (const std::invalid_argument& error) {
    result.outcome = failure(db::Status::illegal, in_phase(result.phase, error.what()));
  }
  result.context_lost = impl_->context_lost;
  return result;
}

/// The outcomes of those that play, the vendor's beside them. Where it fails them all they play again without it.
std::vector<db::Outcome> MeasureSession::Impl::play(std::vector<Competitor> playing, const OperandSets& sets,
    const std::optional<KnownTime>& known, const Vendor& vendor) {
  const std::size_t ours = playing.size();
  if (vendor.ask) {
    std::optional<Control> control;
    if (known && !is_short(known->us)) control = Control{playing[known->competitor], known->us};
    VendorAnswer& answer = vendor.answer->emplace();
    for (Competitor& player : contest.players(*vendor.ask, sets, stopwatch, control, answer))
      playing.push_back(std::move(player));
    if (vendor.on_phase) vendor.on_phase(Phase::final_benchmark, false);  // its time begins now
  }
  if (playing.size() == ours) return stopwatch.final_benchmark(playing, sets.rotation(), known);
  try {
    std::vector<db::Outcome> played = stopwatch.final_benchmark(playing, sets.rotation(), known, ours);
    contest.conclude({played.begin() + std::ptrdiff_t(ours), played.end()}, **vendor.answer);
    played.resize(ours);
    return played;
  } catch (const std::exception& error) {
    const auto* const device = dynamic_cast<const runtime::DeviceError*>(&error);
    if (device != nullptr && device->context_lost()) throw;
    (*vendor.answer)->times.message = in_phase(Phase::final_benchmark, error.what());
    (*vendor.answer)->by_machine = device != nullptr && device->out_of_memory();
    playing.resize(ours);
    return stopwatch.final_benchmark(playing, sets.rotation(), known);
  }
}

void MeasureSession::Impl::final_benchmark(const Problem& problem, std::span<const Job> finalists,
    const std::optional<ControlKernel>& control, const Vendor& vendor, std::vector<db::Outcome>& outcomes) {
  const OperandSets& sets = operands_of(problem);
  std::deque<Player> players;
  std::size_t workspace_bytes = 0;
  bool control_plays = false;
  for (std::size_t i = 0; i < finalists.size(); ++i) {
    try {
      const bool is_control = control && control->config == finalists[i].config;
      players.push_back({i, make_plan(problem, finalists[i].config, finalists[i].cubin), is_control});
      control_plays = control_plays || is_control;
    } catch (const runtime::DeviceError& error) {
      if (error.context_lost()) throw;
      outcomes[i] = device_error(Phase::final_benchmark, error);
    } catch (const std::invalid_argument& error) {
      outcomes[i] = failure(db::Status::illegal, in_phase(Phase::final_benchmark, error.what()));
    }
  }
  // A control that is no finalist plays along for the scale.
  if (auto plan = control_plays ? std::nullopt : control_plan(problem, control))
    players.push_back({{}, *std::move(plan), true});
  for (const Player& player : players) workspace_bytes = std::max(workspace_bytes, player.plan.workspace_bytes());
  void* const memory = workspace_of(workspace_bytes);
  std::vector<Competitor> all, playing;
  for (const Player& player : players) all.push_back(Stopwatch::competitor(player.plan, sets, memory));
  const std::vector<std::size_t> able = those_that_launch(
      players.size(), [&](std::size_t i) { stopwatch.try_out(all[i]); },
      [&](std::size_t i, const runtime::DeviceError& error) {
        if (players[i].finalist) outcomes[*players[i].finalist] = device_error(Phase::final_benchmark, error);
        else spdlog::warn("{}: the control cannot be launched ({})", text(problem), error.what());
      });
  if (std::none_of(able.begin(), able.end(), [&](std::size_t i) { return players[i].finalist.has_value(); })) return;
  std::optional<KnownTime> known;
  for (const std::size_t i : able) {
    if (players[i].is_control) known = KnownTime{playing.size(), control->us};
    playing.push_back(all[i]);
  }
  const std::vector<db::Outcome> played = play(std::move(playing), sets, known, vendor);
  for (std::size_t i = 0; i < able.size(); ++i) {
    if (const auto finalist = players[able[i]].finalist) outcomes[*finalist] = played[i];
  }
}

std::vector<db::Outcome> MeasureSession::final_benchmark(const Task& task, std::span<const Job> finalists,
    const std::optional<ControlKernel>& control, const std::optional<VendorAsk>& ask,
    std::optional<VendorAnswer>* vendor, const OnPhase& on_phase) {
  std::vector<db::Outcome> outcomes(finalists.size());
  try {
    impl_->final_benchmark(
        task.problem(), finalists, control, {vendor != nullptr ? ask : std::nullopt, vendor, on_phase}, outcomes);
    if (vendor != nullptr && *vendor && (*vendor)->by_machine) {
      spdlog::warn("{}: the vendor has no time: {}", text(task), (*vendor)->times.message);
      vendor->reset();
    }
  } catch (const runtime::DeviceError& error) {
    if (vendor != nullptr) vendor->reset();
    outcomes.assign(finalists.size(), impl_->device_error(Phase::final_benchmark, error));
    if (!impl_->context_lost) impl_->release();
  } catch (const std::bad_alloc& error) {
    if (vendor != nullptr) vendor->reset();
    outcomes.assign(finalists.size(), out_of_memory("host", Phase::final_benchmark, error.what()));
  }
  return outcomes;
}

}  // namespace tilesmith::tuner
