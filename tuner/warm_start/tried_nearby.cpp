#include "tuner/warm_start/tried_nearby.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "runtime/choose/neighbour.hpp"

namespace tilesmith::tuner {
namespace {

constexpr double kOtherTypeDoublings = 0.5;
constexpr double kOtherTransposeDoublings = 0.25;  // for each operand
constexpr double kElsewhereDoublings = 0.25;       // on a similar device
constexpr std::size_t kMostRead = 4000;            // entries, of whatever families and policies
constexpr std::size_t kMostTried = 1000;           // candidates, of the nearest problems
constexpr std::size_t kMostOfOne = 24;             // of them of one problem: many problems say more than much of a few
constexpr std::size_t kProblemsThatTell = 3;       // that a family is outclassed
constexpr double kOutclassed = 2;                  // as a slowdown
constexpr double kBatchesThatTell = 4;  // doublings: where large entries bore a family out, small ones may not

/// Of many the faster half that is asked for, and every so-many-th of the rest.
std::vector<Tried> some_of(std::vector<Tried> tried) {
  std::sort(tried.begin(), tried.end(), [](const Tried& a, const Tried& b) {
    return a.slowdown != b.slowdown ? a.slowdown < b.slowdown : a.config.text() < b.config.text();
  });
  const std::size_t all = tried.size(), count = std::min(all, kMostOfOne), fast = count / 2;
  for (std::size_t i = fast; i < count; ++i)
    std::swap(tried[i], tried[fast + (i - fast) * (all - fast) / (count - fast)]);
  tried.erase(tried.begin() + std::ptrdiff_t(count), tried.end());
  return tried;
}

/// How families did on problem after problem.
class FamilyRecords {
 public:
  void add(const std::vector<Tried>& of_one_problem) {
    for (const Tried& one : of_one_problem) {
      Record& record = records_[one.config.family()];
      record.least_slowdown = std::min(record.least_slowdown, one.slowdown);
      record.problems.insert(text(one.problem));
    }
  }
  std::set<std::string> outclassed() const {
    std::set<std::string> found;
    for (const auto& [family, record] : records_) {
      if (record.problems.size() >= kProblemsThatTell && record.least_slowdown > kOutclassed) found.insert(family);
    }
    return found;
  }

 private:
  struct Record {
    std::set<std::string> problems;  // one is one, on however many devices
    double least_slowdown = std::numeric_limits<double>::infinity();
  };
  std::map<std::string, Record> records_;
};

}  // namespace

double doublings_apart(const Problem& measured, const Problem& problem) {
  double sum = runtime::distance(measured, problem);
  if (measured.type != problem.type) sum += kOtherTypeDoublings;
  sum +=
      kOtherTransposeDoublings * (int(measured.trans.a != problem.trans.a) + int(measured.trans.b != problem.trans.b));
  return sum;
}

TriedNearby tried_nearby(const Problem& problem, std::span<const db::Record> bests, const db::Store& store,
    const db::DeviceIdentity& device, const AsOfToday& as_of_today) {
  std::vector<std::pair<double, const db::Record*>> nearest;
  for (const db::Record& best : bests) {
    const Problem& other = best.task.problem();
    if (other.m < 1 || other.n < 1 || other.k < 1 || other.batch < 1) continue;
    const bool here = best.device == device;
    if (here ? other == problem : !db::are_similar(best.device, device)) continue;
    nearest.emplace_back(doublings_apart(other, problem) + (here ? 0 : kElsewhereDoublings), &best);
  }
  std::stable_sort(nearest.begin(), nearest.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  TriedNearby tried;
  FamilyRecords families;
  std::size_t read = 0;
  for (const auto& [far, best] : nearest) {
    if (tried.sample.size() >= kMostTried || read >= kMostRead) break;
    const double best_us = best->outcome.timing->median_us;
    double worst = 1;
    std::vector<std::pair<Config, std::optional<double>>> slowdowns;
    for (const db::Record& entry :
        store.records({.task = best->task, .device_exactly = best->device, .latest_only = true})) {
      ++read;
      const auto config = as_of_today(entry.config, best->task.problem());
      if (!config) continue;
      const bool ok = entry.outcome.status == db::Status::ok && entry.outcome.timing;
      slowdowns.emplace_back(*config, ok ? std::optional(entry.outcome.timing->median_us / best_us) : std::nullopt);
      worst = std::max(worst, slowdowns.back().second.value_or(1));
    }
    std::vector<Tried> of_one;
    for (auto& [config, slowdown] : slowdowns)
      of_one.push_back({best->task.problem(), std::move(config), slowdown.value_or(worst)});
    const bool tells_of_families = problem.batch_mode == BatchMode::single
                                       ? best->task.problem().batch_mode == BatchMode::single
                                       : far <= kBatchesThatTell;
    if (best->task.problem().type == problem.type && tells_of_families) families.add(of_one);
    for (Tried& one : some_of(std::move(of_one))) tried.sample.push_back(std::move(one));
  }
  tried.outclassed = families.outclassed();
  return tried;
}

}  // namespace tilesmith::tuner
