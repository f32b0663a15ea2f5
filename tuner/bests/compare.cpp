#include "tuner/bests/compare.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "db/store/trust.hpp"
#include "tuner/exit_status.hpp"

namespace tilesmith::tuner {
namespace {

using Pairs =
    std::map<std::pair<std::string, std::string>, ComparedProblem>;  // by problem and device, "" across devices

std::set<std::string> devices_of(const std::vector<db::JudgedBest>& bests) {
  std::set<std::string> devices;
  for (const db::JudgedBest& best : bests) devices.insert(db::text(best.record.device));
  return devices;
}

/// What would run stands before what is retired.
bool counts_today(const db::JudgedBest& best) {
  using enum db::Trust;
  return best.trust == db::name(valid) || best.trust == db::name(reverify) || best.trust == db::name(remeasure);
}

bool policies_compare(const db::Environment& a, const db::Environment& b) {
  return a.measuring_policy == b.measuring_policy && !db::is_trial(a);
}

Change change_of(const ComparedProblem& one) {
  if (!one.b) return Change::gone;
  if (!counts_today(*one.b)) return Change::stale;
  if (!one.a) return Change::added;
  if (!policies_compare(one.a->record.environment, one.b->record.environment)) return Change::unlike;
  const double ratio = one.a_us() / one.b_us();
  return ratio > 1 + one.noise ? Change::faster : ratio < 1 / (1 + one.noise) ? Change::slower : Change::same;
}

double spread_of(const std::optional<db::JudgedBest>& best) { return best ? best->record.outcome.timing->spread : 0; }

/// What is lost or won by it, weight × µs; the time itself where only one is known.
double stake(const ComparedProblem& one) {
  const double us = one.speedup() > 0 ? std::abs(one.a_us() - one.b_us()) : std::max(one.a_us(), one.b_us());
  return one.weight * us;
}

}  // namespace

std::string_view name(Change change) {
  constexpr std::string_view kNames[] = {"slower", "stale", "gone", "unlike", "faster", "new", "same"};
  return kNames[std::size_t(change)];
}

std::optional<Change> parse_change(std::string_view text) {
  for (const Change change : kChanges) {
    if (name(change) == text) return change;
  }
  return std::nullopt;
}

double ComparedProblem::speedup() const {
  const bool compares = change == Change::slower || change == Change::faster || change == Change::same;
  return compares && a && b ? a_us() / b_us() : 0;
}

std::size_t Comparison::count(Change change) const {
  return std::size_t(std::count_if(
      problems.begin(), problems.end(), [&](const ComparedProblem& one) { return one.change == change; }));
}

std::size_t Comparison::compared() const { return count(Change::slower) + count(Change::faster) + count(Change::same); }

double Comparison::mean_speedup() const {
  double sum = 0;
  for (const ComparedProblem& one : problems) sum += one.speedup() > 0 ? std::log(one.speedup()) : 0;
  return compared() > 0 ? std::exp(sum / double(compared())) : 0;
}

double Comparison::sum_us(double (ComparedProblem::*side)() const) const {
  double sum = 0;
  for (const ComparedProblem& one : problems) sum += one.speedup() > 0 ? one.weight * (one.*side)() : 0;
  return sum;
}

Comparison compare(
    const std::vector<db::JudgedBest>& a, const std::vector<db::JudgedBest>& b, const CompareOptions& options) {
  const std::set<std::string> of_a = devices_of(a), of_b = devices_of(b);
  Comparison comparison;
  comparison.across_devices = of_a.size() == 1 && of_b.size() == 1 && of_a != of_b;
  const bool shared =
      std::any_of(of_a.begin(), of_a.end(), [&](const std::string& device) { return of_b.contains(device); });
  if (!of_a.empty() && !of_b.empty() && !shared && !comparison.across_devices)
    throw UsageError(
        "--device: the databases share no device, and one of them knows several; expected --device twice, A's first");

  std::map<std::string, double> weights;
  comparison.weighted = options.workload.has_value();
  if (options.workload) {
    for (const WeightedTask& one : options.workload->tasks) weights[text(one.task)] = one.weight;
  }
  Pairs pairs;
  std::set<std::string> seen;
  const auto take = [&](const std::vector<db::JudgedBest>& bests,
                        std::optional<db::JudgedBest> ComparedProblem::*side) {
    for (const db::JudgedBest& best : bests) {
      const std::string problem = text(best.record.task);
      const auto weight = weights.find(problem);
      if (options.workload && weight == weights.end()) continue;
      seen.insert(problem);
      ComparedProblem& one = pairs[{problem, comparison.across_devices ? "" : db::text(best.record.device)}];
      one.problem = best.record.task.problem();
      if (options.workload) one.weight = weight->second;
      if (!(one.*side)) one.*side = best;
    }
  };
  take(a, &ComparedProblem::a);
  take(b, &ComparedProblem::b);

  for (auto& [key, one] : pairs) {
    one.noise = std::max(options.within, std::hypot(spread_of(one.a), spread_of(one.b)));
    one.change = change_of(one);
    comparison.problems.push_back(std::move(one));
  }
  std::stable_sort(
      comparison.problems.begin(), comparison.problems.end(), [](const ComparedProblem& x, const ComparedProblem& y) {
        return std::tuple(x.change, -stake(x)) < std::tuple(y.change, -stake(y));
      });
  comparison.in_neither = options.workload ? weights.size() - seen.size() : 0;
  return comparison;
}

std::string ComparedProblem::because() const {
  if (change == Change::stale) return b->trust;
  if (change != Change::unlike) return "";
  const std::string &of_a = a->record.environment.measuring_policy, &of_b = b->record.environment.measuring_policy;
  return of_a == of_b ? "both timed by a library's trial" : fmt::format("timed by policy {} in A, {} in B", of_a, of_b);
}

std::string words_of(const Comparison& comparison) {
  std::string words;
  for (const Change change : kChanges) {
    const std::size_t count = comparison.count(change);
    if (count == 0) continue;
    std::set<std::string> reasons;
    for (const ComparedProblem& one : comparison.problems) reasons.insert(one.change == change ? one.because() : "");
    reasons.erase("");
    words += fmt::format("{}{} {}", words.empty() ? "" : ", ", count, name(change));
    if (!reasons.empty()) words += fmt::format(" ({})", fmt::join(reasons, "; "));
  }
  if (words.empty()) words = "no problem to compare";
  if (comparison.across_devices) words += "; A and B are of different devices";
  if (comparison.in_neither > 0) words += fmt::format("; {} of the workload in neither", comparison.in_neither);
  if (comparison.compared() == 0) return words;
  return words +
         fmt::format("; of {} that compare B is {:.3f} times as fast (geometric mean) and takes {:.3f} of A's time{}",
             comparison.compared(), comparison.mean_speedup(), comparison.b_us() / comparison.a_us(),
             comparison.weighted ? ", weighted" : "");
}

}  // namespace tilesmith::tuner
