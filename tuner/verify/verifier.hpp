// Proves a compiled kernel right before any of its times is believed.
//
// Two stages, both on exact data (small integers, every partial sum representable: results must equal the reference bit
// for bit, also where the output must round them) and on real-valued data (uniform [-1, 1] against an f64 reference,
// within real_bound() of exact_data.hpp):
//   suite      once per compiled kernel: small awkward problems (1, primes, tile ± 1), padded leading dimensions,
//                α, β in {0, 1, other}, C poisoned with NaN where β = 0, guard bytes around C, at the ends of A and B
//                and of the workspace, and a second run that must give the same bits.
//   on_problem   once per candidate: the tuned problem itself, every element of C compared on the device with a
//                reference computed by a separate plain kernel, which is itself proven on the host by Freivalds' check
//                and by sampled rows and columns.
// Operands and references are summed up before a kernel runs and after it: what another one spoilt is made anew and
// held against nobody. Checks are written so that NaN fails.
#pragma once

#include <functional>
#include <memory>

#include "db/store/record.hpp"
#include "runtime/driver/device.hpp"
#include "runtime/plan/plan.hpp"
#include "tuner/verify/suite_cases.hpp"

namespace tilesmith::tuner {

/// Changes whenever the suite proves more than before: kernels are then proven anew before they are timed or played off
/// (tests/tuner/verify/test_suite.cpp holds a hash of its cases).
inline constexpr const char* kSuiteVersion = "suite-2";

class Verifier {
 public:
  explicit Verifier(const runtime::Context& context);
  ~Verifier();

  /// status ok (no timing) or mismatch with the first wrong element: "suite: f16f32 NN 17 13 31 α=2 β=0 exact:
  /// C[3,5] is 7, expected 9"; launch_failed where the driver refuses a launch. Throws DeviceError on a device fault.
  /// Skips suite problems that the config refuses, and says so if it refuses all of them (mismatch).
  db::Outcome suite(const std::shared_ptr<const runtime::Module>& module, const Config& config,
      const KernelTarget& target, Suite suite = Suite::whole);

  /// The same for the tuned problem. Operands and reference are made once per problem and kept for the next call; that
  /// takes up to some seconds for the largest, and so does what was spoilt meanwhile: `before_making` is then called
  /// first. Throws DeviceError if they do not fit the device.
  db::Outcome on_problem(const runtime::Plan& plan, const std::function<void()>& before_making = {});

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tilesmith::tuner
