#include "tuner/verify/suite_runner.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <stdexcept>
#include <vector>

#include "kernels/problem/group_ends.hpp"
#include "tuner/verify/number_formats.hpp"

namespace tilesmith::tuner {
namespace {

constexpr std::size_t rounded_up(std::size_t bytes) { return (bytes + 255) / 256 * 256; }

template <typename T>
std::span<const std::byte> bytes_of(const std::vector<T>& values) {
  return std::as_bytes(std::span<const T>(values));
}

template <typename T>
T download(const runtime::DeviceBuffer& buffer, std::size_t offset) {
  T value;
  buffer.download(std::as_writable_bytes(std::span<T, 1>(&value, 1)), offset);
  return value;
}

}  // namespace

std::optional<db::Outcome> launch_outcome(int code, const std::string& what) {
  if (code == 0) return std::nullopt;
  if (code < 0) throw std::logic_error(fmt::format("{}: the verifier broke the plan's contract, code {}", what, code));
  const runtime::DeviceError error(code, fmt::format("{}: launch failed with driver error {}", what, code));
  if (error.context_lost()) throw error;
  return db::Outcome{db::Status::launch_failed, error.what(), {}};
}

SuiteRunner::SuiteRunner(
    const runtime::Context& context, std::shared_ptr<const ReferenceKernels> kernels, const KernelSignature& signature)
    : context_(context), kernels_(std::move(kernels)), image_(make_suite_image(signature)) {
  const std::size_t sizes[kParts] = {image_.rows.size() * sizeof(CaseRow), image_.operands.size(),
      image_.expected.size() * sizeof(double), image_.c_image.size(), image_.c_image.size(), image_.c_image.size(),
      image_.cases.size(), 2 * sizeof(Report), sizeof(std::uint64_t), image_.cases.size() * sizeof(int)};
  std::size_t end = 0;
  for (int part = 0; part < kParts; ++part) {
    offsets_[std::size_t(part)] = end;
    end += rounded_up(sizes[part]);
    if (part == kImage) read_only_bytes_ = end;
  }
  for (const CaseRow& row : image_.rows) most_slots_ = std::max<std::uint64_t>(most_slots_, row.slots);
  arena_ = runtime::DeviceBuffer(end);
  upload();
  runtime::Stream stream;
  checksum_ = sum_of_read_only(stream);
}

void SuiteRunner::upload() {
  arena_.fill(0);
  context_.synchronize();
  arena_.upload(bytes_of(image_.rows), offsets_[kRows]);
  arena_.upload(image_.operands, offsets_[kOperands]);
  arena_.upload(bytes_of(image_.expected), offsets_[kExpected]);
  arena_.upload(image_.c_image, offsets_[kImage]);
  context_.synchronize();  // our streams do not wait for the null stream's copies
}

std::uint64_t SuiteRunner::sum_of_read_only(const runtime::Stream& stream) {
  // fill_words leaves all ones: the sum starts at −1 every time.
  kernels_->launch(stream, "fill_words", 1, at(kSum), std::uint64_t{1});
  add_checksum(*kernels_, stream, arena_.data(), read_only_bytes_, at(kSum));
  stream.synchronize();
  return download<std::uint64_t>(arena_, offsets_[kSum]);
}

db::Outcome SuiteRunner::run(const std::shared_ptr<const runtime::Module>& module, const Family& family,
    const Config& config, Suite suite, GuardedWorkspace& workspace, const runtime::Stream& stream) {
  const bool whole = suite == Suite::whole;
  const std::vector<Part> runs = whole ? std::vector<Part>{kRun1, kRun2} : std::vector<Part>{kRun1};
  const std::uint64_t words = image_.c_image.size() / 8;
  std::vector<std::byte> active(image_.cases.size());
  std::vector<std::unique_ptr<runtime::Plan>> plans(image_.cases.size());
  bool any = false;
  for (std::size_t i = 0; i < plans.size(); ++i) {
    if (!whole && image_.cases[i].stage != Stage::exact) continue;
    if (refused_because(family, config, image_.cases[i].problem)) continue;
    try {
      const int most_sms = image_.cases[i].on_one_sm ? 1 : 0;
      plans[i] = std::make_unique<runtime::Plan>(module, config, image_.cases[i].problem, most_sms);
    } catch (const runtime::DeviceError& error) {
      if (error.context_lost() || error.out_of_memory()) throw;
      return {db::Status::launch_failed, fmt::format("suite: {}: {}", text(image_.cases[i]), error.what()), {}};
    }
    active[i] = std::byte{1};
    any = true;
  }
  if (!any) return {db::Status::mismatch, "suite: config refuses all problems", {}};

  // A kernel of which a launch was refused, or that strayed while it was timed, came to no check: what it spoilt is not
  // this one's doing.
  if (sum_of_read_only(stream) != checksum_) {
    spdlog::warn("{}: a kernel that was tried before has written into the operands of the suite; they are made anew",
        config.text());
    upload();
  }
  arena_.upload(active, offsets_[kFlags]);
  arena_.upload(std::vector<std::byte>(image_.cases.size() * sizeof(int)), offsets_[kFaults]);
  context_.synchronize();
  kernels_->launch(stream, "reset_reports", 1, at(kReports), int{2});
  for (Part run : runs) {
    kernels_->launch(stream, "copy_words", words, at(kImage), at(run), words);
    for (std::size_t i = 0; i < plans.size(); ++i) {
      if (!plans[i]) continue;
      const Scales& scales = image_.cases[i].scales;
      runtime::RunArgs args;
      for (const OperandMatrix& matrix : inputs(image_.cases[i].problem)) {
        if (matrix.role == OperandRole::c && image_.cases[i].in_place) continue;
        args.set(matrix.role, at(kOperands) + image_.bytes_at[matrix.role][i]);
      }
      args.set(OperandRole::d, at(run) + image_.c_bytes_at(i));
      args.beta = runtime::to_scale(image_.type(), scales.beta);
      args.workspace = workspace.prepare(*kernels_, stream, plans[i]->workspace_bytes());
      args.stream = stream.get();
      args.group_fault = reinterpret_cast<int*>(at(kFaults)) + i;
      pointers_.put(image_.cases[i].problem, args);
      // Launches in a row: what one leaves behind, or still does when the next is under way, shows in the next one's
      // result.
      const bool in_a_row = run == kRun2 && scales.beta == 0;
      std::vector<double> alphas{scales.alpha};
      if (in_a_row) alphas.insert(alphas.begin(), first_alpha(scales));  // another result, which the next overwrites
      for (std::size_t launch = 0; launch < alphas.size(); ++launch) {
        args.alpha = runtime::to_scale(image_.type(), alphas[launch]);
        if (image_.signature.scalars == Scalars::device) {
          const bool is_last = launch + 1 == alphas.size();
          args.set(OperandRole::alpha,
              at(kOperands) + (is_last ? image_.bytes_at[OperandRole::alpha] : image_.other_alpha_at)[i]);
        }
        if (auto failed = launch_outcome(plans[i]->run(args), "suite: " + text(image_.cases[i]))) {
          stream.synchronize();
          return *failed;
        }
      }
      workspace.check(*kernels_, stream, i, at(kReports) + sizeof(Report));
    }
  }
  const unsigned chunks = unsigned(std::clamp<std::uint64_t>((most_slots_ + 255) / 256, 1, 64));
  kernels_->launch_grid(stream, "compare_cases", {chunks, unsigned(plans.size()), 1}, {256, 1, 1}, at(kRows),
      at(kFlags), at(kExpected), at(kImage), at(kRun1), at(runs.back()), int(family.deterministic(config)),
      at(kReports));
  const std::uint64_t sum = sum_of_read_only(stream);
  const auto reports = download<std::array<Report, 2>>(arena_, offsets_[kReports]);
  db::Outcome outcome = judge(reports[0], reports[1]);
  if (const std::string wrong = wrong_reports(plans); outcome.status == db::Status::ok && !wrong.empty())
    outcome = {db::Status::mismatch, wrong, {}};
  if (sum != checksum_) {
    upload();
    // What the comparison found may be its own damage: only the stray write is certain.
    outcome = {db::Status::mismatch, "suite: wrote far outside C, into other operands", {}};
  }
  return outcome;
}

std::string SuiteRunner::wrong_reports(const std::vector<std::unique_ptr<runtime::Plan>>& plans) const {
  if (image_.signature.batch_mode != BatchMode::grouped) return {};
  std::vector<int> reported(image_.cases.size());
  arena_.download(std::as_writable_bytes(std::span<int>(reported)), offsets_[kFaults]);
  for (std::size_t i = 0; i < reported.size(); ++i) {
    const SuiteCase& of = image_.cases[i];
    const bool has_wrong = are_wrong(of.ends, of.problem.m);
    if (plans[i] && (reported[i] != 0) != has_wrong)
      return fmt::format("suite: {}: {}", text(of),
          has_wrong ? "reported no wrong end of a group"
                    : fmt::format("reported a wrong end of group {}, and all are right", reported[i] - 1));
  }
  return {};
}

db::Outcome SuiteRunner::judge(const Report& on_c, const Report& on_workspace) const {
  if (on_c.count != 0) {
    const std::size_t index = on_c.first_case();
    const SlotFault fault{on_c.first_fault(), on_c.first_slot()};
    const std::size_t bytes = size_bytes(image_.type().output);
    const std::size_t from = std::size_t(image_.rows[index].zone_slot + fault.slot) * bytes;
    std::uint64_t bits[2];
    for (int run = 0; run < 2; ++run) {
      std::byte stored[8] = {};
      arena_.download({stored, bytes}, offsets_[run == 0 ? kRun1 : kRun2] + from);
      bits[run] = load_bits(image_.type().output, stored);
    }
    return {db::Status::mismatch, describe_fault(image_, index, fault, bits[0], bits[1]), {}};
  }
  if (on_workspace.count != 0) {
    return {db::Status::mismatch,
        fmt::format("suite: {}: wrote outside its workspace", text(image_.cases[on_workspace.first_case()])), {}};
  }
  return {db::Status::ok, "", {}};
}

}  // namespace tilesmith::tuner
