#include "tuner/report/problem_figures.hpp"

#include <algorithm>
#include <map>

#include "kernels/problem/operand.hpp"
#include "tuner/figures.hpp"
#include "tuner/peaks.hpp"

namespace tilesmith::tuner::report {
namespace {

/// The latest reported entry of each candidate.
std::map<std::string, const db::Record*> latest_reported(const ProblemEntries& entries) {
  std::map<std::string, const db::Record*> latest;
  for (const db::Judged& one : entries.reported) latest[one.entry->config.text()] = one.entry;
  return latest;
}

void note(const db::Judged& one, BestKnown& known, Convergence& convergence) {
  known.add(one);
  convergence.best_us.push_back(known.best_us());
  convergence.times_us.push_back(one.entry->outcome.timing ? one.entry->outcome.timing->median_us : 0);
}

Baseline baseline_of(const ProblemEntries& entries, const BestKnown& before, const BestKnown& now) {
  const db::Record* base = before.best();
  Baseline result{Baseline::Kind::known, 0};
  if (base == nullptr) {
    result.kind = Baseline::Kind::first_config;
    const auto passed = [](const db::Judged& one) { return one.entry->outcome.timing.has_value(); };
    const auto first = std::find_if(entries.reported.begin(), entries.reported.end(), passed);
    if (first == entries.reported.end()) return {};
    base = first->entry;
  }
  const db::Record* latest = now.latest(base->config.text());
  result.us = (latest->outcome.timing ? latest : base)->outcome.timing->median_us;
  return result;
}

void find_best(const ProblemEntries& entries, const BestKnown& before, const BestKnown& now, const Selection& work,
               ProblemFigures& figures) {
  if (now.best() == nullptr) return;
  figures.best = *now.best();
  const std::string config = figures.best->config.text();
  const db::Record* known = before.latest(config);
  figures.best_is_new = known == nullptr || !known->outcome.timing;
  if (!figures.best_is_new) return;
  const auto found = std::find_if(entries.reported.begin(), entries.reported.end(), [&](const db::Judged& one) {
    return one.entry->outcome.timing && one.entry->config == figures.best->config;
  });
  figures.best_found_after = std::size_t(found - entries.reported.begin()) + 1;
  figures.best_found_at = work.seconds_until(work.moment_of(*found->entry));
}

}  // namespace

ProblemFigures figures_of(const ProblemEntries& entries, const Selection& work) {
  ProblemFigures figures;
  figures.device = entries.reported.front().entry->device;
  figures.problem = entries.reported.front().entry->problem;
  figures.evaluations = entries.reported.size();
  BestKnown known;
  for (const db::Judged& one : entries.before) note(one, known, figures.convergence);
  figures.convergence.before = entries.before.size();
  const BestKnown before = known;
  for (const db::Judged& one : entries.reported) note(one, known, figures.convergence);
  for (const auto& [config, entry] : latest_reported(entries)) {
    ++figures.tried;
    figures.failed += entry->outcome.timing ? 0 : 1;
  }
  find_best(entries, before, known, work, figures);
  figures.baseline = baseline_of(entries, before, known);
  return figures;
}

std::vector<const db::Record*> failed_candidates(const ProblemEntries& entries) {
  std::vector<const db::Record*> failed;
  for (const auto& [config, entry] : latest_reported(entries)) {
    if (!entry->outcome.timing) failed.push_back(entry);
  }
  return failed;
}

std::optional<PeerRatio> stored_peer_ratio(const ProblemFigures& figures, const db::VendorIndex& vendor) {
  if (!figures.best) return std::nullopt;
  if (const db::VendorTimes* beside = vendor.beside(*figures.best))
    return PeerRatio{false, beside->best.us / figures.best->outcome.timing->median_us, true};
  const db::VendorTimes* newest = vendor.newest(figures.problem, figures.device);
  return newest != nullptr && !newest->has_time() ? std::optional(PeerRatio{true, 0, false}) : std::nullopt;
}

std::optional<PeerRatio> peer_ratio(const ProblemFigures& figures, const std::vector<BenchRow>& rows) {
  std::optional<PeerRatio> result;
  const std::string device = db::text(figures.device);
  for (const BenchRow& row : rows) {
    if (!(row.problem == figures.problem) || row.device != device) continue;
    if (!result) result = PeerRatio{true, 0, false};
    if (!row.peer_us || !figures.best || result->same_run) continue;
    result->refused = false;
    result->same_run = row.us && row.config == figures.best->config;
    result->ratio = *row.peer_us / (result->same_run ? *row.us : figures.best->outcome.timing->median_us);
  }
  return result;
}

}  // namespace tilesmith::tuner::report
