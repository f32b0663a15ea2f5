#include "tuner/renew.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "kernels/eligible.hpp"
#include "runtime/compiler.hpp"
#include "runtime/plan_hash.hpp"
#include "tuner/added_parameters.hpp"
#include "tuner/what_ran.hpp"

namespace tilesmith::tuner {
namespace {

bool of_today(const db::Evidence& entry, const DeviceLimits& limits) {
  return entry.producer.template_hash == template_hash(entry.config.family()) &&
         entry.producer.compiler_options ==
             runtime::compiler_options_text({entry.problem.type, entry.problem.trans, limits});
}

std::vector<db::Evidence> latest_of(const db::Store& store, const db::DeviceIdentity& device) {
  db::EvidenceFilter filter;
  filter.device_exactly = device;
  filter.latest_only = true;
  return store.evidence(filter);
}

std::string candidate(const Problem& problem, const Config& config) {
  return fmt::format("{}\n{}", text(problem), config.text());
}

/// How recorded configs read today.
class AsOfToday {
 public:
  explicit AsOfToday(const DeviceLimits& limits) : limits_(limits) {}

  /// Empty if it may not run on the problem any more, or need not be tried.
  std::optional<Config> operator()(const Config& recorded, const Problem& problem) {
    const Legality* legality = legality_of(recorded.family(), problem);
    if (legality == nullptr) return std::nullopt;
    for (Config& config : as_of_today(recorded, legality->parameters())) {
      if (!legality->illegal_because(config) && eligible(legality->family(), config, problem)) return std::move(config);
    }
    return std::nullopt;
  }

 private:
  const Legality* legality_of(const std::string& name, const Problem& problem) {
    const Family* family = find_family(name);
    if (family == nullptr) return nullptr;
    std::unique_ptr<Legality>& known =
        known_[fmt::format("{} {} {}", name, problem.type.name, tilesmith::name(problem.trans))];
    if (!known) known = std::make_unique<Legality>(*family, KernelTarget{problem.type, problem.trans, limits_});
    return known.get();
  }

  DeviceLimits limits_;
  std::map<std::string, std::unique_ptr<Legality>> known_;
};

}  // namespace

std::size_t note_what_ran(db::Store& store, const db::DeviceIdentity& device, const DeviceLimits& limits) {
  AsOfToday as_of_today(limits);
  std::size_t noted = 0;
  for (const db::Evidence& entry : latest_of(store, device)) {
    if (!entry.plan_hash.empty() || !entry.outcome.timing || !of_today(entry, limits)) continue;
    const std::optional<Config> today = as_of_today(entry.config, entry.problem);
    if (!today || !(*today == entry.config)) continue;
    const std::string hash = what_ran(store, entry, limits.arch);
    if (!hash.empty() && store.fill_plan_hash(entry.id, hash)) ++noted;
  }
  return noted;
}

Renewables renewables(const db::Store& store, const db::DeviceIdentity& device, const DeviceLimits& limits,
                      std::size_t first) {
  // Any entry by today's templates, though one that was renewed or merged may stand before it, of the same instant.
  std::set<std::string> of_todays_templates;
  db::EvidenceFilter all;
  all.device_exactly = device;
  for (const db::Evidence& entry : store.evidence(all)) {
    if (of_today(entry, limits)) of_todays_templates.insert(candidate(entry.problem, entry.config));
  }
  AsOfToday as_of_today(limits);
  Renewables found;
  std::map<std::string, std::vector<Renewable>> by_problem;
  std::set<std::string> seen;
  for (const db::Evidence& entry : latest_of(store, device)) {
    if (of_today(entry, limits)) continue;
    const std::optional<Config> today = as_of_today(entry.config, entry.problem);
    // Latest first: of configs that read alike today the latest counts, a failure too.
    if (today && of_todays_templates.contains(candidate(entry.problem, *today))) continue;
    if (today && !seen.insert(candidate(entry.problem, *today)).second) continue;
    if (!entry.outcome.timing) continue;
    ++found.retired;
    if (!today) {
      ++found.not_eligible;
    } else if (entry.plan_hash.empty()) {
      ++found.unknown;
    } else {
      by_problem[text(entry.problem)].push_back({entry, *today});
    }
  }
  for (auto& [problem, candidates] : by_problem) {
    std::stable_sort(candidates.begin(), candidates.end(), [](const Renewable& a, const Renewable& b) {
      return a.entry.outcome.timing->median_us < b.entry.outcome.timing->median_us;
    });
    if (candidates.size() > first) candidates.erase(candidates.begin() + std::ptrdiff_t(first), candidates.end());
    std::move(candidates.begin(), candidates.end(), std::back_inserter(found.candidates));
  }
  return found;
}

std::vector<CompileJob> jobs_of(const std::vector<Renewable>& candidates, const DeviceLimits& limits) {
  std::vector<CompileJob> jobs;
  std::set<std::string> seen;
  for (const Renewable& one : candidates) {
    const Problem& problem = one.entry.problem;
    if (!seen.insert(fmt::format("{} {} {}", problem.type.name, name(problem.trans), one.today.text())).second)
      continue;
    jobs.push_back({one.today, {problem.type, problem.trans, limits}});
  }
  return jobs;
}

Renewed renew(db::Store& store, const std::vector<Renewable>& candidates, const DeviceLimits& limits) {
  Renewed result;
  for (const Renewable& one : candidates) {
    const Problem& problem = one.entry.problem;
    const db::KernelKey key = runtime::kernel_key(one.today, {problem.type, problem.trans, limits});
    const std::optional<db::KernelBuild> build = store.find_build(key);
    const std::string hash = build ? runtime::plan_hash(one.today, problem, build->cubin) : std::string();
    if (hash.empty()) {
      ++result.not_compiled;
    } else if (hash != one.entry.plan_hash) {
      ++result.changed;
    } else {
      db::Evidence renewed = one.entry;  // when, where and in which run it was measured stays
      renewed.config = one.today;
      renewed.producer.template_hash = key.template_hash;
      renewed.producer.compiler_options = key.compiler_options;
      renewed.producer.nvrtc_version = key.nvrtc_version;
      store.record(renewed);
      ++result.same;
    }
  }
  return result;
}

}  // namespace tilesmith::tuner
