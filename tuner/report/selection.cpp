#include "tuner/report/selection.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

namespace tilesmith::tuner::report {
namespace {

double time_of(const db::Record& entry) { return utc_seconds(entry.created_at).value_or(0); }

std::vector<Stretch> merged(std::vector<Stretch> stretches) {
  std::ranges::sort(stretches, {}, &Stretch::began);
  std::vector<Stretch> result;
  for (const Stretch& one : stretches) {
    if (result.empty() || one.began > result.back().ended) result.push_back(one);
    result.back().ended = std::max(result.back().ended, one.ended);
  }
  return result;
}

/// When a run that only its entries tell of was at work.
void add_stretches_between(std::vector<double> times, std::vector<Stretch>& stretches) {
  std::sort(times.begin(),
      times.end());  // the order of entries is not that of their times where several databases were merged
  for (std::size_t i = 0; i < times.size(); ++i) {
    if (i == 0 || times[i] - times[i - 1] > kLongestPause) stretches.push_back({times[i], times[i]});
    stretches.back().ended = times[i];
  }
}

double reach(const RunFigures& run) { return run.open() ? run.ended + kLongestPause : run.ended; }

/// The newest run, and those of its host and workload that were at work together with it: the tuners of one supervising
/// tune, also those that were started again.
std::vector<RunFigures> latest_runs(const std::vector<RunFigures>& runs) {
  if (runs.empty() || !runs.back().recorded) return runs.empty() ? runs : std::vector{runs.back()};
  const db::Run& newest = runs.back().run;
  double began = runs.back().began, ended = reach(runs.back());
  std::vector<bool> chosen(runs.size(), false);
  chosen.back() = true;
  for (bool more = true; more;) {
    more = false;
    for (std::size_t i = 0; i < runs.size(); ++i) {
      const RunFigures& run = runs[i];
      if (chosen[i] || !run.recorded || run.run.host != newest.host || run.run.workload != newest.workload) continue;
      if (run.began > ended || reach(run) < began) continue;
      began = std::min(began, run.began);
      ended = std::max(ended, reach(run));
      more = chosen[i] = true;
    }
  }
  std::vector<RunFigures> group;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (chosen[i]) group.push_back(runs[i]);
  }
  return group;
}

/// Oldest first: by their last entries. One that is recorded without any comes just before the next one that was
/// recorded.
void put_in_order(std::vector<RunFigures>& runs) {
  std::vector<RunFigures*> recorded;
  for (RunFigures& run : runs) {
    if (run.recorded) recorded.push_back(&run);
  }
  std::sort(
      recorded.begin(), recorded.end(), [](const RunFigures* a, const RunFigures* b) { return a->run.id > b->run.id; });
  std::int64_t next = std::numeric_limits<std::int64_t>::max();
  for (RunFigures* run : recorded) {
    if (run->entries == 0) run->last_entry = next;
    next = run->last_entry;
  }
  std::stable_sort(runs.begin(), runs.end(), [](const RunFigures& a, const RunFigures& b) {
    return a.last_entry != b.last_entry ? a.last_entry < b.last_entry : a.run.id < b.run.id;
  });
}

}  // namespace

double RunFigures::moment(const db::Record& entry) const {
  return recorded ? std::clamp(time_of(entry), began, ended) : time_of(entry);
}

double Selection::moment_of(const db::Record& entry) const {
  const auto run =
      std::find_if(runs.begin(), runs.end(), [&](const RunFigures& one) { return one.run.uuid == entry.run; });
  return run == runs.end() ? time_of(entry) : run->moment(entry);
}

double Selection::seconds() const { return seconds_until(std::numeric_limits<double>::infinity()); }

double Selection::seconds_until(double moment) const {
  double sum = 0;
  for (const Stretch& one : stretches) sum += std::clamp(moment, one.began, one.ended) - one.began;
  return sum;
}

std::vector<RunFigures> runs_of(const std::vector<db::Record>& entries, const std::vector<db::Run>& records) {
  std::map<std::string, RunFigures> by_uuid;
  for (const db::Record& entry : entries) {
    RunFigures& run = by_uuid[entry.run];
    const double time = time_of(entry);
    run.run.uuid = entry.run;
    run.began = run.entries == 0 ? time : std::min(run.began, time);
    run.ended = std::max(run.ended, time);
    run.last_entry = run.entries == 0 ? entry.id : std::max(run.last_entry, entry.id);
    ++run.entries;
  }
  for (const db::Run& record : records) {
    RunFigures& run = by_uuid[record.uuid];
    run.run = record;
    run.recorded = true;
    run.began = utc_seconds(record.started_at).value_or(run.began);
    run.ended =
        std::max(run.began, utc_seconds(record.ended_at).value_or(run.ended));  // its clock may have been set back
  }
  std::vector<RunFigures> runs;
  for (auto& [uuid, run] : by_uuid) runs.push_back(std::move(run));
  put_in_order(runs);
  return runs;
}

std::vector<RunFigures> matching_runs(const std::vector<RunFigures>& runs, const std::string& wanted) {
  if (wanted == "all") return runs;
  if (wanted == "latest") return latest_runs(runs);
  std::vector<RunFigures> found;
  for (const RunFigures& run : runs) {
    if (run.run.uuid == wanted) return {run};
    if (!wanted.empty() && run.run.uuid.rfind(wanted, 0) == 0) found.push_back(run);
  }
  return found.size() == 1 ? found : std::vector<RunFigures>{};
}

Selection select(const std::vector<db::Record>& entries, std::vector<RunFigures> runs, std::optional<double> since) {
  const double from = since.value_or(0);
  Selection selection;
  std::map<std::string, std::vector<double>> times;  // of each run's entries
  std::map<std::string, RunFigures*> chosen;
  std::erase_if(runs, [&](const RunFigures& run) { return run.ended < from; });
  for (RunFigures& run : runs) {
    run.entries = 0;
    chosen[run.run.uuid] = &run;
  }
  for (const db::Record& entry : entries) {
    const auto run = chosen.find(entry.run);
    const double time = run == chosen.end() ? 0 : run->second->moment(entry);
    if (run == chosen.end() || time < from) {
      selection.before.push_back(&entry);
      continue;
    }
    ++run->second->entries;
    times[entry.run].push_back(time);
    selection.entries.push_back(&entry);
  }
  std::erase_if(selection.before, [&](const db::Record* entry) {
    return selection.entries.empty() || db::is_later(*entry, *selection.entries.back());
  });
  std::vector<Stretch> stretches;
  for (const RunFigures& run : runs) {
    if (run.entries == 0) continue;
    if (run.recorded) stretches.push_back({std::max(run.began, from), std::max(from, run.ended)});
    else add_stretches_between(times[run.run.uuid], stretches);
  }
  selection.stretches = merged(std::move(stretches));
  selection.runs = std::move(runs);
  return selection;
}

std::optional<double> utc_seconds(std::string_view text) {
  const auto milliseconds = db::utc_milliseconds(text);
  return milliseconds ? std::optional(double(*milliseconds) / 1000) : std::nullopt;
}

std::string utc_text(double seconds) { return db::utc_text(std::llround(seconds * 1000)); }

std::string utc_minutes(double seconds) { return utc_text(seconds).substr(0, 16).replace(10, 1, " "); }

std::optional<double> parse_moment(std::string_view text) {
  std::string whole(text);
  if (!whole.empty() && whole.back() == 'Z') whole.pop_back();
  if (whole.size() == 10) whole += "T00:00:00";
  if (whole.size() == 16) whole += ":00";
  if (whole.size() > 10 && whole[10] == ' ') whole[10] = 'T';
  return utc_seconds(whole + "Z");
}

}  // namespace tilesmith::tuner::report
