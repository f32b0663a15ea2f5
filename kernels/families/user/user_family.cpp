#include "kernels/families/user/user_family.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "kernels/families/estimate.hpp"
#include "kernels/families/render.hpp"
#include "kernels/families/user/device_values.hpp"

namespace tilesmith {
namespace {

// The fixed names, in the order of their slots.
constexpr std::string_view kOfKernel[] = {"operand_bytes", "accumulator_bytes", "output_bytes", "trans_a", "trans_b"};
constexpr std::string_view kOfProblem[] = {"m", "n", "k", "lda", "ldb", "ldc", "align_bytes", "beta_is_zero"};
constexpr std::size_t kDeviceSlot = std::size(kOfKernel), kProblemSlot = kDeviceSlot + kDeviceNames.size(),
                      kParameterSlot = kProblemSlot + std::size(kOfProblem);

// What render_source() defines, and what the headers that every kernel sees use.
constexpr std::string_view kOfSource[] = {"operand_is_tf32", "operand_is_bf16", "max", "min", "ceil_div"};

constexpr std::int64_t kMostGridX = std::numeric_limits<int>::max(), kMostGridYz = 65535;
constexpr std::int64_t kMostThreads = 1024, kMostThreadsZ = 64;
constexpr std::int64_t kMostCluster = 8;
constexpr std::int64_t kMostSharedBytes = 227 * 1024;
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

/// The parameters that expressions read; empty if they read none.
std::vector<std::string> parameters_read(const UserFamilyParts& parts, std::span<const Expression* const> expressions) {
  std::vector<std::string> names;
  for (const Expression* expression : expressions) {
    for (const std::size_t slot : expression->reads()) {
      if (slot < kParameterSlot) continue;
      const std::string& name = parts.parameters[slot - kParameterSlot].name;
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    }
  }
  return names;
}

bool read_the_problem(std::span<const Expression* const> expressions) {
  return std::ranges::any_of(
      expressions, [](const Expression* one) { return std::ranges::any_of(one->reads(), UserNames::is_of_problem); });
}

/// A rule that the values of expressions multiplied by each other are 0 to a limit, or 1 to it.
Rule limit_rule(std::shared_ptr<const UserFamilyParts> parts, const KernelTarget& target, std::string name,
    std::string reason, std::vector<const Expression*> factors, std::int64_t least, std::int64_t most) {
  Rule rule{std::move(name), std::move(reason), {}, parameters_read(*parts, factors)};
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

/// A launch's figures, each checked against what can be launched.
class Figures {
 public:
  Figures(const UserFamilyParts& parts, const Config& config, const Problem& problem)
      : values_(values_of(parts, problem.type, problem.trans, config)) {
    add_problem(values_, problem);
  }

  std::int64_t get(const std::string& field, const Expression& expression, std::int64_t least, std::int64_t most) {
    const auto value = expression.value(values_);
    if (value && *value >= least && *value <= most) return *value;
    note(fmt::format("{} {}: expected {} to {}", field,
        value ? fmt::format("is {}", *value) : "divides by zero or leaves 64 bits", least, most));
    return least;
  }

  Extent3 get(const std::string& field, const std::array<Expression, 3>& of, const std::array<std::int64_t, 3>& most) {
    return {unsigned(get(field + "[0]", of[0], 1, most[0])), unsigned(get(field + "[1]", of[1], 1, most[1])),
        unsigned(get(field + "[2]", of[2], 1, most[2]))};
  }

  void note(std::string what) {
    if (wrong_.empty()) wrong_ = std::move(what);
  }
  const Values& values() const { return values_; }
  const std::string& wrong() const { return wrong_; }

 private:
  Values values_;
  std::string wrong_;
};

std::int64_t volume(const Extent3& extent) { return std::int64_t(extent.x) * extent.y * extent.z; }

LaunchSequence sequence_of(const UserFamilyParts& parts, const Problem& problem, Figures& figures) {
  LaunchSequence sequence;
  for (const UserLaunch& from : parts.launches) {
    Launch launch;
    launch.entry = from.entry;
    const std::string field = fmt::format("launch '{}': ", from.entry);
    launch.grid = figures.get(field + "grid", from.grid, {kMostGridX, kMostGridYz, kMostGridYz});
    launch.block = figures.get(field + "block", from.block, {kMostThreads, kMostThreads, kMostThreadsZ});
    launch.cluster = figures.get(field + "cluster", from.cluster, {kMostCluster, kMostCluster, kMostCluster});
    launch.dynamic_smem_bytes =
        std::size_t(figures.get(field + "shared_bytes", from.shared_bytes, 0, kMostSharedBytes));
    if (volume(launch.block) > kMostThreads)
      figures.note(
          fmt::format("{}a block has {} threads: expected at most {}", field, volume(launch.block), kMostThreads));
    const Extent3 &grid = launch.grid, &cluster = launch.cluster;
    if (volume(cluster) > kMostCluster)
      figures.note(fmt::format("{}a cluster has {} blocks: expected at most {}", field, volume(cluster), kMostCluster));
    if (grid.x % cluster.x != 0 || grid.y % cluster.y != 0 || grid.z % cluster.z != 0)
      figures.note(field + "the grid does not split into clusters");
    launch.a.row_stride = problem.lda;
    launch.b.row_stride = problem.ldb;
    launch.d.row_stride = problem.ldc;
    sequence.launches.push_back(std::move(launch));
  }
  sequence.workspace_bytes = std::size_t(figures.get("workspace_bytes", parts.workspace_bytes, 0, kMostWorkspaceBytes));
  return sequence;
}

void add_names(std::vector<ExpressionName>& names, std::span<const std::string_view> from, std::size_t slot) {
  for (const std::string_view name : from) names.push_back({std::string(name), slot++});
}

}  // namespace

UserNames::UserNames(const std::vector<Parameter>& parameters) {
  for (const Parameter& parameter : parameters)
    of_parameters_.push_back({parameter.name, kParameterSlot + of_parameters_.size()});
}

std::vector<ExpressionName> UserNames::of_rules() const {
  std::vector<ExpressionName> names = of_parameters_;
  add_names(names, kOfKernel, 0);
  add_names(names, kDeviceNames, kDeviceSlot);
  return names;
}

std::vector<ExpressionName> UserNames::of_launches() const {
  std::vector<ExpressionName> names = of_parameters_;
  add_names(names, kOfKernel, 0);
  add_names(names, kOfProblem, kProblemSlot);
  return names;
}

std::vector<ExpressionName> UserNames::all() const {
  std::vector<ExpressionName> names = of_rules();
  add_names(names, kOfProblem, kProblemSlot);
  return names;
}

bool UserNames::is_taken(const std::string& name) {
  const auto in = [&](const auto& names) { return std::ranges::find(names, name) != std::end(names); };
  return in(kOfKernel) || in(kDeviceNames) || in(kOfProblem) || in(kOfSource);
}

bool UserNames::is_of_problem(std::size_t slot) { return slot >= kProblemSlot && slot < kParameterSlot; }

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
        parameters_read(*parts_, std::array{holds})});
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
  Figures figures(*parts_, config, problem);
  for (const UserRefusal& refusal : parts_->refusals) {
    const auto value = refusal.when.value(figures.values());
    if (!value) return refusal.reason + " (not known: it divides by zero or leaves 64 bits)";
    if (*value != 0) return refusal.reason;
  }
  sequence_of(*parts_, problem, figures);
  return figures.wrong().empty() ? std::nullopt : std::optional(figures.wrong());
}

LaunchSequence UserFamily::launches(const Config& config, const Problem& problem) const {
  Figures figures(*parts_, config, problem);
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
    made.blocks = std::max(made.blocks, double(volume(launch.grid)));
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
