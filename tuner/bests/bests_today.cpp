#include "tuner/bests/bests_today.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <unordered_set>
#include <utility>

#include "kernels/families/tasks.hpp"
#include "kernels/own/kernel.hpp"
#include "tuner/bests/judge.hpp"

namespace tilesmith::tuner {
namespace {

/// Where a best stands: within a signature, in the order of BestsToday::bests.
using Place = std::tuple<std::int64_t, std::int64_t, std::int64_t, std::string, std::string>;

Place place_of(const db::Record& entry) {
  const Problem p = entry.task.is_gemm() ? entry.task.problem() : Problem{};
  return {p.m, p.n, p.k, text(entry.task), db::text(entry.device)};
}

std::string candidate_key(const db::Record& entry) {
  return fmt::format("{}\n{}\n{}", text(entry.task), db::text(entry.device), entry.config.text());
}

/// All candidates of a problem on a device, by the latest entry of each.
struct Tally {
  std::int64_t candidates = 0, ok = 0;
  const db::Record* fastest = nullptr;
  std::vector<const db::Judged*> today;  // what would run, then what next
};

bool is_faster(const db::Record& a, const db::Record& b) {
  const double of_a = a.outcome.timing->median_us, of_b = b.outcome.timing->median_us;
  return of_a != of_b ? of_a < of_b : a.config.text() < b.config.text();
}

std::map<Place, Tally> tallied(const std::vector<db::Record>& entries) {
  std::map<Place, Tally> tallies;
  std::unordered_set<std::string> candidates;
  for (const db::Record& entry : entries) {
    if (!candidates.insert(candidate_key(entry)).second) continue;
    Tally& tally = tallies[place_of(entry)];
    ++tally.candidates;
    if (!entry.outcome.timing) continue;
    ++tally.ok;
    if (tally.fastest == nullptr || is_faster(entry, *tally.fastest)) tally.fastest = &entry;
  }
  return tallies;
}

/// Why an entry that would not run first does not.
std::string word_of(const db::Record& entry, const Judge& judge) {
  if (!is_loaded(entry.config.family())) return "not loaded";
  const db::Trust trust = db::judge(entry, judge.now(entry));
  return std::string(
      trust == db::Trust::retired || judge.runs(entry) ? db::name(trust) : db::name(db::Status::illegal));
}

/// Says so of kernels whose results were compared with nothing.
std::string trust_text(const db::Judged& best) {
  const own::Kernel* kernel = best.entry->task.is_gemm() ? nullptr : own::find_kernel(best.entry->config.family());
  const bool is_unproven = kernel != nullptr && !kernel->definition().reference;
  return std::string(db::name(best.trust)) + (is_unproven ? ", unproven" : "");
}

void add(
    const std::vector<db::Record>& entries, const Judge& judge, bool with_retired, std::size_t most, BestsToday& into) {
  const UsableBests usable = usable_bests(
      entries, [&](const db::Record& entry) { return judge.now(entry); },
      [&](const db::Record& entry) { return judge.runs(entry); }, most);
  std::map<Place, Tally> tallies = tallied(entries);
  for (const db::Judged& best : usable.bests) tallies.at(place_of(*best.entry)).today.push_back(&best);
  for (const auto& [place, tally] : tallies) {
    for (const db::Judged* one : tally.today)
      into.bests.push_back({*one->entry, tally.candidates, tally.ok, trust_text(*one)});
    const bool counts =
        tally.fastest == nullptr || (!tally.today.empty() && !is_faster(*tally.fastest, *tally.today.front()->entry));
    if (counts) continue;
    ++(tally.today.empty() ? into.without : into.passed_over);
    if (with_retired)
      into.bests.push_back({*tally.fastest, tally.candidates, tally.ok, word_of(*tally.fastest, judge)});
  }
}

}  // namespace

BestsToday bests_today(const db::Store& store, const Wanted& wanted, bool with_retired, std::size_t most) {
  Devices devices;
  BestsToday today;
  for (const auto& [signature, problems] : judged_together(store)) {
    if (std::none_of(problems.begin(), problems.end(), [&](const Task& task) { return wanted.wants(task); })) continue;
    std::vector<db::Record> entries = entries_of(store, problems);
    const Judge judge(entries, devices);
    std::erase_if(entries, [&](const db::Record& entry) { return !wanted.wants(entry); });
    for (std::string& family : db::families_not_loaded(entries)) today.not_loaded.insert(std::move(family));
    add(entries, judge, with_retired, most, today);
  }
  const db::VendorIndex vendor(store.vendor_times());
  for (db::JudgedBest& best : today.bests) {
    if (const db::VendorTimes* beside = vendor.beside(best.record)) best.vendor = *beside;
  }
  return today;
}

std::vector<db::JudgedBest> bests_of_kernels(
    const db::Store& store, const std::vector<Task>& tasks, const db::DeviceIdentity& device) {
  Wanted wanted;
  wanted.exactly = device;
  for (const Task& task : tasks) {
    if (!task.is_gemm()) wanted.kernels.push_back(task.kernel().kernel);
  }
  if (wanted.kernels.empty()) return {};
  std::vector<db::JudgedBest> bests = bests_today(store, wanted, false).bests;
  std::erase_if(
      bests, [&](const db::JudgedBest& best) { return std::ranges::find(tasks, best.record.task) == tasks.end(); });
  return bests;
}

std::map<std::string, std::map<std::string, TrustCounts>> trust_counts(const db::Store& store) {
  std::map<std::string, std::map<std::string, TrustCounts>> counts;
  Devices devices;
  for (const auto& [signature, problems] : judged_together(store)) {
    const std::vector<db::Record> entries = entries_of(store, problems);
    const Judge judge(entries, devices);
    std::unordered_set<std::string> candidates;
    for (const db::Record& entry : entries) {
      const std::string device = db::text(entry.device);
      if (!candidates.insert(candidate_key(entry)).second) continue;
      ++counts[device][entry.config.family()][db::judge(entry, judge.now(entry))];
    }
  }
  return counts;
}

}  // namespace tilesmith::tuner
