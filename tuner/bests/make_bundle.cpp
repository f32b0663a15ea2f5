#include "tuner/bests/make_bundle.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <map>
#include <span>

#include "tuner/bests/bundle_kernels.hpp"
#include "tuner/bests/judge.hpp"
#include "tuner/exit_status.hpp"

namespace tilesmith::tuner {

db::Bundle make_bundle(const db::Store& store, const TargetDevice& device, const Wanted& wanted, BundleReport& report,
    const std::function<void(std::size_t, std::size_t)>& on_kernel) {
  db::RecordFilter of_device = wanted.filter();
  of_device.device.reset();
  of_device.device_exactly = device.identity;
  std::vector<db::Record> entries = store.records(of_device);
  std::erase_if(entries, [&](const db::Record& entry) { return !wanted.wants(entry); });
  std::map<std::string, db::Environment> environments;
  const auto now = [&](const db::Record& entry) {
    const std::string& family = entry.config.family();
    const auto [known, is_new] = environments.try_emplace(family);
    if (is_new) known->second = environment_to_judge_by(entries, family, device);
    return known->second;
  };
  const UsableBests usable =
      usable_bests(entries, now, [&](const db::Record& entry) { return rules_allow(entry, device.limits); });
  report.retired_problems = usable.retired_problems;
  // Every plain signature can be asked for; of others, those that were tuned.
  std::map<std::string, KernelSignature> generic;  // by text
  const bool of_problems = wanted.kernels.empty();
  for (const TypePair& type : of_problems ? type_pairs() : std::span<const TypePair>()) {
    for (const Transposes trans : kAllTransposes)
      generic.emplace(text(KernelSignature{type, trans}), KernelSignature{type, trans});
  }
  for (const db::Judged& best : of_problems ? usable.bests : std::vector<db::Judged>())
    generic.emplace(text(best.entry->task.problem().signature()), best.entry->task.problem());
  const std::size_t total = usable.bests.size() + generic.size();
  std::size_t done = 0;

  db::Bundle bundle;
  bundle.device = device.identity;
  bundle.arch = device.limits.arch;
  bundle.made_at = db::now_utc();
  BundleKernels kernels(&store);
  for (const db::Judged& best : usable.bests) {
    const db::Record& entry = *best.entry;
    on_kernel(++done, total);
    if (const std::string why_not = kernels.add(entry.config, entry.task, device.limits); !why_not.empty()) {
      ++report.without_kernel;
      spdlog::warn("{} {} is left out: {}", text(entry.task), entry.config.text(), why_not);
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

}  // namespace tilesmith::tuner
