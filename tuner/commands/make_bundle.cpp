#include "tuner/commands/make_bundle.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <map>
#include <optional>
#include <string>

#include "runtime/compiler.hpp"
#include "tuner/commands/command.hpp"
#include "tuner/guess/usable_bests.hpp"

namespace tilesmith::tuner {
namespace {

/// Kernels by (config, type pair, transposes): from the store if it has them, else compiled.
class Kernels {
 public:
  Kernels(const db::Store& store, const DeviceLimits& limits)
      : store_(store), limits_(limits), nvrtc_missing_(runtime::nvrtc_unavailable_because()) {}

  /// nullptr if there is none; why_not() then says why.
  const db::KernelBuild* get(const Config& config, const KernelTarget& target) {
    const std::string id = fmt::format("{} {} {}", config.text(), target.type.name, name(target.trans));
    const auto known = builds_.find(id);
    if (known != builds_.end()) return &known->second;
    std::optional<db::KernelBuild> build = stored(config, target);
    if (!build) build = compiled(config, target);
    if (!build) return nullptr;
    return &builds_.emplace(id, std::move(*build)).first->second;
  }

  const std::string& why_not() const { return why_not_; }
  std::size_t compiled_count() const { return compiled_; }
  std::vector<db::KernelBuild> take() {
    std::vector<db::KernelBuild> all;
    for (auto& [id, build] : builds_) all.push_back(std::move(build));
    return all;
  }

 private:
  static bool usable(const std::optional<db::KernelBuild>& build) {
    return build && (build->status == db::Status::ok || build->status == db::Status::spilled) && !build->cubin.empty();
  }

  std::optional<db::KernelBuild> stored(const Config& config, const KernelTarget& target) const {
    std::optional<db::KernelBuild> build;
    if (nvrtc_missing_.empty()) build = store_.find_build(runtime::kernel_key(config, target));
    if (usable(build)) return build;
    build = store_.find_build_any_compiler(config, target.type, target.trans, limits_.arch, template_hash(config.family()));
    if (usable(build)) return build;
    return std::nullopt;
  }

  std::optional<db::KernelBuild> compiled(const Config& config, const KernelTarget& target) {
    if (!nvrtc_missing_.empty()) {
      why_not_ = fmt::format("not in the database, and it cannot be compiled: {}", nvrtc_missing_);
      return std::nullopt;
    }
    std::optional<db::KernelBuild> build = runtime::compile(config, target);
    ++compiled_;
    if (usable(build)) return build;
    why_not_ = build->message;
    return std::nullopt;
  }

  const db::Store& store_;
  const DeviceLimits& limits_;
  std::string nvrtc_missing_;
  std::string why_not_;
  std::map<std::string, db::KernelBuild> builds_;
  std::size_t compiled_ = 0;
};

}  // namespace

db::Bundle make_bundle(const db::Store& store, const TargetDevice& device, const Wanted& wanted,
                       BundleReport& report, const std::function<void(std::size_t, std::size_t)>& on_kernel) {
  db::EvidenceFilter of_device = wanted.filter();
  of_device.device.reset();
  of_device.device_exactly = device.identity;
  std::vector<db::Evidence> entries = store.evidence(of_device);
  std::erase_if(entries, [&](const db::Evidence& entry) { return !wanted.wants(entry); });
  std::map<std::string, db::Producer> producers;
  const auto now = [&](const db::Evidence& entry) {
    const KernelTarget target{entry.problem.type, entry.problem.trans, device.limits};
    const std::string& family = entry.config.family();
    const std::string key = fmt::format("{} {} {}", family, target.type.name, name(target.trans));
    auto known = producers.find(key);
    if (known == producers.end()) known = producers.emplace(key, producer_now(entries, family, device, target)).first;
    return known->second;
  };
  const UsableBests usable =
      usable_bests(entries, now, [&](const db::Evidence& entry) { return rules_allow(entry, device.limits); });
  report.retired = usable.retired;
  const std::size_t total = usable.bests.size() + type_pairs().size() * std::size(kAllTransposes);
  std::size_t done = 0;

  db::Bundle bundle;
  bundle.device = device.identity;
  bundle.arch = device.limits.arch;
  bundle.made_at = db::now_utc();
  Kernels kernels(store, device.limits);
  for (const db::Judged& best : usable.bests) {
    const db::Evidence& entry = *best.entry;
    const KernelTarget target{entry.problem.type, entry.problem.trans, device.limits};
    on_kernel(++done, total);
    if (kernels.get(entry.config, target) == nullptr) {
      ++report.without_kernel;
      spdlog::warn("{} {} is left out: {}", text(entry.problem), entry.config.text(), kernels.why_not());
    } else {
      bundle.bests.push_back(entry);
    }
  }
  report.bests = bundle.bests.size();
  for (const TypePair& type : type_pairs()) {
    for (const Transposes trans : kAllTransposes) {
      const KernelTarget target{type, trans, device.limits};
      on_kernel(++done, total);
      if (kernels.get(generic_config(target), target) == nullptr) {
        throw UsageError(fmt::format("--format bundle: the generic kernel of {} {} is missing: {}", type.name, name(trans),
                                     kernels.why_not()));
      }
      ++report.generic_kernels;
    }
  }
  report.compiled = kernels.compiled_count();
  bundle.builds = kernels.take();
  return bundle;
}

}  // namespace tilesmith::tuner
