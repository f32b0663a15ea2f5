#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <utility>

#include "db/ranked.hpp"
#include "kernels/on_all_cores.hpp"
#include "runtime/catalogue.hpp"
#include "runtime/compiler.hpp"
#include "tuner/commands/command.hpp"
#include "tuner/commands/make_bundle.hpp"
#include "tuner/guess/cover.hpp"

namespace tilesmith::tuner {
namespace {

constexpr double kNearBest = 1.1;  // of a problem's best time, for a measurement that a choice may take as exact
constexpr std::size_t kSearched = 150;  // steps of progress that choosing a cover takes, about

struct KernelWanted {
  Config config;
  KernelTarget target;
  bool generic = false;
};

bool loads(const std::optional<db::KernelBuild>& build) {
  return build && (build->status == db::Status::ok || build->status == db::Status::spilled) && !build->cubin.empty();
}

/// From the store if it has it, else compiled; empty, with why, if neither. A kernel that spills is taken as generic one alone.
std::optional<db::KernelBuild> kernel_of(const KernelWanted& wanted, const db::Store* store, std::mutex& store_lock, const std::string& nvrtc_missing,
                                         bool& compiled, std::string& why_not) {
  if (store != nullptr && nvrtc_missing.empty()) {
    const std::lock_guard lock(store_lock);
    auto build = store->find_build(runtime::kernel_key(wanted.config, wanted.target));
    if (loads(build)) return build;
  }
  if (!nvrtc_missing.empty()) {
    why_not = nvrtc_missing;
    return std::nullopt;
  }
  std::optional<db::KernelBuild> build = runtime::compile(wanted.config, wanted.target);
  compiled = true;
  if (loads(build) && (wanted.generic || build->status == db::Status::ok)) return build;
  why_not = build->message;
  return std::nullopt;
}

/// Measurements of the chosen kernels on this device.
void add_evidence(const std::vector<db::Evidence>& entries, const KernelTarget& target, const TargetDevice& device, const std::set<std::string>& chosen,
                  db::Bundle& bundle) {
  const auto now = [&](const db::Evidence& entry) { return producer_now(entries, entry.config.family(), device, target); };
  for (const db::RankedProblem& one : db::rank(entries, now)) {
    if (!(one.problem().type == target.type) || !(one.problem().trans == target.trans) || !(one.device() == device.identity)) continue;
    for (const db::Judged& judged : one.best) {
      const double best_us = one.best.front().entry->outcome.timing->median_us;
      if (judged.entry->outcome.timing->median_us <= kNearBest * best_us && chosen.contains(judged.entry->config.text()))
        bundle.bests.push_back(*judged.entry);
    }
  }
}

}  // namespace

db::Bundle make_cover_bundle(const db::Store* store, const TargetDevice& device, const CoverOptions& options, CoverReport& report,
                             const std::atomic<bool>& stop, const std::function<void(std::size_t, std::size_t)>& on_step) {
  std::vector<TypePair> types = options.types;
  std::vector<Transposes> trans = options.trans;
  if (types.empty()) types.assign(type_pairs().begin(), type_pairs().end());
  if (trans.empty()) trans.assign(std::begin(kAllTransposes), std::end(kAllTransposes));
  const bool known_device = !device.identity.name.empty();

  db::Bundle bundle;
  bundle.device = device.identity;
  if (!known_device) bundle.device.name = fmt::format("any {}", device.limits.arch);
  bundle.arch = device.limits.arch;
  bundle.made_at = db::now_utc();

  const std::size_t total = types.size() * trans.size() * (kSearched + options.max_kernels + 1);
  std::atomic<std::size_t> done{0};
  std::vector<KernelWanted> wanted;
  for (const TypePair& type : types) {
    const std::vector<db::Evidence> entries =
        store == nullptr ? std::vector<db::Evidence>() : runtime::evidence_to_choose_by(*store, type, device.limits.sm);
    for (const Transposes one : trans) {
      const KernelTarget target{type, one, device.limits};
      const runtime::Chooser chooser(
          entries, target, [&](const std::string& family) { return producer_now(entries, family, device, target); },
          known_device ? &device.identity : nullptr);
      const Cover cover = choose_cover(chooser, target, options.max_kernels, stop, [&](std::size_t) { on_step(std::min(++done, total), total); });
      if (stop) return bundle;
      std::set<std::string> chosen;
      for (const Config& config : cover.configs) {
        wanted.push_back({config, target});
        chosen.insert(config.text());
      }
      wanted.push_back({generic_config(target), target, true});
      if (known_device) add_evidence(entries, target, device, chosen, bundle);
      report.rows.push_back({std::string(type.name), std::string(name(one)), cover.configs.size(), cover.mean_of_best, cover.worst_of_best});
    }
  }

  const std::string nvrtc_missing = runtime::nvrtc_unavailable_because();
  std::mutex store_lock, result_lock;
  std::vector<std::optional<db::KernelBuild>> builds(wanted.size());
  std::string generic_missing;
  on_all_cores(wanted.size(), [&](std::size_t i) {
    if (stop) return;
    bool compiled = false;
    std::string why_not;
    builds[i] = kernel_of(wanted[i], store, store_lock, nvrtc_missing, compiled, why_not);
    const std::lock_guard lock(result_lock);
    report.compiled += compiled;
    if (!builds[i]) {
      ++report.without_kernel;
      const std::string what = fmt::format("{} {} {}", wanted[i].target.type.name, name(wanted[i].target.trans), wanted[i].config.text());
      if (wanted[i].generic) generic_missing = fmt::format("--cover: the generic kernel {} is missing: {}", what, why_not);
      else spdlog::warn("{} is left out: {}", what, why_not);
    }
    on_step(std::min(++done, total), total);
  });
  if (!generic_missing.empty()) throw UsageError(generic_missing);
  std::set<std::string> there;
  for (std::optional<db::KernelBuild>& build : builds) {
    if (!build) continue;
    there.insert(fmt::format("{} {} {}", build->key.type.name, name(build->key.trans), build->key.config.text()));
    bundle.builds.push_back(std::move(*build));
  }
  std::erase_if(bundle.bests, [&](const db::Evidence& entry) {
    return !there.contains(fmt::format("{} {} {}", entry.problem.type.name, name(entry.problem.trans), entry.config.text()));
  });
  return bundle;
}

}  // namespace tilesmith::tuner
