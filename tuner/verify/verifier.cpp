#include "tuner/verify/verifier.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <list>
#include <map>
#include <optional>
#include <vector>

#include "tuner/verify/host_reference.hpp"
#include "tuner/verify/number_formats.hpp"
#include "tuner/verify/problem_state.hpp"
#include "tuner/verify/reference_kernels.hpp"
#include "tuner/verify/suite_runner.hpp"
#include "tuner/verify/weights_data.hpp"

namespace tilesmith::tuner {
namespace {

// Type pairs and transposes come in runs; four of them stay on the device, about 200 MB.
constexpr std::size_t kResidentSuites = 4;

/// One a stage, as they lie on the device; zero before every candidate.
struct StageReport {
  Report on_c, on_workspace;
  std::uint64_t checksum = 0, unused = 0;
};

}  // namespace

struct Verifier::Impl {
  explicit Impl(const runtime::Context& of) : context(of), reports(std::size(kProblemStages) * sizeof(StageReport)) {}

  const runtime::Context& context;
  runtime::Stream stream;
  // By type pair, and whether B has weights.
  std::map<std::string, std::shared_ptr<const ReferenceKernels>, std::less<>> kernels;
  struct Suite {
    KernelSignature signature;
    std::unique_ptr<SuiteRunner> runner;
  };
  std::list<Suite> suites;  // most recently used first
  std::unique_ptr<ProblemState> state;
  GuardedWorkspace workspace;
  runtime::DeviceBuffer reports;  // a StageReport for each stage

  std::shared_ptr<const ReferenceKernels> kernels_of(const KernelSignature& signature) {
    const bool weights = has_weights(signature);
    auto& entry = kernels[std::string(signature.type.name) + (weights ? " weights" : "")];
    if (!entry) entry = std::make_shared<const ReferenceKernels>(signature.type, context.info(), weights);
    return entry;
  }

  SuiteRunner& suite_of(const KernelSignature& signature) {
    const auto found =
        std::find_if(suites.begin(), suites.end(), [&](const Suite& b) { return b.signature == signature; });
    if (found != suites.end()) {
      suites.splice(suites.begin(), suites, found);
    } else {
      if (suites.size() >= kResidentSuites) suites.pop_back();
      auto runner = std::make_unique<SuiteRunner>(context, kernels_of(signature), signature);
      suites.push_front({signature, std::move(runner)});
    }
    return *suites.front().runner;
  }

  /// Untouched: what a kernel spoilt that failed before it came to its own check, or strayed while it was timed, is not
  /// the next one's doing.
  bool holds(const Problem& problem) {
    if (!state || !(state->problem() == problem)) return false;
    if (is_untouched(*state)) return true;
    spdlog::warn("{}: a kernel that was tried before has written into the operands of the proof; they are made anew",
        text(problem));
    state.reset();
    return false;
  }

  ProblemState& state_of(const Problem& problem, const std::function<void()>& before_making) {
    if (!holds(problem)) {
      state.reset();  // its memory first
      if (before_making) before_making();
      state = std::make_unique<ProblemState>(context, kernels_of(problem), problem, stream);
    }
    return *state;
  }

  void enqueue_checksums(ProblemState& of);
  std::vector<StageReport> download_reports(const ProblemState& of);
  bool is_untouched(ProblemState& of);
  std::optional<db::Outcome> run_stage(const runtime::Plan& plan, ProblemState& of, ProblemStage& stage,
      const ReferenceKernels& with, std::byte* report);
  db::Outcome judge(ProblemState& of, const std::vector<StageReport>& found);
  static std::string describe(const Problem& p, const ProblemStage& stage, const Report& report);
};

void Verifier::Impl::enqueue_checksums(ProblemState& of) {
  for (std::size_t s = 0; s < of.stages().size(); ++s)
    of.enqueue_checksum(
        of.stages()[s], stream, reports.data() + s * sizeof(StageReport) + offsetof(StageReport, checksum));
}

std::vector<StageReport> Verifier::Impl::download_reports(const ProblemState& of) {
  stream.synchronize();
  std::vector<StageReport> found(of.stages().size());
  reports.download(std::as_writable_bytes(std::span<StageReport>(found)));
  return found;
}

bool Verifier::Impl::is_untouched(ProblemState& of) {
  reports.fill(0);
  context.synchronize();
  enqueue_checksums(of);
  const std::vector<StageReport> found = download_reports(of);
  return std::equal(found.begin(), found.end(), of.stages().begin(),
      [](const StageReport& report, const ProblemStage& stage) { return report.checksum == stage.checksum; });
}

std::optional<db::Outcome> Verifier::Impl::run_stage(
    const runtime::Plan& plan, ProblemState& of, ProblemStage& stage, const ReferenceKernels& with, std::byte* report) {
  const Problem& problem = of.problem();
  with.launch(stream, "reset_reports", 1, report, int{2});
  const std::vector<OperandMatrix> read = inputs(problem);
  const bool c_apart = std::ranges::find(read, OperandRole::c, &OperandMatrix::role) != read.end();
  with.launch(stream, "fill_c", stage.c_row.slots, of.c().data(), stage.c_row, int(stage.scales.beta == 0 || c_apart),
      stage.rules.c);
  runtime::RunArgs args;
  for (const OperandMatrix& matrix : read) args.set(matrix.role, stage.first_of(of.zones(), matrix.role));
  args.set(OperandRole::d, of.c().data() + of.zones()[OperandRole::d].first_byte);
  args.alpha = runtime::to_scale(problem.type, stage.scales.alpha);
  args.beta = runtime::to_scale(problem.type, stage.scales.beta);
  args.workspace = workspace.prepare(with, stream, plan.workspace_bytes());
  args.stream = stream.get();
  of.pointers().put(problem, args);
  if (auto failed = launch_outcome(plan.run(args), "problem: " + text(problem, stage.scales, stage.stage)))
    return failed;
  workspace.check(with, stream, 0, report + offsetof(StageReport, on_workspace));
  std::byte* const rows = stage.compared.empty() ? nullptr : stage.compared_device.data();
  const bool real = stage.stage == Stage::real;
  with.launch(stream, real ? "compare_real" : "compare_exact",
      std::uint64_t(stage.compared_rows()) * std::uint64_t(problem.d_cols()), of.c().data(), stage.c_row, stage.rules.c,
      stage.sums.data(), rows, stage.compared_rows(), stage.scales.alpha, stage.scales.beta,
      epilogue_rule(problem, stage.rules), int(is_exact(problem)), std::uint64_t{0}, report);
  with.launch(stream, "check_outside", of.zones()[OperandRole::d].bytes / 64, of.c().data(), stage.c_row,
      std::uint64_t{0}, report);
  return std::nullopt;
}

std::string Verifier::Impl::describe(const Problem& p, const ProblemStage& stage, const Report& report) {
  const std::int64_t at = std::int64_t(report.first_slot()) - std::int64_t(stage.c_row.first_slot);
  const std::string what = "problem: " + text(p, stage.scales, stage.stage);
  if (report.first_fault() == verify::kFaultOutside) {
    if (at < 0) return fmt::format("{}: wrote {} elements before C", what, -at);
    return fmt::format("{}: wrote outside C, at [{},{}]", what, at / p.ldc, at % p.ldc);
  }
  const std::int64_t index = verify::element_index(stage.c_row, report.first_slot());
  const std::int64_t i = index / p.d_cols(), j = index % p.d_cols();  // rows numbered on from one entry to the next
  const auto row = stage.compared.empty()
                       ? i
                       : std::lower_bound(stage.compared.begin(), stage.compared.end(), i) - stage.compared.begin();
  const bool f64 = stage.sums_are_f64(p.type);
  std::byte stored[8] = {};
  const std::size_t sum_bytes = stage.sum_bytes(p.type);
  const auto sum = [&](std::int64_t n) {
    stage.sums.download({stored, sum_bytes}, std::size_t(row * p.n + n) * sum_bytes);
    return decode(f64 ? Scalar::f64 : Scalar::s32, stored);
  };
  const auto addend = [&](OperandRole role, std::int64_t of_row, std::int64_t of_column) {
    const Scalar element = operand(p, role).element;
    encode(element, verify::rule_value(stage.rules.of(role), of_row, of_column, p.n), stored);
    return decode(element, stored);
  };
  const auto of_vector = [&](OperandRole role, std::int64_t of) { return addend(role, 0, of); };
  const double want = p.epilogue.is_gated() ? expected_pair(p, stage.stage, stage.scales, i % p.m, j, sum, of_vector)
                                            : expected_value(p, stage.stage, stage.scales, sum(j),
                                                  addend(OperandRole::c, i, j), terms_at(p, i % p.m, j, of_vector));
  return fmt::format("{}: {} is wrong, expected {:.9g}{}; {} of {} compared elements are wrong", what,
      place_in_c(p.entries(), p.m, p.d_cols(), index), want,
      stage.c_row.absolute > 0 ? fmt::format(" ± {:.2g}", stage.c_row.absolute) : std::string(), report.count,
      stage.compared_rows() * p.d_cols());
}

db::Outcome Verifier::Impl::judge(ProblemState& of, const std::vector<StageReport>& found) {
  for (std::size_t s = 0; s < found.size(); ++s) {
    ProblemStage& stage = of.stages()[s];
    if (found[s].checksum != stage.checksum) {
      // The operands or the reference are spoilt: the next candidate gets new ones.
      const std::string what = "problem: " + text(of.problem(), stage.scales, stage.stage);
      state.reset();
      return {db::Status::mismatch, what + ": wrote far outside C, into other operands", {}};
    }
  }
  for (std::size_t s = 0; s < found.size(); ++s) {
    ProblemStage& stage = of.stages()[s];
    if (found[s].on_c.count != 0) return {db::Status::mismatch, describe(of.problem(), stage, found[s].on_c), {}};
    if (found[s].on_workspace.count != 0) {
      return {db::Status::mismatch,
          "problem: " + text(of.problem(), stage.scales, stage.stage) + ": wrote outside its workspace", {}};
    }
  }
  return {db::Status::ok, "", {}};
}

Verifier::Verifier(const runtime::Context& context) : impl_(std::make_unique<Impl>(context)) {}
Verifier::~Verifier() = default;

db::Outcome Verifier::suite(const std::shared_ptr<const runtime::Module>& module, const Config& config,
    const KernelTarget& target, Suite suite) {
  const Family* family = find_family(config.family());
  if (family == nullptr) return {db::Status::illegal, fmt::format("unknown family '{}'", config.family()), {}};
  return impl_->suite_of(target).run(module, *family, config, suite, impl_->workspace, impl_->stream);
}

db::Outcome Verifier::on_problem(const runtime::Plan& plan, const std::function<void()>& before_making) {
  const Problem& problem = plan.problem();
  if (problem.m == 0 || problem.n == 0 || problem.batch == 0) return {db::Status::ok, "", {}};
  ProblemState& state = impl_->state_of(problem, before_making);
  const auto kernels = impl_->kernels_of(problem);
  const std::size_t count = state.stages().size();
  impl_->reports.fill(0);
  impl_->context.synchronize();
  for (std::size_t s = 0; s < count; ++s) {
    std::byte* const report = impl_->reports.data() + s * sizeof(StageReport);
    if (auto failed = impl_->run_stage(plan, state, state.stages()[s], *kernels, report)) {
      impl_->stream.synchronize();
      return *failed;
    }
  }
  impl_->enqueue_checksums(state);  // at the end: a later stage may have strayed into an earlier one's operands
  return impl_->judge(state, impl_->download_reports(state));
}

}  // namespace tilesmith::tuner
