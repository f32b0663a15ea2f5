#include "tuner/bests/judge.hpp"

#include <algorithm>
#include <iterator>

#include "db/store/ranked.hpp"
#include "kernels/families/tasks.hpp"

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
  return !refused_because(entry.config, entry.task, limits);
}

UsableBests usable_bests(const std::vector<db::Record>& entries,
    const std::function<db::Environment(const db::Record&)>& now, const std::function<bool(const db::Record&)>& runs,
    std::size_t most) {
  UsableBests result;
  for (const db::RankedTask& one : db::rank(entries, now)) {
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
    if (const auto& device = known->second)
      place->second = environment_to_judge_by(entries, entry.config.family(), *device);
  }
}

bool Judge::runs(const db::Record& entry) const {
  const auto& device = devices_.at(db::text(entry.device));
  return device && rules_allow(entry, device->limits);
}

std::map<std::string, std::vector<Task>> judged_together(const db::Store& store) {
  std::map<std::string, std::vector<Task>> groups;
  for (Task& task : store.tasks_since(0)) groups[signature_text(task)].push_back(std::move(task));
  return groups;
}

std::vector<db::Record> entries_of(const db::Store& store, const std::vector<Task>& tasks) {
  std::vector<db::Record> entries;
  for (const Task& task : tasks) {
    db::RecordFilter filter;
    filter.task = task;
    std::vector<db::Record> of_one = store.records(filter);
    entries.insert(entries.end(), std::make_move_iterator(of_one.begin()), std::make_move_iterator(of_one.end()));
  }
  std::ranges::sort(entries, [](const db::Record& a, const db::Record& b) { return db::is_later(a, b); });
  return entries;
}

}  // namespace tilesmith::tuner
