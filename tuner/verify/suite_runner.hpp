// Runs the suite on the device: all cases launched back to back, twice (whole suite), then compared by one kernel.
//
//   arena:  case rows | operands of all cases | expected | image of C   │ C of run 1 | C of run 2 | flags, reports, sum, wrong ends
//           ── checksummed: a kernel that writes far outside C is ──────┘
//              caught, and the arena is made anew
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>

#include "db/store/record.hpp"
#include "runtime/driver/device.hpp"
#include "runtime/plan/plan.hpp"
#include "runtime/plan/pointer_tables.hpp"
#include "tuner/verify/reference_kernels.hpp"
#include "tuner/verify/suite_image.hpp"

namespace tilesmith::tuner {

/// What Plan::run's return code means for the candidate. Empty for success. A refused launch is the candidate's outcome
/// (launch_failed,
/// `what` and the code); a lost context throws runtime::DeviceError; a negative code is the verifier's own mistake and
/// throws std::logic_error.
std::optional<db::Outcome> launch_outcome(int code, const std::string& what);

/// The cases of one signature, resident on the device. About 30 to 60 MB.
class SuiteRunner {
 public:
  SuiteRunner(const runtime::Context& context, std::shared_ptr<const ReferenceKernels> kernels,
      const KernelSignature& signature);

  db::Outcome run(const std::shared_ptr<const runtime::Module>& module, const Family& family, const Config& config,
      Suite suite, GuardedWorkspace& workspace, const runtime::Stream& stream);

 private:
  enum Part { kRows, kOperands, kExpected, kImage, kRun1, kRun2, kFlags, kReports, kSum, kFaults, kParts };
  std::byte* at(Part part) const { return arena_.data() + offsets_[part]; }
  void upload();
  std::uint64_t sum_of_read_only(const runtime::Stream& stream);
  /// Empty, or what is wrong with which ends of groups were reported.
  std::string wrong_reports(const std::vector<std::unique_ptr<runtime::Plan>>& plans) const;
  db::Outcome judge(const Report& on_c, const Report& on_workspace) const;

  const runtime::Context& context_;
  std::shared_ptr<const ReferenceKernels> kernels_;
  SuiteImage image_;
  std::uint64_t most_slots_ = 0;  ///< of any case
  std::array<std::size_t, kParts> offsets_{};
  std::size_t read_only_bytes_ = 0;
  runtime::DeviceBuffer arena_;
  runtime::PointerTables pointers_;
  std::uint64_t checksum_ = 0;
};

}  // namespace tilesmith::tuner
