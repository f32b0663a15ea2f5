#include "db/store/ranked.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <unordered_map>

#include "kernels/base/on_all_cores.hpp"

namespace tilesmith::db {
namespace {

bool has_time(const Record& entry) {
  return entry.outcome.status == Status::ok && entry.outcome.timing && !timing_error(*entry.outcome.timing);
}

/// The trust of each entry; `today` has what would measure each now. The hash of a plan needs the whole source of its
/// kernel, so the cores share the work.
std::vector<Trust> judge_all(std::span<const Record> entries, const std::vector<Environment>& today) {
  constexpr std::size_t kAtATime = 64;
  std::vector<Trust> trusts(entries.size());
  on_all_cores((entries.size() + kAtATime - 1) / kAtATime, [&](std::size_t part) {
    const std::size_t end = std::min((part + 1) * kAtATime, entries.size());
    for (std::size_t i = part * kAtATime; i < end; ++i) trusts[i] = judge(entries[i], today[i]);
  });
  return trusts;
}

}  // namespace

bool ranks_before(const Judged& a, const Judged& b) {
  if (a.trust != b.trust) return a.trust < b.trust;
  const double of_a = a.entry->outcome.timing->median_us, of_b = b.entry->outcome.timing->median_us;
  return of_a != of_b ? of_a < of_b : a.entry->config.text() < b.entry->config.text();
}

std::vector<RankedTask> rank(std::span<const Record> entries, const std::function<Environment(const Record&)>& now) {
  struct Found {
    RankedTask ranked;
    std::unordered_map<std::string, Judged> candidates,
        retired;  // the latest entry of each that is not retired, and that is
  };
  std::vector<Environment> environments;
  for (const Record& entry : entries) environments.push_back(now(entry));
  const std::vector<Trust> trusts = judge_all(entries, environments);
  std::map<std::string, Found> found;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const Record& entry = entries[i];
    Found& one = found[fmt::format("{}\n{}", text(entry.task), text(entry.device))];
    ++one.ranked.entries;
    if (one.ranked.latest == nullptr || is_later(entry, *one.ranked.latest)) one.ranked.latest = &entry;
    const Trust trust = trusts[i];
    one.ranked.retired_entries += trust == Trust::retired;
    if (entry.environment.compiler_options != environments[i].compiler_options)
      continue;  // another architecture's code
    auto& candidates = trust == Trust::retired ? one.retired : one.candidates;
    const auto [place, fresh] = candidates.try_emplace(entry.config.text(), Judged{&entry, trust});
    if (!fresh && supersedes(entry, *place->second.entry)) place->second = {&entry, trust};
  }
  std::vector<RankedTask> result;
  for (auto& [key, one] : found) {
    for (const auto& [config, judged] : one.candidates) {
      if (has_time(*judged.entry)) one.ranked.best.push_back(judged);
      if (judged.entry->outcome.status != Status::ok) one.ranked.failed.push_back(judged.entry);
    }
    for (const auto& [config, judged] : one.retired) {
      if (has_time(*judged.entry) && !one.candidates.contains(config)) one.ranked.retired_times.push_back(judged);
    }
    std::sort(one.ranked.retired_times.begin(), one.ranked.retired_times.end(), ranks_before);
    keep_comparable(one.ranked.best);
    std::sort(one.ranked.best.begin(), one.ranked.best.end(), ranks_before);
    result.push_back(std::move(one.ranked));
  }
  return result;
}

}  // namespace tilesmith::db
