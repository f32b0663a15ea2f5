#include "tuner/measure/stopwatch.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <deque>
#include <numeric>
#include <random>
#include <thread>
#include <utility>

#include "tuner/measure/clock_probe.hpp"
#include "tuner/measure/pacing.hpp"
#include "tuner/measure/sampler.hpp"
#include "tuner/measure/settling.hpp"
#include "tuner/measure/shared_drift.hpp"
#include "tuner/measure/statistics.hpp"

namespace tilesmith::tuner {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kDriftNoise = 0.01;  // the clock probe's own repeatability: smaller drift is not divided out
constexpr int kRepeats = 2;           // of a measurement that was disturbed
constexpr std::chrono::milliseconds kPause{100};
constexpr std::chrono::seconds kTolerance{10};  // no more repeats for so long after they did not help
constexpr std::size_t kFinalBenchmarkLeastRounds = 15;
constexpr std::size_t kFinalBenchmarkMostRounds = 60;
constexpr double kFinalBenchmarkUs = 500e3;       // no new round after this ...
constexpr double kFinalBenchmarkMostUs = 3000e3;  // ... and not even the least number of rounds after this
constexpr double kAnotherKernelUs = 2.5;          // about, on an H200: all that hangs on it is how long graphs get

/// What a measurement gave, when it counted or could not be repeated any more.
template <typename Samples>
struct Taken {
  Samples samples;
  double drift = 1;  ///< to divide by
  runtime::Telemetry telemetry;
  std::string disturbance;  ///< empty: none

  db::Outcome outcome(const db::Timing& timing) const {
    return {db::Status::ok, disturbance.empty() ? "" : "disturbed: " + disturbance, timing};
  }
};

/// How the short launches of a measurement are put into graphs.
struct Graphs {
  GraphLayout layout;
  Before before;

  Graphs(int operand_sets, double launch_us, Before in_before)
      : layout(graph_layout(operand_sets, launch_us + (in_before == Before::another_kernel ? kAnotherKernelUs : 0))),
        before(in_before) {}
  /// A time that is told of nothing but noise is none, and says nothing of the candidate.
  db::Outcome checked(db::Outcome outcome) const {
    if (before != Before::another_kernel || is_told(outcome.timing->median_us, layout.fewest_launches()))
      return outcome;
    return {db::Status::launch_failed,
        fmt::format("timed behind another kernel it adds {:.3f} us: less than can be told", outcome.timing->median_us),
        std::nullopt, true};
  }
};

/// Of samples that have this drift still in them (what the competitors of a final benchmark share within it is out
/// already).
db::Timing to_timing(std::span<const double> samples_us, double drift, const runtime::Telemetry& telemetry) {
  return {median(samples_us) / drift, relative_spread(samples_us), int(samples_us.size()), telemetry.clock_mhz,
      telemetry.temperature_c, telemetry.power_w, drift};
}

/// A sample of each; the time of all.
double take_turn(std::deque<Sampler>& samplers) {
  double us = 0;
  for (Sampler& sampler : samplers) us += sampler.take().us;
  return us;
}

}  // namespace

struct Stopwatch::Impl {
  Impl(const runtime::Context& in_context, const TimingPolicy& in_policy)
      : context(in_context),
        policy(in_policy),
        pacing(in_context),
        clock_probe(pacing, stream, in_policy.clock_probe_start_us) {}

  const runtime::Context& context;
  TimingPolicy policy;
  runtime::Stream stream;
  Pacing pacing;
  ClockProbe clock_probe;
  Clock::time_point tolerant_until{};  ///< disturbed measurements count until then: repeats did not help
  Clock::time_point slow_until{};      ///< the clocks stay low however busy the device is kept

  /// Drift before a measurement; wakes clocks that fell while the device was idle.
  double settled_drift() {
    clock_probe.renew_base();
    double drift = clock_probe.drift();
    if (Clock::now() < slow_until) return drift;
    for (int i = 0; i < 3 && drift > 1 + 3 * kDriftNoise; ++i) {
      clock_probe.warm_up(15);
      drift = clock_probe.drift();
    }
    if (drift > 1 + 3 * kDriftNoise) slow_until = Clock::now() + kTolerance;
    return drift;
  }

  bool is_tolerant() const { return Clock::now() < tolerant_until; }

  void pause(const std::string& what, const std::string& reason) {
    spdlog::debug("{}: {}; again in a moment", what, reason);
    std::this_thread::sleep_for(kPause);
    clock_probe.warm_up(10);
  }

  /// Repeats a measurement while it is disturbed. What drift it is to be divided by a control's samples tell by
  /// `control_drift`.
  template <typename Measure, typename ControlDrift>
  auto undisturbed(const std::string& what, DriftBy by, Measure&& measure, ControlDrift&& control_drift) {
    for (int repeat = 0;; ++repeat) {
      const bool is_last = repeat == kRepeats || is_tolerant();
      const double drift_before = settled_drift();
      if (by == DriftBy::nothing && !is_last) {  // what is known before need not be measured
        if (const std::string reason = disturbance({}, by, drift_before); !reason.empty()) {
          pause(what, reason);
          continue;
        }
      }
      auto samples = measure();
      const runtime::Telemetry telemetry = runtime::read_telemetry(context.info().ordinal);
      double drift = drift_before;
      if (by == DriftBy::control) drift = control_drift(samples);
      if (by == DriftBy::clock_probe) drift = 0.5 * (drift_before + clock_probe.drift());
      std::string reason = disturbance(telemetry, by, drift);
      if (!reason.empty() && !is_last) {
        pause(what, reason);
        continue;
      }
      if (!reason.empty() && !is_tolerant()) {
        spdlog::warn("{}: after {} attempts still {}; taken as it is", what, repeat + 1, reason);
        tolerant_until = Clock::now() + kTolerance;
      }
      if (by == DriftBy::nothing || (by == DriftBy::clock_probe && std::abs(drift - 1) <= kDriftNoise)) drift = 1;
      return Taken<decltype(samples)>{std::move(samples), drift, telemetry, std::move(reason)};
    }
  }

  /// Runs a load, a turn of which `take` does and tells the time of, until its time stays.
  template <typename Take>
  void settle(Take&& take) {
    for (Settling settling(policy.max_settle_us); !settling.over();) settling.add(take());
  }

  std::vector<double> sample_until_enough(Sampler& sampler, double incumbent_us) {
    std::vector<double> samples_us;
    double measured_us = 0;
    while (judge_samples(samples_us, measured_us, policy, incumbent_us) == Sampling::go_on) {
      const Sampler::Sample sample = sampler.take();
      samples_us.push_back(sample.us);
      measured_us += sample.measured_us;
    }
    return samples_us;
  }

  struct Beside {
    std::vector<double> samples_us;          ///< on the control's scale
    std::vector<double> control_samples_us;  ///< as measured
  };

  /// Who is first in a turn is left to chance: with an even number of sets each would else keep to its half of them.
  Beside sample_beside(Sampler& sampler, Sampler& control_sampler, double control_us, double incumbent_us) {
    Beside taken;
    double measured_us = 0;
    std::mt19937_64 chance(1);
    while (judge_samples(taken.samples_us, measured_us, policy, incumbent_us) == Sampling::go_on) {
      const bool is_first = chance() % 2 == 0;
      const Sampler::Sample first = is_first ? sampler.take() : control_sampler.take();
      const Sampler::Sample second = is_first ? control_sampler.take() : sampler.take();
      taken.control_samples_us.push_back((is_first ? second : first).us);
      taken.samples_us.push_back((is_first ? first : second).us * control_us / taken.control_samples_us.back());
      measured_us += first.measured_us + second.measured_us;
    }
    return taken;
  }

  db::Outcome time_beside(
      const Competitor& competitor, Rotation& rotation, double incumbent_us, const Control& control) {
    Sampler sampler(competitor, rotation, pacing, stream);
    Sampler control_sampler(control.competitor, rotation, pacing, stream);
    const auto taken = undisturbed(
        competitor.name, DriftBy::control,
        [&] { return sample_beside(sampler, control_sampler, control.us, incumbent_us); },
        [&](const Beside& beside) { return median(beside.control_samples_us) / control.us; });
    db::Timing timing = to_timing(taken.samples.samples_us, 1, taken.telemetry);
    timing.drift = taken.drift;
    return taken.outcome(timing);
  }

  /// A single one decides beside all others: it has nobody else to be told from.
  static bool is_decided(std::vector<std::vector<double>> samples_us, std::size_t deciding) {
    if (deciding > 1) samples_us.resize(deciding);
    return winner_is_settled(samples_us);
  }

  std::vector<std::vector<double>> play_rounds(std::deque<Sampler>& samplers, std::size_t deciding) {
    std::vector<FinalBenchmarkSample> turns;
    std::vector<std::size_t> order(samplers.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::mt19937_64 shuffler(samplers.size());
    const auto start = Clock::now();
    for (std::size_t round = 0; round < kFinalBenchmarkMostRounds; ++round) {
      const double spent_us = std::chrono::duration<double, std::micro>(Clock::now() - start).count();
      if (round > 0 && spent_us > kFinalBenchmarkMostUs) break;
      if (round >= kFinalBenchmarkLeastRounds &&
          (spent_us > kFinalBenchmarkUs || is_decided(without_shared_drift(turns, samplers.size()), deciding))) {
        break;
      }
      for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[shuffler() % i]);
      for (const std::size_t competitor : order) turns.push_back({competitor, samplers[competitor].take().us});
    }
    return without_shared_drift(turns, samplers.size());
  }
};

Stopwatch::Stopwatch(const runtime::Context& context, TimingPolicy policy)
    : impl_(std::make_unique<Impl>(context, policy)) {}

Stopwatch::~Stopwatch() = default;

double Stopwatch::clock_probe_us() const { return impl_->clock_probe.base_us(); }

Competitor Stopwatch::competitor(const runtime::Plan& plan, const OperandSets& operands, void* workspace) {
  const Problem& problem = plan.problem();
  const Scale alpha = runtime::to_scale(problem.type, timed_scalar(problem, OperandRole::alpha));
  const Scale beta = runtime::to_scale(problem.type, timed_scalar(problem, OperandRole::beta));
  return {plan.config().text(), [&plan, &operands, workspace, alpha, beta](int set, const runtime::Stream& stream) {
            runtime::RunArgs args;
            operands.put(set, args);
            args.alpha = alpha;
            args.beta = beta;
            args.workspace = workspace;
            args.stream = stream.get();
            args.early_in_graphs =
                true;  // a row (Before::like_launch) overlaps as in a stream; behind another kernel none does
            const int code = plan.run(args);
            if (code != 0) {
              throw runtime::DeviceError(
                  code, fmt::format("launching {}: driver error {}", plan.config().text(), code));
            }
          }};
}

void Stopwatch::try_out(const Competitor& competitor) {
  competitor.enqueue(0, impl_->stream);
  impl_->stream.synchronize();
}

db::Outcome Stopwatch::time(
    const Competitor& competitor, Rotation& rotation, double incumbent_us, const std::optional<Control>& control) {
  if (control && !is_short(control->us)) return impl_->time_beside(competitor, rotation, incumbent_us, *control);
  Sampler sampler(competitor, rotation, impl_->pacing, impl_->stream);
  const double launch_us = sampler.launch_us();
  std::optional<Graphs> graphs;
  if (is_short(launch_us)) graphs.emplace(rotation.operand_sets(), launch_us, impl_->policy.before);
  if (graphs) sampler.prepare(graphs->layout, graphs->before);
  const auto measure = [&] {
    if (is_settled_first(launch_us, incumbent_us, impl_->policy)) impl_->settle([&] { return sampler.take().us; });
    return impl_->sample_until_enough(sampler, incumbent_us);
  };
  const auto taken = impl_->undisturbed(
      competitor.name, graphs ? DriftBy::clock_probe : DriftBy::nothing, measure, [](const auto&) { return 1.0; });
  const db::Outcome outcome = taken.outcome(to_timing(taken.samples, taken.drift, taken.telemetry));
  return graphs ? graphs->checked(outcome) : outcome;
}

std::vector<db::Outcome> Stopwatch::final_benchmark(
    std::span<const Competitor> competitors, Rotation& rotation, std::optional<KnownTime> known, std::size_t deciding) {
  if (competitors.empty()) return {};
  if (deciding == 0 || deciding > competitors.size()) deciding = competitors.size();
  const bool beside_control = known && !is_short(known->us);
  std::deque<Sampler> samplers;
  double fastest_us = 0;
  for (const Competitor& competitor : competitors) {
    const Sampler& added = samplers.emplace_back(competitor, rotation, impl_->pacing, impl_->stream);
    if (samplers.size() <= deciding)
      fastest_us = samplers.size() == 1 ? added.launch_us() : std::min(fastest_us, added.launch_us());
  }
  std::optional<Graphs> graphs;
  if (!beside_control && is_short(fastest_us))
    graphs.emplace(rotation.operand_sets(), fastest_us, impl_->policy.before);
  if (graphs) {
    for (Sampler& sampler : samplers) sampler.prepare(graphs->layout, graphs->before);
  }
  const DriftBy by = beside_control ? DriftBy::control : graphs ? DriftBy::clock_probe : DriftBy::nothing;
  const auto measure = [&] {
    if (!graphs) impl_->settle([&] { return take_turn(samplers); });
    return impl_->play_rounds(samplers, deciding);
  };
  const auto taken = impl_->undisturbed("final benchmark", by, measure,
      [&](const auto& samples) { return median(samples[known->competitor]) / known->us; });
  std::vector<db::Outcome> outcomes;
  for (const std::vector<double>& samples : taken.samples) {
    const db::Outcome outcome = taken.outcome(to_timing(samples, taken.drift, taken.telemetry));
    outcomes.push_back(graphs ? graphs->checked(outcome) : outcome);
  }
  return outcomes;
}

}  // namespace tilesmith::tuner
