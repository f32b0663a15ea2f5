#include "tuner/workers/measure_session.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <array>
#include <new>
#include <stdexcept>

#include "tuner/measure/stopwatch.hpp"
#include "tuner/workers/task_kind.hpp"
#include "tuner/workers/trial_launches.hpp"
#include "tuner/workers/vendor_contest.hpp"

namespace tilesmith::tuner {
namespace {

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
      : gemm(make_gemm_kind(in_context)),
        own_kernels(make_own_kernel_kind(in_context)),
        stopwatch(in_context, policy),
        contest(in_context) {}

  std::unique_ptr<GemmKind> gemm;
  std::unique_ptr<TaskKind> own_kernels;
  Stopwatch stopwatch;
  runtime::DeviceBuffer workspace;
  VendorContest contest;
  bool context_lost = false;

  TaskKind& kind_of(const Task& task) { return task.is_gemm() ? *gemm : *own_kernels; }

  /// Nothing where the control cannot be loaded: what is timed is then timed without one.
  std::unique_ptr<Loaded> load_control(const Task& task, const std::optional<ControlKernel>& control) {
    if (!control) return nullptr;
    try {
      return kind_of(task).load(task, control->config, control->cubin);
    } catch (const runtime::DeviceError& error) {
      if (error.context_lost()) throw;
      spdlog::warn("{}: the control cannot be loaded ({})", text(task), error.what());
    } catch (const std::invalid_argument& error) {
      spdlog::warn("{}: the control is not usable ({})", text(task), error.what());
    }
    return nullptr;
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
    std::unique_ptr<Loaded> loaded;
    bool is_control = false;
  };
  /// What plays beside finalists, and is to be told.
  struct Vendor {
    std::optional<VendorAsk> ask;
    std::optional<VendorAnswer>* answer;
    const OnPhase& on_phase;
  };
  void final_benchmark(const Task& task, std::span<const Job> finalists, const std::optional<ControlKernel>& control,
      const Vendor& vendor, std::vector<db::Outcome>& outcomes);
  std::vector<db::Outcome> play(
      std::vector<Competitor> playing, Rotation& rotation, const std::optional<KnownTime>& known, const Vendor& vendor);
  void release() {
    gemm->release();
    own_kernels->release();
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
  TaskKind& kind = kind_of(job.task);
  const std::unique_ptr<Loaded> loaded = kind.load(job.task, job.config, job.cubin);
  if (const auto reason = kind.no_room_because(*loaded)) {
    result.outcome = failure(db::Status::launch_failed, in_phase(Phase::loading, *reason));
    return;
  }
  result.suite_passed = job.suite_passed;
  if (!job.suite_passed) {
    enter(Phase::suite);
    result.outcome = kind.suite(*loaded, job.delayed_cubin);
    if (result.outcome.status != db::Status::ok) return;
    result.suite_passed = true;
  }
  enter(Phase::verification);
  result.outcome = kind.verify(*loaded, job.delayed_cubin, [&] {
    release();  // operands of the former task: they make room for the reference of this one
    enter(Phase::verification, true);
  });
  if (result.outcome.status != db::Status::ok) return;

  enter(Phase::timing, !kind.has_operands(job.task));
  Rotation& rotation = kind.operands_of(job.task);
  const std::unique_ptr<Loaded> beside = load_control(job.task, job.control);
  // They run one after the other on one stream: one workspace serves both.
  void* const memory = workspace_of(std::max(loaded->workspace_bytes(), beside ? beside->workspace_bytes() : 0));
  std::optional<Control> control;
  if (beside) control = Control{kind.competitor(*beside, memory), job.control->us};
  result.outcome = stopwatch.time(kind.competitor(*loaded, memory), rotation, job.incumbent_us, control);
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
std::vector<db::Outcome> MeasureSession::Impl::play(
    std::vector<Competitor> playing, Rotation& rotation, const std::optional<KnownTime>& known, const Vendor& vendor) {
  const std::size_t ours = playing.size();
  if (vendor.ask) {
    std::optional<Control> control;
    if (known && !is_short(known->us)) control = Control{playing[known->competitor], known->us};
    VendorAnswer& answer = vendor.answer->emplace();
    for (Competitor& player : contest.players(*vendor.ask, gemm->operands(), stopwatch, control, answer))
      playing.push_back(std::move(player));
    if (vendor.on_phase) vendor.on_phase(Phase::final_benchmark, false);  // its time begins now
  }
  if (playing.size() == ours) return stopwatch.final_benchmark(playing, rotation, known);
  try {
    std::vector<db::Outcome> played = stopwatch.final_benchmark(playing, rotation, known, ours);
    contest.conclude({played.begin() + std::ptrdiff_t(ours), played.end()}, **vendor.answer);
    played.resize(ours);
    return played;
  } catch (const std::exception& error) {
    const auto* const device = dynamic_cast<const runtime::DeviceError*>(&error);
    if (device != nullptr && device->context_lost()) throw;
    (*vendor.answer)->times.message = in_phase(Phase::final_benchmark, error.what());
    (*vendor.answer)->by_machine = device != nullptr && device->out_of_memory();
    playing.resize(ours);
    return stopwatch.final_benchmark(playing, rotation, known);
  }
}

void MeasureSession::Impl::final_benchmark(const Task& task, std::span<const Job> finalists,
    const std::optional<ControlKernel>& control, const Vendor& vendor, std::vector<db::Outcome>& outcomes) {
  TaskKind& kind = kind_of(task);
  Rotation& rotation = kind.operands_of(task);
  std::vector<Player> players;
  std::size_t workspace_bytes = 0;
  bool control_plays = false;
  for (std::size_t i = 0; i < finalists.size(); ++i) {
    try {
      const bool is_control = control && control->config == finalists[i].config;
      players.push_back({i, kind.load(task, finalists[i].config, finalists[i].cubin), is_control});
      control_plays = control_plays || is_control;
    } catch (const runtime::DeviceError& error) {
      if (error.context_lost()) throw;
      outcomes[i] = device_error(Phase::final_benchmark, error);
    } catch (const std::invalid_argument& error) {
      outcomes[i] = failure(db::Status::illegal, in_phase(Phase::final_benchmark, error.what()));
    }
  }
  // A control that is no finalist plays along for the scale.
  if (auto loaded = control_plays ? nullptr : load_control(task, control))
    players.push_back({{}, std::move(loaded), true});
  for (const Player& player : players) workspace_bytes = std::max(workspace_bytes, player.loaded->workspace_bytes());
  void* const memory = workspace_of(workspace_bytes);
  std::vector<Competitor> all, playing;
  for (const Player& player : players) all.push_back(kind.competitor(*player.loaded, memory));
  const std::vector<std::size_t> able = those_that_launch(
      players.size(), [&](std::size_t i) { stopwatch.try_out(all[i]); },
      [&](std::size_t i, const runtime::DeviceError& error) {
        if (players[i].finalist) outcomes[*players[i].finalist] = device_error(Phase::final_benchmark, error);
        else spdlog::warn("{}: the control cannot be launched ({})", text(task), error.what());
      });
  if (std::none_of(able.begin(), able.end(), [&](std::size_t i) { return players[i].finalist.has_value(); })) return;
  std::optional<KnownTime> known;
  for (const std::size_t i : able) {
    if (players[i].is_control) known = KnownTime{playing.size(), control->us};
    playing.push_back(all[i]);
  }
  const std::vector<db::Outcome> played = play(std::move(playing), rotation, known, vendor);
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
        task, finalists, control, {vendor != nullptr ? ask : std::nullopt, vendor, on_phase}, outcomes);
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
