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

namespace tilesmith::tuner {

/// Changes whenever the meaning of a stored time changes.
inline constexpr const char* kMeasuringPolicy = "cold-1";

struct TimingPolicy {
  double target_relative_ci = 0.01;  ///< stop when half the 95% confidence interval of the median is within this
  double min_total_us = 2000;        ///< measure at least this long ...
  double max_total_us = 60000;       ///< ... and at most this long, a candidate
  int min_samples = 7;
  int max_samples = 200;
  double give_up_factor = 2.0;       ///< stop early when the first samples are this much slower than `incumbent_us`
};

/// Something that can be enqueued on a stream with one of several operand sets: a plan, or a peer's algorithm.
/// `enqueue(set)` must only launch.
struct Contender {
  std::string name;
  std::function<void(int set, const runtime::Stream& stream)> enqueue;
};

/// Operand sets for one problem: A, B and C in as many copies as make the rotation larger than twice the L2.
class OperandSets {
 public:
  OperandSets(const runtime::Context& context, const Problem& problem, std::uint64_t seed = 1);
  ~OperandSets();
  int count() const;
  const void* a(int set) const;
  const void* b(int set) const;
  void* c(int set) const;
  const Problem& problem() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

class Stopwatch {
 public:
  explicit Stopwatch(const runtime::Context& context, TimingPolicy policy = {});
  ~Stopwatch();

  /// A contender that runs the plan on these operands with α = 1 and β = 0 (or 0.5 where the problem's beta class is
  /// any). The plan, the operands and the workspace must outlive it.
  static Contender contender(const runtime::Plan& plan, const OperandSets& operands, void* workspace);

  /// Times one contender. `incumbent_us` (0: none) allows giving up early on a clearly slower one; its timing is then
  /// true but wide.
  db::Timing time(const Contender& contender, int operand_sets, double incumbent_us = 0);

  /// Times several interleaved, round by round in shuffled order, until their order is settled or inside the noise.
  /// Results in the order of the arguments.
  std::vector<db::Timing> play_off(std::span<const Contender> contenders, int operand_sets);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tilesmith::tuner
