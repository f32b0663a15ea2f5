#include "tuner/recordings/choice_simulation.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <unordered_map>

#include "db/store/ranked.hpp"
#include "kernels/base/on_all_cores.hpp"
#include "kernels/families/tasks.hpp"
#include "runtime/choose/choose.hpp"

namespace tilesmith::tuner {
namespace {

constexpr std::size_t kMostRanked = 64;  // of a choice's ranking: what comes later says nothing of the choice

using Shape = std::array<std::int64_t, 4>;
Shape shape_of(const Problem& problem) { return {problem.m, problem.n, problem.k, problem.batch}; }

/// What a recording knows of configs that are legal today.
class RecordedProblem {
 public:
  explicit RecordedProblem(const db::Recording& recording)
      : recording_(recording), limits_(*limits_for_arch(recording.arch)) {
    limits_.sm_count = recording.device.sm_count;
    for (const db::RankedTask& one :
        db::rank(recording.entries, [this](const db::Record& entry) { return environment(entry.config.family()); })) {
      if (!one.task().is_gemm() || nothing_to_do(one.task())) continue;
      std::vector<db::Judged> runs;
      std::vector<db::Judged> times = one.best;
      times.insert(times.end(), one.retired_times.begin(), one.retired_times.end());
      std::stable_sort(times.begin(), times.end(), [](const db::Judged& a, const db::Judged& b) {
        return a.entry->outcome.timing->median_us < b.entry->outcome.timing->median_us;
      });
      for (const db::Judged& judged : times) {
        if (!refused_because(judged.entry->config, one.task(), limits_)) runs.push_back(judged);
      }
      if (!runs.empty()) problems_.push_back(std::move(runs));
    }
  }

  db::Environment environment(const std::string& family) const {
    const auto known = recording_.environments.find(family);
    return known == recording_.environments.end() ? db::Environment{} : known->second;
  }
  KernelTarget target_of(const Problem& problem) const { return {problem, limits_}; }
  const db::DeviceIdentity& device() const { return recording_.device; }
  const std::vector<std::vector<db::Judged>>& problems() const { return problems_; }

  /// What tells of the problem's type pair, but nothing of its shape; or of its shape, but not of itself.
  std::vector<db::Record> without(const Problem& problem, ChoosingBy by) const {
    std::vector<db::Record> found;
    if (by == ChoosingBy::no_records) return found;
    for (const std::vector<db::Judged>& one : problems_) {
      const Problem& other = one.front().entry->task.problem();
      const bool left_out = by == ChoosingBy::sisters ? other == problem : shape_of(other) == shape_of(problem);
      if (left_out || !runtime::tell_of_each_other(other.type, problem.type)) continue;
      for (const db::Judged& judged : one) found.push_back(*judged.entry);
    }
    return found;
  }

  /// Which of problems() are judged.
  std::vector<std::size_t> judged(ChoosingBy by) const {
    std::map<std::string, std::size_t> families;
    for (const std::vector<db::Judged>& one : problems_)
      ++families[text(plainest_sister(one.front().entry->task.problem()))];
    std::vector<std::size_t> found;
    for (std::size_t i = 0; i < problems_.size(); ++i) {
      if (by != ChoosingBy::sisters ||
          families.at(text(plainest_sister(problems_[i].front().entry->task.problem()))) > 1)
        found.push_back(i);
    }
    return found;
  }

 private:
  const db::Recording& recording_;
  DeviceLimits limits_;
  std::vector<std::vector<db::Judged>> problems_;  // best first
};

SimulatedChoice choose_for(const std::vector<db::Judged>& recorded, const RecordedProblem& all, ChoosingBy by) {
  SimulatedChoice simulated;
  simulated.problem = recorded.front().entry->task.problem();
  simulated.best_us = recorded.front().entry->outcome.timing->median_us;
  std::unordered_map<std::string, double> times;
  for (const db::Judged& one : recorded) times.emplace(one.entry->config.text(), one.entry->outcome.timing->median_us);

  const std::vector<db::Record> records = all.without(simulated.problem, by);
  const KernelTarget target = all.target_of(simulated.problem);
  const runtime::Chooser chooser(
      records, target, [&](const std::string& family) { return all.environment(family); }, &all.device());
  const std::vector<runtime::Choice::RunnerUp> ranking = chooser.candidates(simulated.problem, kMostRanked);
  simulated.generic = ranking.empty();
  for (; simulated.place < ranking.size(); ++simulated.place) {
    if (ranking[simulated.place].last_resort && !ranking.front().last_resort) break;
    const auto time = times.find(ranking[simulated.place].config.text());
    if (time == times.end()) continue;
    simulated.config = ranking[simulated.place].config;
    simulated.us = time->second;
    break;
  }
  return simulated;
}

}  // namespace

std::vector<SimulatedChoice> simulate_choices(const db::Recording& recording, ChoosingBy by,
    const std::atomic<bool>& stop, const std::function<void()>& on_done) {
  const RecordedProblem recorded(recording);
  const std::vector<std::size_t> judged = recorded.judged(by);
  std::vector<SimulatedChoice> choices(judged.size());
  on_all_cores(choices.size(), [&](std::size_t i) {
    if (stop) return;
    choices[i] = choose_for(recorded.problems()[judged[i]], recorded, by);
    on_done();
  });
  return choices;
}

}  // namespace tilesmith::tuner
