// What the measuring process does with one candidate: load, suite, verify, time. No process or protocol in here.
//
// A candidate's failure is its outcome. Where the device or the host has no memory left for it, by what the process
// itself asks for (a launch that is refused is the kernel's own doing, and so is a workspace that no free memory would
// be enough for), the outcome is the machine's (Outcome::by_machine). What is thrown (anything but DeviceError,
// std::bad_alloc and the plan's std::invalid_argument) is a broken environment: the helper kernels do not compile.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "db/store/record.hpp"
#include "runtime/driver/device.hpp"
#include "tuner/measure/timing_policy.hpp"
#include "tuner/vendor.hpp"

namespace tilesmith::tuner {

/// Where a candidate is on its way.
enum class Phase { loading, suite, verification, timing, final_benchmark };
std::string_view name(Phase phase);
std::optional<Phase> parse_phase(std::string_view text);

class MeasureSession {
 public:
  /// The context must outlive it.
  explicit MeasureSession(const runtime::Context& context, TimingPolicy policy = {});
  ~MeasureSession();

  /// A config that was found right and timed for the same task: what long launches are timed beside.
  struct ControlKernel {
    Config config;
    std::vector<std::byte> cubin;
    double us = 0;
  };
  struct Job {
    Task task;
    Config config;
    std::vector<std::byte> cubin;
    bool suite_passed = false;  ///< known from the store: not repeated
    double incumbent_us = 0;
    std::optional<ControlKernel> control = std::nullopt;
    std::vector<std::byte> delayed_cubin = {};  ///< db::KernelBuild
  };
  struct Result {
    db::Outcome outcome;
    bool suite_passed = false;
    bool context_lost = false;     ///< the process must end now; the outcome is device_fault
    Phase phase = Phase::loading;  ///< the last one that was entered
  };
  /// `on_phase` is told of each phase before it begins; `new_problem` is true where operands and reference are made
  /// first.
  using OnPhase = std::function<void(Phase phase, bool new_problem)>;
  Result evaluate(const Job& job, const OnPhase& on_phase = {});

  /// Interleaved timing of candidates that evaluate() already found right. One that cannot be loaded or launched any
  /// more has that as its outcome, and the others are timed without it. After a lost context every outcome is
  /// device_fault, and the process must end.
  /// With `ask` the vendor's algorithms play along, and `vendor` has what became of them, unless the context is lost.
  /// Whatever fails there costs the finalists nothing.
  std::vector<db::Outcome> final_benchmark(const Task& task, std::span<const Job> finalists,
      const std::optional<ControlKernel>& control = std::nullopt, const std::optional<VendorAsk>& ask = std::nullopt,
      std::optional<VendorAnswer>* vendor = nullptr, const OnPhase& on_phase = {});
  bool context_lost() const;

  /// The clock probe's time that drift is relative to.
  double clock_probe_us() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tilesmith::tuner
