// Times plans by one policy, so that times are comparable: full-entropy random operands, rotating through more than
// twice the L2 (cold), CUDA graphs of many launches for short kernels, sampling until the relative confidence interval
// of the median is narrow, a sentinel kernel in between to see and divide out drift, samples under throttling discarded.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "db/evidence.hpp"
#include "runtime/device.hpp"
#include "runtime/plan.hpp"
#include "tuner/measure/operand_sets.hpp"
#include "tuner/measure/timing_policy.hpp"

namespace tilesmith::tuner {

/// Something that can be enqueued on a stream with one of several operand sets: a plan, or a peer's algorithm.
/// `enqueue(set)` must only launch, and throws runtime::DeviceError if that fails; it must be capturable in a CUDA graph.
struct Contender {
  std::string name;
  std::function<void(int set, const runtime::Stream& stream)> enqueue;
};

class Stopwatch {
 public:
  /// Compiles its helper kernels and lets the clocks settle: about 0.3 s. The context must outlive it.
  explicit Stopwatch(const runtime::Context& context, TimingPolicy policy = {});
  ~Stopwatch();

  /// The sentinel's time that drift is relative to: pass it on in TimingPolicy when another process goes on measuring.
  double sentinel_start_us() const;

  /// A contender that runs the plan on these operands with α = 1 and β = 0 (or 0.5 where the problem's beta class is
  /// any). The plan, the operands and the workspace must outlive it.
  static Contender contender(const runtime::Plan& plan, const OperandSets& operands, void* workspace);

  /// Times one contender on `operand_sets` sets. `incumbent_us` (0: none) allows giving up early on a clearly slower one;
  /// its timing is then true but wide (one or three samples). Throws runtime::DeviceError.
  db::Timing time(const Contender& contender, int operand_sets, double incumbent_us = 0);

  /// Times several interleaved, round by round in shuffled order, until their order is settled or inside the noise.
  /// Results in the order of the arguments.
  std::vector<db::Timing> play_off(std::span<const Contender> contenders, int operand_sets);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tilesmith::tuner
