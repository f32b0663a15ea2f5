#include "tuner/bests/make_bundle.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "db/store/ranked.hpp"
#include "db/store/store.hpp"
#include "kernels/base/on_all_cores.hpp"
#include "kernels/families/family.hpp"
#include "runtime/choose/catalogue.hpp"
#include "runtime/compile/compiler.hpp"
#include "tuner/bests/cover.hpp"
#include "tuner/bests/judge.hpp"
#include "tuner/exit_status.hpp"

namespace tilesmith::tuner {

namespace {

/// The kernels of a bundle that is being made: from the database if it has them, else compiled. Thread-safe.
class BundleKernels {
 public:
  enum class Spilled { taken, refused };

  /// `store` may be null, and must outlive it.
  explicit BundleKernels(const db::Store* store);

  /// Gets the kernel, once. Empty if it is there; else why not.
  std::string add(const Config& config, const KernelTarget& target, Spilled spilled = Spilled::taken);
  bool has(const Config& config, const KernelTarget& target) const;

  std::size_t compiled_count() const { return compiled_; }
  /// All kernels, by type pair, transposes and config. It has none from then on.
  std::vector<db::KernelBuild> take();

 private:
  std::optional<db::KernelBuild> stored(const Config& config, const KernelTarget& target) const;

  const db::Store* store_;
  std::string nvrtc_missing_;
  mutable std::mutex mutex_;  // guards the store and all below
  std::map<std::string, db::KernelBuild> builds_;
  std::size_t compiled_ = 0;
};

bool loads(const std::optional<db::KernelBuild>& build, BundleKernels::Spilled spilled) {
  if (!build || build->cubin.empty()) return false;
  return build->status == db::Status::ok ||
         (build->status == db::Status::spilled && spilled == BundleKernels::Spilled::taken);
}

std::string id_of(const Config& config, const KernelTarget& target) {
  return fmt::format("{} {}", text(target.signature()), config.text());
}

BundleKernels::BundleKernels(const db::Store* store)
    : store_(store), nvrtc_missing_(runtime::nvrtc_unavailable_because()) {}

std::string BundleKernels::add(const Config& config, const KernelTarget& target, Spilled spilled) {
  const std::string id = id_of(config, target);
  std::optional<db::KernelBuild> build;
  {
    const std::lock_guard lock(mutex_);
    if (builds_.contains(id)) return {};
    build = stored(config, target);
  }
  if (!loads(build, spilled)) {
    if (!nvrtc_missing_.empty())
      return fmt::format("not in the database, and it cannot be compiled: {}", nvrtc_missing_);
    build = runtime::compile(config, target);
    const std::lock_guard lock(mutex_);
    ++compiled_;
  }
  if (!loads(build, spilled)) return build->message;
  const std::lock_guard lock(mutex_);
  builds_.emplace(id, *std::move(build));
  return {};
}

bool BundleKernels::has(const Config& config, const KernelTarget& target) const {
  const std::lock_guard lock(mutex_);
  return builds_.contains(id_of(config, target));
}

std::vector<db::KernelBuild> BundleKernels::take() {
  std::vector<db::KernelBuild> all;
  for (auto& [id, build] : builds_) all.push_back(std::move(build));
  builds_.clear();
  return all;
}

std::optional<db::KernelBuild> BundleKernels::stored(const Config& config, const KernelTarget& target) const {
  if (store_ == nullptr) return std::nullopt;
  std::optional<db::KernelBuild> build;
  if (nvrtc_missing_.empty()) build = store_->find_build(runtime::kernel_key(config, target));
  if (loads(build, Spilled::taken)) return build;
  return store_->find_build_any_compiler(
      config, target, target.limits.arch, kernel_hash(config, target, compiler_options_text(target)));
}

/// What the vendor took beside these entries, each row once.
std::vector<db::VendorTimes> vendor_beside(const db::Store& store, const std::vector<db::Record>& bests) {
  const db::VendorIndex index(store.vendor_times());
  std::map<std::int64_t, const db::VendorTimes*> found;
  for (const db::Record& best : bests) {
    if (const db::VendorTimes* beside = index.beside(best)) found[beside->id] = beside;
  }
  std::vector<db::VendorTimes> rows;
  for (auto at = found.rbegin(); at != found.rend(); ++at) rows.push_back(*at->second);  // the newest first
  return rows;
}

constexpr double kNearBest = 1.1;       // of a problem's best time, for a measurement that a choice may take as exact
constexpr std::size_t kSearched = 150;  // steps of progress that choosing a cover takes, about

struct KernelWanted {
  Config config;
  KernelTarget target;
  bool generic = false;
};

/// Measurements of the chosen kernels on this device.
void add_record(const std::vector<db::Record>& entries, const KernelTarget& target, const TargetDevice& device,
    const std::set<std::string>& chosen, db::Bundle& bundle) {
  const auto now = [&](const db::Record& entry) {
    return environment_to_judge_by(entries, entry.config.family(), device, target);
  };
  for (const db::RankedProblem& one : db::rank(entries, now)) {
    if (!(one.problem().signature() == target.signature()) || !(one.device() == device.identity)) continue;
    for (const db::Judged& judged : one.best) {
      const double best_us = one.best.front().entry->outcome.timing->median_us;
      if (judged.entry->outcome.timing->median_us <= kNearBest * best_us &&
          chosen.contains(judged.entry->config.text()))
        bundle.bests.push_back(*judged.entry);
    }
  }
}

}  // namespace

db::Bundle make_bundle(const db::Store& store, const TargetDevice& device, const Wanted& wanted, BundleReport& report,
    const std::function<void(std::size_t, std::size_t)>& on_kernel) {
  db::RecordFilter of_device = wanted.filter();
  of_device.device.reset();
  of_device.device_exactly = device.identity;
  std::vector<db::Record> entries = store.records(of_device);
  std::erase_if(entries, [&](const db::Record& entry) { return !wanted.wants(entry); });
  std::map<std::string, db::Environment> environments;
  const auto now = [&](const db::Record& entry) {
    const KernelTarget target{entry.problem, device.limits};
    const std::string& family = entry.config.family();
    const auto [known, is_new] = environments.try_emplace(fmt::format("{} {}", family, text(target.signature())));
    if (is_new) known->second = environment_to_judge_by(entries, family, device, target);
    return known->second;
  };
  const UsableBests usable =
      usable_bests(entries, now, [&](const db::Record& entry) { return rules_allow(entry, device.limits); });
  report.retired_problems = usable.retired_problems;
  // Every plain signature can be asked for; of others, those that were tuned.
  std::map<std::string, KernelSignature> generic;  // by text
  for (const TypePair& type : type_pairs()) {
    for (const Transposes trans : kAllTransposes)
      generic.emplace(text(KernelSignature{type, trans}), KernelSignature{type, trans});
  }
  for (const db::Judged& best : usable.bests)
    generic.emplace(text(best.entry->problem.signature()), best.entry->problem);
  const std::size_t total = usable.bests.size() + generic.size();
  std::size_t done = 0;

  db::Bundle bundle;
  bundle.device = device.identity;
  bundle.arch = device.limits.arch;
  bundle.made_at = db::now_utc();
  BundleKernels kernels(&store);
  for (const db::Judged& best : usable.bests) {
    const db::Record& entry = *best.entry;
    const KernelTarget target{entry.problem, device.limits};
    on_kernel(++done, total);
    if (const std::string why_not = kernels.add(entry.config, target); !why_not.empty()) {
      ++report.without_kernel;
      spdlog::warn("{} {} is left out: {}", text(entry.problem), entry.config.text(), why_not);
    } else {
      bundle.bests.push_back(entry);
    }
  }
  report.bests = bundle.bests.size();
  bundle.vendor = vendor_beside(store, bundle.bests);
  for (const auto& [signature_text, signature] : generic) {
    const KernelTarget target{signature, device.limits};
    on_kernel(++done, total);
    if (const std::string why_not = kernels.add(generic_config(target), target); !why_not.empty())
      throw UsageError(
          fmt::format("--format bundle: the generic kernel of {} is missing: {}", signature_text, why_not));
    ++report.generic_kernels;
  }
  report.compiled = kernels.compiled_count();
  bundle.builds = kernels.take();
  return bundle;
}

db::Bundle make_cover_bundle(const db::Store* store, const TargetDevice& device, const CoverOptions& options,
    CoverReport& report, const std::atomic<bool>& stop, const std::function<void(std::size_t, std::size_t)>& on_step) {
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
    const std::vector<db::Record> entries =
        store == nullptr ? std::vector<db::Record>() : runtime::records_to_choose_by(*store, type, device.limits.sm);
    for (const Transposes one : trans) {
      const KernelTarget target{{type, one}, device.limits};
      const runtime::Chooser chooser(
          entries, target,
          [&](const std::string& family) { return environment_to_judge_by(entries, family, device, target); },
          known_device ? &device.identity : nullptr);
      const Cover cover = choose_cover(
          chooser, target, options.max_kernels, stop, [&](std::size_t) { on_step(std::min(++done, total), total); });
      if (stop) return bundle;
      std::set<std::string> chosen;
      for (const Config& config : cover.configs) {
        wanted.push_back({config, target});
        chosen.insert(config.text());
      }
      wanted.push_back({generic_config(target), target, true});
      if (known_device) add_record(entries, target, device, chosen, bundle);
      report.rows.push_back({std::string(type.name), std::string(name(one)), cover.configs.size(), cover.mean_of_best,
          cover.worst_of_best});
    }
  }

  BundleKernels kernels(store);
  std::vector<std::string> why_not(wanted.size());
  on_all_cores(wanted.size(), [&](std::size_t i) {
    if (stop) return;
    // A kernel that spills is better than none as the generic one, and elsewhere has no predicted time.
    using enum BundleKernels::Spilled;
    why_not[i] = kernels.add(wanted[i].config, wanted[i].target, wanted[i].generic ? taken : refused);
    on_step(std::min(++done, total), total);
  });
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (why_not[i].empty()) continue;
    const std::string what =
        fmt::format("{} {} {}", wanted[i].target.type.name, name(wanted[i].target.trans), wanted[i].config.text());
    if (wanted[i].generic)
      throw UsageError(fmt::format("--cover: the generic kernel {} is missing: {}", what, why_not[i]));
    ++report.without_kernel;
    spdlog::warn("{} is left out: {}", what, why_not[i]);
  }
  std::erase_if(bundle.bests, [&](const db::Record& entry) {
    return !kernels.has(entry.config, {entry.problem, device.limits});
  });
  report.compiled = kernels.compiled_count();
  if (store != nullptr) bundle.vendor = vendor_beside(*store, bundle.bests);
  bundle.builds = kernels.take();
  return bundle;
}

}  // namespace tilesmith::tuner
