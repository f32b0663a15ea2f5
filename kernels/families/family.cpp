#include "kernels/families/family.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <stdexcept>
#include <utility>

#include "kernels/dequant/dequant.hpp"
#include "kernels/ffma/ffma.hpp"
#include "kernels/gemv/gemv.hpp"
#include "kernels/mma/mma.hpp"
#include "kernels/simt/simt.hpp"
#include "kernels/wgmma/wgmma.hpp"
#include "kernels/wmma/wmma.hpp"

namespace tilesmith {
namespace {

/// Families stay where they are, so that readers need no lock.
class Registry {
 public:
  Registry() {
    all_.reserve(kMost);
    add(make_simt());
    add(make_wmma());
    add(make_mma());
    add(make_wgmma());
    add(make_gemv());
    add(make_ffma());
    add(make_dequant());
  }

  std::span<const std::unique_ptr<Family>> all() const { return {all_.data(), count_.load(std::memory_order_acquire)}; }

  void add(std::unique_ptr<Family> family) {
    const std::scoped_lock lock(adding_);
    if (all_.size() == kMost) throw std::length_error(fmt::format("there are {} families: expected no more", kMost));
    all_.push_back(std::move(family));
    count_.store(all_.size(), std::memory_order_release);
  }

 private:
  static constexpr std::size_t kMost = 256;

  std::mutex adding_;
  std::vector<std::unique_ptr<Family>> all_;
  std::atomic<std::size_t> count_ = 0;
};

Registry& registry() {
  static Registry all;
  return all;
}

}  // namespace

std::span<const std::unique_ptr<Family>> families() { return registry().all(); }

const Family* find_family(std::string_view name) {
  for (const auto& family : families()) {
    if (family->name() == name) return family.get();
  }
  return nullptr;
}

void register_family(std::unique_ptr<Family> family) { registry().add(std::move(family)); }

Legality::Legality(const Family& family, const KernelTarget& target) : family_(&family) {
  if (!family.supports(target)) {
    unsupported_ =
        fmt::format("{} has no kernel for {} on {}", family.name(), text(target.signature()), target.limits.arch);
    return;
  }
  parameters_ = family.parameters(target);
  rules_ = family.rules(target);
}

std::optional<std::string> illegal_because(
    const Config& config, const std::vector<Parameter>& parameters, const std::vector<Rule>& rules) {
  if (config.values().size() != parameters.size()) {
    return fmt::format("{} parameters given, {} expected", config.values().size(), parameters.size());
  }
  for (const Parameter& parameter : parameters) {
    if (!config.has(parameter.name)) return fmt::format("parameter '{}' is missing", parameter.name);
    const int value = config.at(parameter.name);
    if (std::find(parameter.values.begin(), parameter.values.end(), value) == parameter.values.end()) {
      return fmt::format("{} = {} is not in the space", parameter.name, value);
    }
  }
  for (const Rule& rule : rules) {
    if (!rule.holds(config)) return fmt::format("{}: {}", rule.name, rule.reason);
  }
  return std::nullopt;
}

std::optional<std::string> Legality::illegal_because(const Config& config) const {
  return unsupported_.empty() ? tilesmith::illegal_because(config, parameters_, rules_) : unsupported_;
}

std::optional<std::string> illegal_because(const Family& family, const Config& config, const KernelTarget& target) {
  return Legality(family, target).illegal_because(config);
}

std::optional<std::string> refused_because(const Family& family, const Config& config, const Problem& problem) {
  const Problem planned = as_planned(problem);
  if (auto reason = family.refusal(config, planned)) return reason;
  return config.family() == "wmma" ? wmma::out_of_reach(config, planned) : std::nullopt;
}

bool eligible(const Family& family, const Config& config, const Problem& problem) {
  return !refused_because(family, config, problem) && !family.dominated(config, as_planned(problem));
}

bool all_hold(const std::vector<Rule>& rules, const Config& config) {
  return std::ranges::all_of(rules, [&](const Rule& rule) { return rule.holds(config); });
}

std::vector<int> off_or_on(bool has_feature) { return has_feature ? std::vector{0, 1} : std::vector{0}; }

Parameter early_launch_parameter(const KernelTarget& target) {
  return {"early_launch", off_or_on(target.limits.features.dependent_launch),
      "1: blocks come while the kernel before still ends, if that one lets them, as those with this do, and wait for its "
      "results; in a graph behind those with this alone (sm_90)"};
}

Problem ordinary_problem(const KernelTarget& target) {
  if (target.batch_mode == BatchMode::strided) return batched(packed_problem(target, 256, 256, 256), 64);
  if (target.batch_mode == BatchMode::pointers) return by_pointers(packed_problem(target, 256, 256, 256), 64);
  if (target.batch_mode == BatchMode::grouped) return grouped(packed_problem(target, 4096, 1024, 1024), 8);
  return packed_problem(target, 1024, 1024, 1024);
}

Config generic_config(const KernelTarget& target) { return simt_generic_config(target); }

}  // namespace tilesmith
