#include "tuner/bests/bests_today.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <unordered_set>
#include <utility>

#include "db/families_not_loaded.hpp"
#include "db/trust.hpp"
#include "tuner/bests/usable_bests.hpp"
#include "tuner/target_device.hpp"

namespace tilesmith::tuner {
namespace {

/// Where a best stands: within a type pair and transposes, in the order of BestsToday::bests.
using Place = std::tuple<std::int64_t, std::int64_t, std::int64_t, std::string, std::string>;

Place place_of(const db::Evidence& entry) {
  const Problem& p = entry.problem;
  return {p.m, p.n, p.k, text(p), db::text(entry.device)};
}

/// All candidates of a problem on a device, by the latest entry of each.
struct Tally {
  std::int64_t candidates = 0, ok = 0;
  const db::Evidence* fastest = nullptr;
  std::vector<const db::Judged*> today;  // what would run, then what next
};

bool is_faster(const db::Evidence& a, const db::Evidence& b) {
  const double of_a = a.outcome.timing->median_us, of_b = b.outcome.timing->median_us;
  return of_a != of_b ? of_a < of_b : a.config.text() < b.config.text();
}

std::map<Place, Tally> tallied(const std::vector<db::Evidence>& entries) {
  std::map<Place, Tally> tallies;
  std::unordered_set<std::string> candidates;
  for (const db::Evidence& entry : entries) {
    const Place place = place_of(entry);
    if (!candidates.insert(fmt::format("{}\n{}\n{}", std::get<3>(place), std::get<4>(place), entry.config.text())).second) continue;
    Tally& tally = tallies[place];
    ++tally.candidates;
    if (!entry.outcome.timing) continue;
    ++tally.ok;
    if (tally.fastest == nullptr || is_faster(entry, *tally.fastest)) tally.fastest = &entry;
  }
  return tallies;
}

/// A device of the database as `explain` takes it; none if this build knows no architecture of it.
std::optional<TargetDevice> target_of(const db::DeviceIdentity& identity) {
  for (const runtime::DeviceInfo& info : runtime::list_devices()) {
    if (info.identity == identity) return present_device(info);
  }
  const auto limits = limits_of(identity);
  return limits ? std::optional(TargetDevice{identity, *limits, 0, "", false}) : std::nullopt;
}

using Devices = std::map<std::string, std::optional<TargetDevice>>;  // by text

/// Judges entries of one type pair and transposes. What producer they are judged by depends on all entries of these.
class Judge {
 public:
  /// Adds the entries' devices to `devices`, from them alone: a tuner may have added one since the store was asked for its devices.
  Judge(const std::vector<db::Evidence>& entries, Devices& devices) : devices_(devices) {
    for (const db::Evidence& entry : entries) {
      const auto [place, fresh] = now_.try_emplace({db::text(entry.device), entry.config.family()});
      if (!fresh) continue;
      const auto [known, new_device] = devices.try_emplace(place->first.first);
      if (new_device) known->second = target_of(entry.device);
      if (const auto& device = known->second) {
        const KernelTarget target{entry.problem, device->limits};
        place->second = producer_to_judge_by(entries, entry.config.family(), *device, target);
      }
    }
  }

  const db::Producer& now(const db::Evidence& entry) const { return now_.at({db::text(entry.device), entry.config.family()}); }
  bool runs(const db::Evidence& entry) const {
    const auto& device = devices_.at(db::text(entry.device));
    return device && rules_allow(entry, device->limits);
  }
  /// Why an entry that would not run first does not.
  std::string word(const db::Evidence& entry) const {
    if (find_family(entry.config.family()) == nullptr) return "not loaded";
    const db::Trust trust = db::judge(entry, now(entry));
    return std::string(trust == db::Trust::retired || runs(entry) ? db::name(trust) : db::name(db::Status::illegal));
  }

 private:
  const Devices& devices_;
  std::map<std::pair<std::string, std::string>, db::Producer> now_;  // by device and family
};

std::vector<db::Evidence> entries_of(const db::Store& store, const std::vector<Problem>& problems) {
  std::vector<db::Evidence> entries;
  for (const Problem& problem : problems) {
    db::EvidenceFilter filter;
    filter.problem = problem;
    std::vector<db::Evidence> of_one = store.evidence(filter);
    entries.insert(entries.end(), std::make_move_iterator(of_one.begin()), std::make_move_iterator(of_one.end()));
  }
  std::sort(entries.begin(), entries.end(), db::is_later);
  return entries;
}

void add(const std::vector<db::Evidence>& entries, const Judge& judge, bool with_retired, std::size_t most, BestsToday& into) {
  const UsableBests usable = usable_bests(
      entries, [&](const db::Evidence& entry) { return judge.now(entry); },
      [&](const db::Evidence& entry) { return judge.runs(entry); }, most);
  std::map<Place, Tally> tallies = tallied(entries);
  for (const db::Judged& best : usable.bests) tallies.at(place_of(*best.entry)).today.push_back(&best);
  for (const auto& [place, tally] : tallies) {
    for (const db::Judged* one : tally.today)
      into.bests.push_back({*one->entry, tally.candidates, tally.ok, std::string(db::name(one->trust))});
    const bool counts = tally.fastest == nullptr || (!tally.today.empty() && !is_faster(*tally.fastest, *tally.today.front()->entry));
    if (counts) continue;
    ++(tally.today.empty() ? into.without : into.passed_over);
    if (with_retired) into.bests.push_back({*tally.fastest, tally.candidates, tally.ok, judge.word(*tally.fastest)});
  }
}

}  // namespace

BestsToday bests_today(const db::Store& store, const Wanted& wanted, bool with_retired, std::size_t most) {
  Devices devices;
  std::map<std::pair<std::string_view, std::string_view>, std::vector<Problem>> groups;
  for (Problem& problem : store.problems_since(0)) groups[{problem.type.name, name(problem.trans)}].push_back(std::move(problem));
  BestsToday today;
  for (const auto& [of, problems] : groups) {
    if (std::none_of(problems.begin(), problems.end(), [&](const Problem& problem) { return wanted.wants(problem); })) continue;
    std::vector<db::Evidence> entries = entries_of(store, problems);
    const Judge judge(entries, devices);
    std::erase_if(entries, [&](const db::Evidence& entry) { return !wanted.wants(entry); });
    for (std::string& family : db::families_not_loaded(entries)) today.not_loaded.insert(std::move(family));
    add(entries, judge, with_retired, most, today);
  }
  return today;
}

}  // namespace tilesmith::tuner
