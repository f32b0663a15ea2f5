// Proves a kernel of a user's own right before any of its times is believed.
//
// Every buffer stands between guards, and every config runs twice: guards, results and scratch memory hold NaN (-1 in
// integers) before the first run, and large numbers before the second. A config is right if the results of both runs
// are the reference's within its tolerance, if they are the same bits (unless kernel.json says "deterministic": false),
// and if guards and inputs are as they were. A kernel that reads past a buffer is thus found by what it reads there.
// The reference is held to the same, and compared with itself.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tuner/verify/own_runs.hpp"

namespace tilesmith::tuner {

/// A compiled config in memory, with the names of its kernels.
struct OwnModule {
  std::shared_ptr<const runtime::Module> module;
  std::vector<std::string> symbols;
};

/// Holds what was made for the sizes asked about last, and for all proof sizes of their kernel. The context and the
/// kernels must outlive it.
class OwnVerifier {
 public:
  explicit OwnVerifier(const runtime::Context& context) : context_(context) {}

  /// At the kernel's proof sizes, as far as the config may run there. The outcome is ok (without a time), mismatch with
  /// one line that names sizes and place, or launch_failed. Throws DeviceError where the device fails, and
  /// std::runtime_error where the reference is not usable: it does not compile, strays or disagrees with itself.
  db::Outcome at_proof_sizes(const OwnModule& module, const own::Kernel& kernel, const Config& config);

  /// The same for the sizes that are tuned. `before_making` is called before buffers and reference results are made.
  db::Outcome at(const OwnModule& module, const own::Kernel& kernel, const SizedKernel& sized, const Config& config,
      const std::function<void()>& before_making = {});

  /// What `out` and `inout` arguments hold after the last run of at(), by their names.
  std::vector<std::pair<std::string, std::vector<std::byte>>> results() const;

  /// The buffers at these sizes, in the order of the arguments. They are kept for the next call, as at() keeps them.
  const std::vector<Guarded>& buffers(const own::Kernel& kernel, const SizedKernel& sized) {
    return tuned_at(kernel, sized, {}).buffers;
  }

 private:
  void turn_to(const own::Kernel& now);  ///< forgets what was made for another
  [[noreturn]] void reference_failed(const SizedKernel& sized, const std::string& why) const;
  const OwnModule& reference_module(const SizedKernel& sized);
  OwnState made(const SizedKernel& sized);
  void run_reference(OwnState& state);
  OwnState& tuned_at(const own::Kernel& now, const SizedKernel& sized, const std::function<void()>& before_making);
  OwnRuns runs(OwnState& state, const runtime::OwnPlan& plan) {
    return {context_, stream_, *checks_, state, plan, *kernel_};
  }
  db::Outcome prove(OwnState& state, const OwnModule& module, const Config& config);

  const runtime::Context& context_;
  runtime::Stream stream_;
  std::optional<OwnChecks> checks_;      ///< made when a kernel of a user's own comes first
  const own::Kernel* kernel_ = nullptr;  ///< whose reference and proof sizes these are
  std::optional<OwnModule> reference_;
  std::map<std::string, OwnState> at_proof_sizes_;
  std::optional<OwnState> tuned_;
};

}  // namespace tilesmith::tuner
