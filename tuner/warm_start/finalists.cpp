#include "tuner/warm_start/finalists.hpp"

#include <algorithm>
#include <set>

#include "tuner/evaluator.hpp"
#include "tuner/measure/timing_policy.hpp"

namespace tilesmith::tuner {

constexpr double kWithin = 1.08;                           // of the fastest's time: another tile's
constexpr std::string_view kEarlyLaunch = "early_launch";  // the parameter of all families that have it

std::vector<std::size_t> in_order_of_time(
    std::span<const Score> time_us, const std::function<Config(std::size_t)>& config_of) {
  std::vector<std::size_t> timed;
  for (std::size_t i = 0; i < time_us.size(); ++i) {
    if (time_us[i]) timed.push_back(i);
  }
  std::sort(timed.begin(), timed.end(), [&](std::size_t a, std::size_t b) {
    if (*time_us[a] != *time_us[b]) return *time_us[a] < *time_us[b];
    return config_of(a).text() < config_of(b).text();
  });
  return timed;
}

std::vector<std::size_t> choose_finalists(
    std::span<const Score> time_us, const std::function<Config(std::size_t)>& config_of, std::size_t most) {
  const std::vector<std::size_t> order = in_order_of_time(time_us, config_of);
  most = std::min(most, order.size());
  std::set<std::size_t> places;  // in that order
  if (most > 1 && !is_short(*time_us[order.front()])) {
    std::set<BlockTile> tiles;
    for (std::size_t place = 0; place < order.size() && tiles.size() < std::max<std::size_t>(most / 2, 1); ++place) {
      if (*time_us[order[place]] > kWithin * *time_us[order.front()]) break;
      if (tiles.insert(block_tile(config_of(order[place]))).second) places.insert(place);
    }
  }
  for (std::size_t place = 0; places.size() < most; ++place) places.insert(place);
  std::vector<std::size_t> finalists;
  for (const std::size_t place : places) finalists.push_back(order[place]);
  return finalists;
}

std::vector<Config> known_finalists(std::span<const KnownCandidate> known, std::size_t most) {
  std::vector<Score> time_us;
  for (const KnownCandidate& one : known) time_us.push_back(score_of(one.outcome));
  std::vector<Config> finalists;
  for (const std::size_t index : choose_finalists(
           time_us, [&](std::size_t i) { return known[i].config; }, most))
    finalists.push_back(known[index].config);
  return finalists;
}

std::vector<Config> former_finalists(std::span<const KnownCandidate> former, std::size_t most) {
  std::vector<Score> time_us, late_us;  // of all, and of those whose launches do not come early
  for (const KnownCandidate& one : former) {
    time_us.push_back(score_of(one.outcome));
    const bool early = one.config.has(kEarlyLaunch) && one.config.at(kEarlyLaunch) != 0;
    late_us.push_back(early ? std::nullopt : time_us.back());
  }
  const auto config_of = [&](std::size_t i) { return former[i].config; };
  const std::vector<std::size_t> fastest = choose_finalists(time_us, config_of, most);
  std::vector<std::size_t> chosen = fastest;
  if (!fastest.empty() && is_short(*time_us[fastest.front()])) {
    chosen.resize(std::min(chosen.size(), most - most / 2));
    const auto fill_up = [&](const std::vector<std::size_t>& from) {
      for (const std::size_t index : from) {
        if (chosen.size() < most && std::ranges::find(chosen, index) == chosen.end()) chosen.push_back(index);
      }
    };
    fill_up(choose_finalists(late_us, config_of, most));
    fill_up(fastest);
  }
  std::vector<Config> finalists;
  for (const std::size_t index : chosen) finalists.push_back(former[index].config);
  return finalists;
}

bool final_benchmark_could_change_choice(std::span<const std::size_t> finalists, std::span<const Score> time_us,
    std::span<const char> was_played_off, const std::function<Config(std::size_t)>& config_of) {
  if (finalists.empty()) return false;
  if (!was_played_off[finalists.front()]) return true;
  if (is_short(*time_us[finalists.front()])) return false;
  std::set<BlockTile> played;
  for (std::size_t i = 0; i < was_played_off.size(); ++i) {
    if (was_played_off[i]) played.insert(block_tile(config_of(i)));
  }
  return std::any_of(finalists.begin(), finalists.end(),
      [&](std::size_t finalist) { return played.count(block_tile(config_of(finalist))) == 0; });
}

}  // namespace tilesmith::tuner
