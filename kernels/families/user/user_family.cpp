#include "kernels/families/user/user_family.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "kernels/families/estimate.hpp"
#include "kernels/families/render.hpp"

namespace tilesmith {
namespace {

// The fixed names, in the order of their slots.
constexpr std::string_view kOfKernel[] = {"operand_bytes", "accumulator_bytes", "output_bytes", "trans_a", "trans_b"};
constexpr std::string_view kOfProblem[] = {"m", "n", "k", "lda", "ldb", "ldc", "align_bytes", "beta_is_zero"};
constexpr std::size_t kDeviceSlot = std::size(kOfKernel), kProblemSlot = kDeviceSlot + kDeviceNames.size(),
                      kParameterSlot = kProblemSlot + std::size(kOfProblem);

// What render_source() defines, and what the headers that every kernel sees use.
constexpr std::string_view kOfSource[] = {"operand_is_tf32", "operand_is_bf16", "max", "min", "ceil_div"};

constexpr std::int64_t kMostWorkspaceBytes = std::int64_t{16} << 30;

using Values = std::vector<std::int64_t>;

/// Of the slots that belong to kernel and config; the rest is 0.
Values values_of(const UserFamilyParts& parts, const TypePair& type, Transposes trans, const Config& config) {
  Values values{std::int64_t(size_bytes(type.a)), std::int64_t(size_bytes(type.accumulator)),
      std::int64_t(size_bytes(type.output)), trans.a, trans.b};
  values.resize(kParameterSlot);
  for (const Parameter& parameter : parts.parameters) values.push_back(config.at(parameter.name));
  return values;
}

void add_limits(Values& values, const DeviceLimits& l) {
  std::ranges::copy(device_values(l), values.begin() + kDeviceSlot);
}

void add_problem(Values& values, const Problem& p) {
  const std::int64_t of_problem[] = {p.m, p.n, p.k, p.lda, p.ldb, p.ldc, p.align_bytes, p.beta == BetaClass::zero};
  static_assert(std::size(of_problem) == std::size(kOfProblem));
  std::copy(std::begin(of_problem), std::end(of_problem), values.begin() + kProblemSlot);
}

bool read_the_problem(std::span<const Expression* const> expressions) {
  const auto is_of_problem = [](std::size_t slot) { return slot >= kProblemSlot && slot < kParameterSlot; };
  return std::ranges::any_of(
      expressions, [&](const Expression* one) { return std::ranges::any_of(one->reads(), is_of_problem); });
}

/// A rule that the values of expressions multiplied by each other are 0 to a limit, or 1 to it.
Rule limit_rule(std::shared_ptr<const UserFamilyParts> parts, const KernelTarget& target, std::string name,
    std::string reason, std::vector<const Expression*> factors, std::int64_t least, std::int64_t most) {
  Rule rule{std::move(name), std::move(reason), {}, parameters_read(parts->parameters, kParameterSlot, factors)};
  rule.holds = [parts, type = target.type, trans = target.trans, factors, least, most](const Config& config) {
    const Values values = values_of(*parts, type, trans, config);
    std::int64_t product = 1;
    for (const Expression* factor : factors) {
      const auto value = factor->value(values);
      if (!value || *value < least || *value > most) return false;
      product *= *value;  // at most 1024³, or a single one
    }
    return product <= most;
  };
  return rule;
}

Figures figures_of(const UserFamilyParts& parts, const Config& config, const Problem& problem) {
  Values values = values_of(parts, problem.type, problem.trans, config);
  add_problem(values, problem);
  return Figures(std::move(values));
}

LaunchSequence sequence_of(const UserFamilyParts& parts, const Problem& problem, Figures& figures) {
  LaunchSequence sequence;
  for (const UserLaunch& from : parts.launches) {
    Launch& launch = sequence.launches.emplace_back(figures.launch(from, from.entry));
    launch.a.row_stride = problem.lda;
    launch.b.row_stride = problem.ldb;
    launch.d.row_stride = problem.ldc;
  }
  sequence.workspace_bytes = std::size_t(figures.get("workspace_bytes", parts.workspace_bytes, 0, kMostWorkspaceBytes));
  return sequence;
}

void add_names(std::vector<ExpressionName>& names, std::span<const std::string_view> from, std::size_t slot) {
  for (const std::string_view name : from) names.push_back({std::string(name), slot++});
}

}  // namespace

std::vector<ExpressionName> user_names(const std::vector<Parameter>& parameters, UserReads reads) {
  std::vector<ExpressionName> names;
  for (const Parameter& parameter : parameters) names.push_back({parameter.name, kParameterSlot + names.size()});
  add_names(names, kOfKernel, 0);
  if (reads.device) add_names(names, kDeviceNames, kDeviceSlot);
  if (reads.problem) add_names(names, kOfProblem, kProblemSlot);
  return names;
}

bool is_taken_name(const std::string& name) {
  const auto in = [&](const auto& names) { return std::ranges::find(names, name) != std::end(names); };
  return in(kOfKernel) || in(kDeviceNames) || in(kOfProblem) || in(kOfSource);
}

bool UserFamily::supports(const KernelTarget& target) const {
  const auto& [types, transposes] = std::tie(parts_->types, parts_->transposes);
  return is_plain(target) && target.limits.sm >= parts_->min_sm &&
         std::ranges::find(types, target.type) != types.end() &&
         std::ranges::find(transposes, target.trans) != transposes.end();
}

std::vector<Rule> UserFamily::rules(const KernelTarget& target) const {
  std::vector<Rule> rules;
  for (const UserRule& from : parts_->rules) {
    const Expression* const holds = &from.holds;
    rules.push_back({from.name, from.reason,
        [parts = parts_, holds, target](const Config& config) {
          Values values = values_of(*parts, target.type, target.trans, config);
          add_limits(values, target.limits);
          return holds->value(values).value_or(0) != 0;
        },
        parameters_read(parts_->parameters, kParameterSlot, std::array{holds})});
  }
  for (const UserLaunch& launch : parts_->launches) {
    const std::vector<const Expression*> block{&launch.block[0], &launch.block[1], &launch.block[2]},
        shared{&launch.shared_bytes};
    if (!read_the_problem(block)) {
      rules.push_back(limit_rule(parts_, target, launch.entry + " threads",
          fmt::format("a block has 1 to {} threads", target.limits.threads_per_block), block, 1,
          target.limits.threads_per_block));
    }
    if (!read_the_problem(shared)) {
      rules.push_back(limit_rule(parts_, target, launch.entry + " shared memory",
          fmt::format("a block has at most {} bytes of shared memory", target.limits.smem_per_block_bytes), shared, 0,
          target.limits.smem_per_block_bytes));
    }
  }
  return rules;
}

std::optional<std::string> UserFamily::refusal(const Config& config, const Problem& problem) const {
  Figures figures = figures_of(*parts_, config, problem);
  for (const UserRefusal& refusal : parts_->refusals) {
    const auto value = refusal.when.value(figures.values());
    if (!value) return refusal.reason + " (not known: it divides by zero or leaves 64 bits)";
    if (*value != 0) return refusal.reason;
  }
  sequence_of(*parts_, problem, figures);
  return figures.wrong();
}

LaunchSequence UserFamily::launches(const Config& config, const Problem& problem) const {
  Figures figures = figures_of(*parts_, config, problem);
  return sequence_of(*parts_, problem, figures);
}

std::string UserFamily::source(const Config& config, const KernelTarget& target) const {
  return render_source(config, target, "kernels/shared/gemm_args.cuh") + parts_->text;
}

std::optional<Estimate> UserFamily::estimate(
    const Config& config, const KernelTarget& target, const Problem& problem) const {
  if (!parts_->estimate_cycles) return std::nullopt;
  Values values = values_of(*parts_, target.type, target.trans, config);
  add_limits(values, target.limits);
  add_problem(values, problem);
  const auto cycles = parts_->estimate_cycles->value(values);
  if (!cycles || *cycles < 1) return std::nullopt;
  Estimate made;
  made.cycles = made.multiplying = double(*cycles);
  made.sms = target.limits.sm_count;
  for (const Launch& launch : launches(config, problem).launches)
    made.blocks = std::max(made.blocks, double(launch.grid.volume()));
  made.resident = 1;
  made.waves = made.sms > 0 ? made.blocks / made.sms : 0;
  return made;
}

std::vector<Config> UserFamily::initial_configs(const KernelTarget& target) const {
  const Legality legality(*this, target);
  std::vector<Config> legal;
  for (const Config& seed : parts_->initial_configs) {
    if (!legality.illegal_because(seed)) legal.push_back(seed);
  }
  return legal;
}

}  // namespace tilesmith
