#include "tuner/renew.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "db/ranked.hpp"
#include "runtime/compiler.hpp"
#include "runtime/plan_hash.hpp"
#include "runtime/producer_now.hpp"
#include "tuner/guess/families_today.hpp"
#include "tuner/guess/guesses.hpp"
#include "tuner/what_ran.hpp"

namespace tilesmith::tuner {
namespace {

/// The entry's producer with today's templates and options.
db::Producer as_of_today(const db::Evidence& entry, const DeviceLimits& limits) {
  db::Producer now = entry.producer;
  now.template_hash = template_hash(entry.config.family());
  now.compiler_options = runtime::compiler_options_text({entry.problem.type, entry.problem.trans, limits});
  return now;
}

bool of_today(const db::Evidence& entry, const DeviceLimits& limits) {
  return db::judge(entry.producer, as_of_today(entry, limits)) != db::Trust::retired;
}

/// Latest first.
std::vector<db::Evidence> all_of(const db::Store& store, const db::DeviceIdentity& device) {
  db::EvidenceFilter filter;
  filter.device_exactly = device;
  return store.evidence(filter);
}

std::string candidate(const Problem& problem, const Config& config) {
  return fmt::format("{}\n{}", text(problem), config.text());
}

}  // namespace

std::size_t note_what_ran(db::Store& store, const db::DeviceIdentity& device, const DeviceLimits& limits) {
  FamiliesToday families(families_named({}), limits);
  std::size_t noted = 0;
  for (const db::Evidence& entry : all_of(store, device)) {
    if (!entry.plan_hash.empty() || !entry.outcome.timing || !of_today(entry, limits)) continue;
    const std::optional<Config> today = families.runnable(entry.config, entry.problem);
    if (!today || !(*today == entry.config)) continue;
    const std::string hash = what_ran(store, entry, limits.arch);
    if (!hash.empty() && store.fill_plan_hash(entry.id, hash)) ++noted;
  }
  return noted;
}

Renewables renewables(const db::Store& store, const db::DeviceIdentity& device, const DeviceLimits& limits,
                      std::size_t first) {
  const std::vector<db::Evidence> entries = all_of(store, device);
  std::set<std::string> seen;
  // Whatever is there by today's templates, though an entry of the same instant, renewed or merged, may stand before it.
  for (const db::Evidence& entry : entries) {
    if (of_today(entry, limits)) seen.insert(candidate(entry.problem, entry.config));
  }
  FamiliesToday families(families_named({}), limits);
  Renewables found;
  std::map<std::string, db::Producer> producers;  // of today, by family and options
  const auto once_renewed = [&](const db::Evidence& entry) {
    const db::Producer renewed = as_of_today(entry, limits);
    const auto [now, fresh] = producers.try_emplace(renewed.template_hash + renewed.compiler_options);
    const KernelTarget target{entry.problem.type, entry.problem.trans, limits};
    if (fresh) now->second = runtime::producer_now(entries, entry.config.family(), device, target, "");
    return db::Judged{&entry, db::judge(renewed, now->second)};
  };
  std::map<std::string, std::vector<std::pair<db::Judged, Config>>> by_problem;  // with the config as it reads today
  for (const db::Evidence& entry : entries) {
    // Of a candidate, and of configs that read alike today, the latest entry counts, a failure too.
    if (!seen.insert(candidate(entry.problem, entry.config)).second) continue;
    const std::optional<Config> today = families.runnable(entry.config, entry.problem);
    const bool reads_otherwise = today && !(*today == entry.config);
    if (reads_otherwise && !seen.insert(candidate(entry.problem, *today)).second) continue;
    if (!entry.outcome.timing) continue;
    ++found.retired;
    if (!today) {
      ++found.not_eligible;
    } else if (entry.plan_hash.empty()) {
      ++found.unknown;
    } else {
      by_problem[text(entry.problem)].emplace_back(once_renewed(entry), *today);
    }
  }
  for (auto& [problem, candidates] : by_problem) {
    std::sort(candidates.begin(), candidates.end(), [](const auto& a, const auto& b) { return db::ranks_before(a.first, b.first); });
    for (std::size_t i = 0; i < std::min(first, candidates.size()); ++i)
      found.candidates.push_back({*candidates[i].first.entry, candidates[i].second});
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
  std::vector<db::Evidence> kept;
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
      db::Evidence renewed = one.entry;  // where, when and in which run it was measured stays
      renewed.config = one.today;
      renewed.producer.template_hash = key.template_hash;
      renewed.producer.compiler_options = key.compiler_options;
      renewed.producer.nvrtc_version = key.nvrtc_version;
      kept.push_back(std::move(renewed));
    }
  }
  store.record(kept);
  result.same = kept.size();
  return result;
}

}  // namespace tilesmith::tuner
