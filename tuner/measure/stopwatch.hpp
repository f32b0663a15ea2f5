// Times plans by one policy, so that times are comparable: full-entropy random operands, rotating through more than
// twice the L2 (cold), CUDA graphs of many launches for short kernels, sampling until the relative confidence interval
// of the median is narrow, measurements under throttling repeated. Competitors that take turns share one rotation, so
// that the operands are cold for each of them, whatever the others read.
//
// The time of a short launch is what an application sees: each stands in its graph behind a small kernel that is not
// ours (Pacing::another_kernel), and a graph of that kernel alone is timed in the same sample and taken off. In a row
// of like launches a config with early_launch would overlap itself, which between an application's other kernels it
// cannot (runtime/plan/captured_order). A peer's launches are timed so too. TimingPolicy::before chooses rows instead,
// as a second figure. Long launches are timed one by one: what stands before them is below what can be told.
//
// Drift of the device's speed is divided out of times that are compared. Short launches have a clock probe kernel timed
// before and after them. Long ones are timed in turn with a control, a competitor of the same problem whose time is
// known, and drift is the control's time now over that: under a power limit a heavy kernel pulls the clock down for
// itself and for what comes after it, which a light clock_probe cannot tell from another drift. Long launches without a
// control, the first of a problem and those that `bench` plays off, are run until their time stays, and then taken as
// they are measured: theirs is the time of a device under that load. A final benchmark of long launches beside a
// control is run until its time stays too: who is first at the full clock may be second under a power limit, where what
// counts is energy. What drift the competitors of a final benchmark share within it is taken out of each one's samples
// (shared_drift.hpp).
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "db/store/record.hpp"
#include "runtime/driver/device.hpp"
#include "runtime/plan/plan.hpp"
#include "tuner/measure/operand_sets.hpp"
#include "tuner/measure/timing_policy.hpp"

namespace tilesmith::tuner {

/// Something that can be enqueued on a stream with one of several operand sets: a plan, or a peer's algorithm.
/// `enqueue(set)` must only launch, and throws runtime::DeviceError if that fails; it must be capturable in a CUDA
/// graph.
struct Competitor {
  std::string name;
  std::function<void(int set, const runtime::Stream& stream)> enqueue;
};

/// A competitor whose time is known.
struct Control {
  Competitor competitor;
  double us = 0;
};

/// Which of the competitors of a final benchmark has a known time.
struct KnownTime {
  std::size_t competitor = 0;
  double us = 0;
};

class Stopwatch {
 public:
  /// Compiles its helper kernels and lets the clocks come up (settling.hpp): from 0.2 s on. The context must outlive
  /// it.
  explicit Stopwatch(const runtime::Context& context, TimingPolicy policy = {});
  ~Stopwatch();

  /// The clock probe's time that drift is relative to: pass it on in TimingPolicy when another process goes on
  /// measuring.
  double clock_probe_us() const;

  /// A competitor that runs the plan on these operands with α = 1 and β = 0 (or 0.5 where the problem's beta class is
  /// any). The plan, the operands and the workspace must outlive it.
  static Competitor competitor(const runtime::Plan& plan, const OperandSets& operands, void* workspace);

  /// Launches it once and waits for its end. Throws runtime::DeviceError.
  void try_out(const Competitor& competitor);

  /// Times one competitor on the sets that the rotation leads it through. `incumbent_us` (0: none) allows giving up
  /// early on a clearly slower one; its timing is then true but wide (one or three samples). With a control whose
  /// launches are not short the two take turns, and the time is on the control's scale. The outcome is ok; its message
  /// tells of a disturbance that did not pass while the measurement was repeated. Throws runtime::DeviceError.
  db::Outcome time(const Competitor& competitor, Rotation& rotation, double incumbent_us = 0,
      const std::optional<Control>& control = std::nullopt);

  /// Times several interleaved, round by round in shuffled order, until their order is settled or inside the noise.
  /// Results in the order of the arguments; where `known` names a competitor whose launches are not short, on its
  /// scale. `deciding`: how many, the first of them, say how launches are timed and when that ends; the others play
  /// along. 0: all.
  std::vector<db::Outcome> final_benchmark(std::span<const Competitor> competitors, Rotation& rotation,
      std::optional<KnownTime> known = std::nullopt, std::size_t deciding = 0);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tilesmith::tuner
