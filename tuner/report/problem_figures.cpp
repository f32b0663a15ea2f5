#include "tuner/report/report.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "db/store/ranked.hpp"

namespace tilesmith::tuner::report {
namespace {

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

}  // namespace

ProblemFigures figures_of(const ProblemEntries& entries, const Selection& work) {
  ProblemFigures figures;
  figures.device = entries.reported.front().entry->device;
  figures.problem = entries.reported.front().entry->task.problem();
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

}  // namespace tilesmith::tuner::report
