#include "tuner/report/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "db/store/ranked.hpp"
#include "db/store/trust.hpp"
#include "tuner/report/utc.hpp"

namespace tilesmith::tuner::report {

namespace {

/// Entries of one problem on one device, oldest first, as they are judged today: not retired, and of today's measuring
/// policy.
struct ProblemEntries {
  std::vector<db::Judged> before, reported;
};

/// Most frequent kind first. `failed`: one entry a candidate.
inline constexpr std::size_t kMostMessages = 5;

/// The best by the one ranking (db/store/ranked.hpp) of the latest entry of each candidate, entry after entry. So a
/// best time may rise, where a final benchmark times a lucky winner again, or where the first of today's driver comes.
class BestKnown {
 public:
  /// Later than all before; `entry` as it is judged today, not retired and of today's measuring policy.
  void add(const db::Judged& entry) {
    const auto [known, fresh] = latest_.try_emplace(entry.entry->config.text(), entry);
    if (!fresh && known->second.entry->outcome.timing) ranking_.erase(known->second);
    known->second = entry;
    if (entry.entry->outcome.timing) ranking_.insert(entry);
  }
  /// The best's latest entry; null while there is none.
  const db::Record* best() const { return ranking_.empty() ? nullptr : ranking_.begin()->entry; }
  double best_us() const { return ranking_.empty() ? 0 : best()->outcome.timing->median_us; }
  /// A config's latest entry; null if it has none.
  const db::Record* latest(const std::string& config) const {
    const auto found = latest_.find(config);
    return found == latest_.end() ? nullptr : found->second.entry;
  }

 private:
  std::map<std::string, db::Judged> latest_;
  std::set<db::Judged, decltype(&db::ranks_before)> ranking_{&db::ranks_before};
};

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
  const auto found = std::find_if(entries.reported.begin(), entries.reported.end(),
      [&](const db::Judged& one) { return one.entry->outcome.timing && one.entry->config == figures.best->config; });
  figures.best_found_after = std::size_t(found - entries.reported.begin()) + 1;
  figures.best_found_at = work.seconds_until(work.moment_of(*found->entry));
}

/// Runs of digits as "#": "spills 16 bytes" and "spills 24 bytes" are one message.
std::string without_numbers(const std::string& message) {
  std::string result;
  for (const char c : message) {
    if (c < '0' || c > '9') result += c;
    else if (!result.ends_with('#')) result += '#';
  }
  return result;
}

/// `work`: tells how long was worked until the best was found.
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

/// The latest reported entry of each candidate, of those that are no times.
std::vector<const db::Record*> failed_candidates(const ProblemEntries& entries) {
  std::vector<const db::Record*> failed;
  for (const auto& [config, entry] : latest_reported(entries)) {
    if (!entry->outcome.timing) failed.push_back(entry);
  }
  return failed;
}

/// What a tuner stored of it: the vendor's best beside this very best, or that it refused the problem.
std::optional<PeerRatio> stored_peer_ratio(const ProblemFigures& figures, const db::VendorIndex& vendor) {
  if (!figures.best) return std::nullopt;
  if (const db::VendorTimes* beside = vendor.beside(*figures.best))
    return PeerRatio{false, beside->best.us / figures.best->outcome.timing->median_us, true};
  const db::VendorTimes* newest = vendor.newest(figures.problem, figures.device);
  return newest != nullptr && !newest->has_time() ? std::optional(PeerRatio{true, 0, false}) : std::nullopt;
}

/// From the rows of the CSV file that are about this problem; nullopt if there are none.
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

std::vector<FailureKind> failures_by_kind(const std::vector<const db::Record*>& failed) {
  std::map<db::Status, std::map<std::string, FailureMessage>> by_status;
  for (const db::Record* entry : failed) {
    FailureMessage& message = by_status[entry->outcome.status][without_numbers(entry->outcome.message)];
    if (message.count++ == 0 || !db::is_later(message.example, *entry)) message.example = *entry;
  }
  std::vector<FailureKind> kinds;
  for (auto& [status, messages] : by_status) {
    FailureKind kind{status, 0, {}, 0};
    for (auto& [text, message] : messages) {
      kind.count += message.count;
      kind.messages.push_back(std::move(message));
    }
    std::ranges::stable_sort(kind.messages, std::greater(), &FailureMessage::count);
    for (std::size_t i = kMostMessages; i < kind.messages.size(); ++i) kind.other_messages += kind.messages[i].count;
    if (kind.messages.size() > kMostMessages) kind.messages.resize(kMostMessages);
    kinds.push_back(std::move(kind));
  }
  std::ranges::stable_sort(kinds, std::greater(), &FailureKind::count);
  return kinds;
}

/// In the order in which problems are listed.
using Place = std::tuple<std::string, std::size_t, std::string, std::int64_t, std::int64_t, std::int64_t, std::string>;

Place place_of(const db::Record& entry) {
  const Problem& p = entry.problem;
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
  for (const WeightedProblem& wanted : report.options.workload->problems) {
    bool reached = false;
    for (ProblemFigures& one : report.problems) {
      if (!(one.problem == wanted.problem)) continue;
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
