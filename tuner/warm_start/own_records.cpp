#include "tuner/warm_start/own_records.hpp"

#include <algorithm>
#include <iterator>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "db/store/trust.hpp"
#include "tuner/evaluator.hpp"
#include "tuner/search/sample.hpp"
#include "tuner/warm_start/finalists.hpp"

namespace tilesmith::tuner {
namespace {

constexpr std::size_t kMostVaried = 8;  // of as many configs as a final benchmark takes

using Outcomes = std::map<std::string, std::pair<Config, db::Outcome>>;  // by config text

constexpr double kNever = std::numeric_limits<double>::infinity();

double time_or_never(const db::Outcome& outcome) { return score_of(outcome).value_or(kNever); }

/// Of the latest run that had such an outcome, the fastest.
struct LatestBest {
  std::optional<std::string> run;
  std::string config;  // its text
  double us = kNever;

  /// The latest entry of each config, newest first: what a run timed again, in a final benchmark, is not what it had
  /// for a start.
  void saw(const db::Record& latest, const std::string& as_of_today) {
    const double of_entry = time_or_never(latest.outcome);
    if (of_entry == kNever || (run && *run != latest.run)) return;
    run = latest.run;
    if (of_entry >= us) return;
    us = of_entry;
    config = as_of_today;
  }

  /// Moves it to the front, if it is there.
  void put_first(std::vector<Config>& configs) const {
    const auto place = std::ranges::find(configs, config, &Config::text);
    if (place != configs.end()) std::rotate(configs.begin(), place, std::next(place));
  }
};

/// Those that are ok, fastest first.
std::vector<Config> fastest_first(const Outcomes& outcomes) {
  std::vector<std::pair<double, const Config*>> timed;
  for (const auto& [text, candidate] : outcomes) {
    const auto& [config, outcome] = candidate;
    if (const double us = time_or_never(outcome); us < kNever) timed.emplace_back(us, &config);
  }
  std::stable_sort(timed.begin(), timed.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<Config> configs;
  for (const auto& [median_us, config] : timed) configs.push_back(*config);
  return configs;
}

/// Of the configs that a final benchmark would have, so that tiles which are behind by what a parameter may give them
/// are among them.
std::vector<Config> varied(const Outcomes& tried, const NewValues& values, const Today& today) {
  std::vector<Config> configs;
  std::vector<Score> time_us;
  for (const auto& [text, candidate] : tried) {
    configs.push_back(candidate.first);
    time_us.push_back(score_of(candidate.second));
  }
  std::vector<BlockTile> tiles;  // in the order of their fastest
  std::vector<std::vector<Config>> of_tiles;
  for (const std::size_t index : choose_finalists(
           time_us, [&](std::size_t i) { return configs[i]; }, kMostVaried)) {
    const BlockTile tile = block_tile(configs[index]);
    const auto place = std::size_t(std::ranges::find(tiles, tile) - tiles.begin());
    if (place == tiles.size()) tiles.push_back(tile);
    of_tiles.resize(tiles.size());
    for (const Config& other : values.neighbours(configs[index], *today.parameters(configs[index]))) {
      if (today.config(other)) of_tiles[place].push_back(other);
    }
  }
  // Tiles in turn: one with many values to try would leave no place to the others.
  std::vector<Config> found = in_turns(of_tiles);
  found.resize(std::min(found.size(), kMostVaried));
  return found;
}

}  // namespace

OwnRecords own_records(std::span<const db::Record> newest_first, const Today& today) {
  struct Found {
    KnownCandidate candidate;
    std::size_t entries_since;      // the first of it
    std::set<std::string> origins;  // of its entries
  };
  std::map<std::string, Found> valid;  // by config text; the latest of each candidate
  Outcomes to_reverify, former_times;
  LatestBest latest_to_reverify, latest_former;
  std::set<std::string> of_other_policy;  // of the former: their times compare among themselves
  std::map<std::string, db::Environment> environments;
  std::optional<NewValues> values;
  if (today.first_tried != nullptr) values.emplace(*today.first_tried);
  OwnRecords own;
  std::size_t entries = 0;
  for (const db::Record& entry : newest_first) {
    ++entries;
    if (values) values->saw(entry);
    const auto config = today.config(entry.config);
    if (!config) continue;
    const std::string key = config->text();
    const bool filled_in = config->values().size() != entry.config.values().size();
    const auto environment = environments.try_emplace(config->family());
    if (environment.second) environment.first->second = today.environment(config->family());
    switch (filled_in ? db::Trust::retired : db::judge(entry, environment.first->second)) {
      case db::Trust::valid: {
        Found& known =
            valid.try_emplace(key, Found{{*config, entry.outcome, false, entry.run}, entries, {}}).first->second;
        known.entries_since = entries;
        if (!known.origins.insert(entry.origin).second) known.candidate.repeated = true;
        break;
      }
      case db::Trust::reverify:
        if (to_reverify.try_emplace(key, *config, entry.outcome).second) latest_to_reverify.saw(entry, key);
        break;
      case db::Trust::remeasure:
      case db::Trust::retired:
        if (!former_times.try_emplace(key, *config, entry.outcome).second) break;
        latest_former.saw(entry, key);
        if (entry.environment.measuring_policy != environment.first->second.measuring_policy)
          of_other_policy.insert(key);
        break;
    }
  }
  // A candidate counts once, by the record that is trusted most.
  for (const auto& [key, candidate] : to_reverify) {
    former_times.erase(key);
    of_other_policy.erase(key);
  }
  // The fastest of former times, which compare among themselves; one that was tried again since is known, whatever came
  // of it.
  double best_then = kNever, best_known = kNever;
  bool is_known = true;
  for (const Outcomes* outcomes : {&to_reverify, &former_times}) {
    for (const auto& [key, candidate] : *outcomes) {
      own.former.push_back({candidate.first, candidate.second});
      const double us = of_other_policy.contains(key) ? kNever : time_or_never(candidate.second);
      if (us >= best_then) continue;
      best_then = us;
      is_known = valid.contains(key);
    }
  }
  for (const auto& [key, found] : valid) best_known = std::min(best_known, time_or_never(found.candidate.outcome));
  own.best_is_lost = !is_known && best_then < best_known;
  std::vector<Found> in_order;
  for (auto& [key, found] : valid) {
    to_reverify.erase(key);
    former_times.erase(key);
    in_order.push_back(std::move(found));
  }
  std::stable_sort(in_order.begin(), in_order.end(),
      [](const Found& a, const Found& b) { return a.entries_since > b.entries_since; });
  for (Found& found : in_order) own.known.push_back(std::move(found.candidate));
  own.to_reverify = fastest_first(to_reverify);
  own.former_times = fastest_first(former_times);
  latest_to_reverify.put_first(own.to_reverify);
  latest_former.put_first(own.former_times);
  if (!values) return own;
  Outcomes tried = std::move(former_times);
  tried.merge(to_reverify);
  for (const KnownCandidate& known : own.known) tried.try_emplace(known.config.text(), known.config, known.outcome);
  own.varied = varied(tried, *values, today);
  return own;
}

}  // namespace tilesmith::tuner
