#include "tuner/report/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "db/store/trust.hpp"

namespace tilesmith::tuner::report {
namespace {

/// In the order in which problems are listed.
using Place = std::tuple<std::string, std::size_t, std::string, std::int64_t, std::int64_t, std::int64_t, std::string>;

Place place_of(const db::Record& entry) {
  const Problem& p = entry.task.problem();
  const auto types = type_pairs();
  const auto type = std::ranges::find(types, p.type) - types.begin();
  return {db::text(entry.device), std::size_t(type), std::string(name(p.trans)), p.m, p.n, p.k, text(p)};
}

/// Judges entries by the newest of their family on their device.
class Judge {
 public:
  explicit Judge(const Selection& selection) {
    for (const auto* list : {&selection.before, &selection.entries}) {
      for (const db::Record* entry : *list) {
        const db::Record*& newest = newest_[key(*entry)];
        if (newest == nullptr || db::supersedes(*entry, *newest)) newest = entry;
      }
    }
  }
  db::Judged operator()(const db::Record& entry) const {
    const db::Record& newest = *newest_.at(key(entry));
    const bool of_today = db::judge(newest, newest.environment) == db::Trust::valid;
    return {&entry,
        of_today ? db::judge(entry, newest.environment) : db::judge_environment(entry.environment, newest.environment)};
  }

 private:
  static std::string key(const db::Record& entry) { return db::text(entry.device) + '\n' + entry.config.family(); }
  std::unordered_map<std::string, const db::Record*> newest_;
};

std::map<Place, ProblemEntries> by_problem(const Selection& selection, std::size_t& left_out) {
  const Judge judge(selection);
  const auto usable = [](const db::Judged& one) {
    return one.trust <= db::Trust::reverify;
  };  // times of today's kernels that compare
  std::map<Place, ProblemEntries> problems;
  for (const db::Record* entry : selection.entries) {
    if (const db::Judged one = judge(*entry); usable(one)) problems[place_of(*entry)].reported.push_back(one);
    else ++left_out;
  }
  for (const db::Record* entry : selection.before) {
    const auto found = problems.find(place_of(*entry));
    const db::Judged one = judge(*entry);
    if (found == problems.end() || !usable(one)) continue;
    // What other runs did in the meantime is theirs to report.
    if (!db::is_later(*entry, *found->second.reported.front().entry)) found->second.before.push_back(one);
  }
  return problems;
}

/// Time from each entry's forerunner in its run to the entry, by the entry's problem.
std::map<Place, double> seconds_by_problem(const Selection& selection) {
  std::map<std::string, double> last;
  for (const RunFigures& run : selection.runs) {
    if (run.recorded) last[run.run.uuid] = run.began;
  }
  std::map<Place, double> seconds;
  for (const db::Record* entry : selection.entries) {
    const double now = selection.moment_of(*entry);
    const auto [place, fresh] = last.try_emplace(entry->run, now);
    seconds[place_of(*entry)] += std::clamp(now - place->second, 0.0, kLongestPause);
    place->second = now;
  }
  return seconds;
}

void add_weights(Report& report) {
  if (!report.options.workload) return;
  for (const WeightedTask& wanted : report.options.workload->tasks) {
    bool reached = false;
    for (ProblemFigures& one : report.problems) {
      if (!(one.problem == wanted.task.problem())) continue;
      one.weight = wanted.weight;
      reached = true;
    }
    if (!reached) report.not_reached.push_back(wanted);
  }
}

void add_outlook(Report& report) {
  std::vector<OutlookProblem> problems;
  for (const ProblemFigures& one : report.problems) {
    OutlookProblem& problem = problems.emplace_back();
    problem.weight = one.weight;
    problem.curve_us = one.convergence.best_us;
    // A problem of which only one moment is known costs what all do on average.
    const double seconds = one.seconds > 0      ? one.seconds / double(one.evaluations)
                           : report.entries > 0 ? report.seconds / double(report.entries)
                                                : 0;
    problem.seconds_per_evaluation = seconds;
    if (!one.best) continue;
    problem.best_us = one.best->outcome.timing->median_us;
    problem.spread = one.best->outcome.timing->spread;
    problem.floor_us = floor_us(one.device, one.problem);
  }
  report.outlook = outlook(problems);
}

void add_devices(Report& report) {
  std::map<std::string, std::pair<db::DeviceIdentity, std::vector<const db::Record*>>>
      by_device;  // with what was measured on it
  std::set<std::string> provenance;
  for (const db::Record* entry : report.selection.entries) {
    const auto of_device =
        by_device.try_emplace(db::text(entry->device), entry->device, std::vector<const db::Record*>()).first;
    // The clocks and the heat of a recording are those of another night.
    if (report.selection.moment_of(*entry) == utc_seconds(entry->created_at)) of_device->second.second.push_back(entry);
    const db::Environment& environment = entry->environment;
    provenance.insert(fmt::format("{}NVRTC {}, measuring policy {}",
        environment.driver_version.empty() ? "" : fmt::format("driver {}, ", environment.driver_version),
        environment.nvrtc_version, environment.measuring_policy));
  }
  for (const auto& [key, of_device] : by_device) {
    report.devices.push_back(of_device.first);
    report.telemetry.push_back(telemetry_of(of_device.first, of_device.second));
  }
  report.provenance.assign(provenance.begin(), provenance.end());
}

void add_times(Report& report) {
  const Selection& selection = report.selection;
  report.seconds = selection.seconds();
  if (selection.stretches.empty()) return;
  report.began = selection.stretches.front().began;
  report.ended = selection.stretches.back().ended;
}

Mean mean_over(const Report& report, const auto& value_of) {
  std::vector<double> values;
  for (const ProblemFigures& problem : report.problems) values.push_back(value_of(problem));
  return geometric_mean(values);
}

}  // namespace

Report make_report(const std::vector<db::Record>& entries, std::vector<RunFigures> runs, ReportOptions options) {
  Report report;
  report.options = std::move(options);
  report.selection = select(entries, std::move(runs), report.options.since);
  report.entries = report.selection.entries.size();
  add_times(report);
  const auto seconds = seconds_by_problem(report.selection);
  std::vector<const db::Record*> failed;
  for (const auto& [place, of_problem] : by_problem(report.selection, report.left_out)) {
    ProblemFigures figures = figures_of(of_problem, report.selection);
    figures.seconds = seconds.at(place);
    figures.peer = peer_ratio(figures, report.options.bench);
    if (!figures.peer || !figures.peer->same_run) {
      const auto stored = stored_peer_ratio(figures, report.options.vendor);
      if (stored && (!figures.peer || !stored->refused)) figures.peer = stored;
    }
    report.tried += figures.tried;
    report.failed += figures.failed;
    report.problems.push_back(std::move(figures));
    const auto more = failed_candidates(of_problem);
    failed.insert(failed.end(), more.begin(), more.end());
  }
  report.failures = failures_by_kind(failed);
  add_weights(report);
  add_devices(report);
  add_outlook(report);
  return report;
}

Mean geometric_mean(const std::vector<double>& values) {
  Mean mean;
  double sum = 0;
  for (const double value : values) {
    if (!(value > 0)) continue;
    sum += std::log(value);
    ++mean.count;
  }
  if (mean.count > 0) mean.value = std::exp(sum / double(mean.count));
  return mean;
}

Mean mean_gain(const Report& report, Baseline::Kind kind) {
  return mean_over(report, [&](const ProblemFigures& p) { return p.baseline.kind == kind ? p.gain() : 0; });
}

Mean mean_gain(const Report& report) {
  return mean_over(report, [](const ProblemFigures& p) { return p.gain(); });
}

Mean mean_peer_ratio(const Report& report) {
  return mean_over(report, [](const ProblemFigures& p) { return p.peer ? p.peer->ratio : 0; });
}

bool has_peer(const Report& report) {
  return !report.options.bench_name.empty() ||
         std::ranges::any_of(report.problems, [](const ProblemFigures& p) { return p.peer.has_value(); });
}

}  // namespace tilesmith::tuner::report
