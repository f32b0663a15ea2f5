#include "tuner/bests/judge.hpp"

#include <algorithm>
#include <iterator>

#include "db/store/ranked.hpp"

namespace tilesmith::tuner {
namespace {

/// A device of the database as `explain` takes it; none if this build knows no architecture of it.
std::optional<TargetDevice> target_of(const db::DeviceIdentity& identity) {
  for (const runtime::DeviceInfo& info : runtime::list_devices()) {
    if (info.identity == identity) return present_device(info);
  }
  const auto limits = limits_of(identity);
  return limits ? std::optional(TargetDevice{identity, *limits, 0, "", false}) : std::nullopt;
}

}  // namespace

bool rules_allow(const db::Record& entry, const DeviceLimits& limits) {
  const Family* family = find_family(entry.config.family());
  return family != nullptr && !illegal_because(*family, entry.config, {entry.problem, limits}) &&
         !refused_because(*family, entry.config, entry.problem);
}

UsableBests usable_bests(const std::vector<db::Record>& entries,
    const std::function<db::Environment(const db::Record&)>& now, const std::function<bool(const db::Record&)>& runs,
    std::size_t most) {
  UsableBests result;
  for (const db::RankedProblem& one : db::rank(entries, now)) {
    std::size_t found = 0;
    for (auto judged = one.best.begin(); judged != one.best.end() && found < most; ++judged) {
      if (runs && !runs(*judged->entry)) continue;
      result.bests.push_back(*judged);
      ++found;
    }
    if (one.retired_entries == one.entries) ++result.retired_problems;
  }
  return result;
}

Judge::Judge(const std::vector<db::Record>& entries, Devices& devices) : devices_(devices) {
  for (const db::Record& entry : entries) {
    const auto [place, fresh] = now_.try_emplace({db::text(entry.device), entry.config.family()});
    if (!fresh) continue;
    const auto [known, new_device] = devices.try_emplace(place->first.first);
    if (new_device) known->second = target_of(entry.device);
    if (const auto& device = known->second) {
      const KernelTarget target{entry.problem, device->limits};
      place->second = environment_to_judge_by(entries, entry.config.family(), *device, target);
    }
  }
}

bool Judge::runs(const db::Record& entry) const {
  const auto& device = devices_.at(db::text(entry.device));
  return device && rules_allow(entry, device->limits);
}

std::map<std::string, std::vector<Problem>> judged_together(const db::Store& store) {
  std::map<std::string, std::vector<Problem>> groups;
  for (Problem& problem : store.problems_since(0)) groups[text(problem.signature())].push_back(std::move(problem));
  return groups;
}

std::vector<db::Record> entries_of(const db::Store& store, const std::vector<Problem>& problems) {
  std::vector<db::Record> entries;
  for (const Problem& problem : problems) {
    db::RecordFilter filter;
    filter.problem = problem;
    std::vector<db::Record> of_one = store.records(filter);
    entries.insert(entries.end(), std::make_move_iterator(of_one.begin()), std::make_move_iterator(of_one.end()));
  }
  std::ranges::sort(entries, [](const db::Record& a, const db::Record& b) { return db::is_later(a, b); });
  return entries;
}

}  // namespace tilesmith::tuner
