#include "tuner/loop/fleet_simulation.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <set>
#include <stdexcept>
#include <utility>

#include "tuner/peaks.hpp"

namespace tilesmith::tuner {
namespace {

constexpr std::size_t kLeastConfigs = 20;   // of a recorded problem
constexpr std::size_t kLeastCandidates = 8; // of a problem, whatever its share
constexpr std::size_t kNearest = 4, kBestsOfEach = 3;
constexpr std::int64_t kMostN = 1 << 20;

std::uint64_t mixed(std::uint64_t x) {  // splitmix64
  x += 0x9E3779B97F4A7C15U;
  x = (x ^ (x >> 30U)) * 0xBF58476D1CE4E5B9U;
  x = (x ^ (x >> 27U)) * 0x94D049BB133111EBU;
  return x ^ (x >> 31U);
}

/// −1 to 1.
double apart(std::uint64_t a, std::uint64_t b) { return double(mixed(a * 0x100000001B3U ^ mixed(b)) >> 11U) / double(std::uint64_t{1} << 52U) - 1; }

double candidate_seconds(double us) { return FleetSimulation::kCandidateSeconds + FleetSimulation::kLaunches * us * 1e-6; }

double distance(const Problem& a, const Problem& b) {
  const auto off = [](std::int64_t x, std::int64_t y) { return std::abs(std::log(double(x) / double(y))); };
  return off(a.m, b.m) + off(a.n, b.n) + off(a.k, b.k);
}

}  // namespace

FleetSimulation::FleetSimulation(const db::Landscape& landscape, std::size_t problems, std::uint64_t seed) : seed_(seed) {
  std::unordered_map<std::string, std::uint32_t> numbers;
  std::map<std::string, Table> by_problem;
  for (const db::Evidence& entry : landscape.entries) {
    if (entry.problem.batch > 1 || entry.problem.m < 1 || entry.problem.n < 1 || entry.problem.k < 1) continue;
    Table& table = by_problem[text(entry.problem)];
    table.problem = entry.problem;
    const std::uint32_t number = numbers.try_emplace(entry.config.text(), std::uint32_t(numbers.size())).first->second;
    if (!table.at.try_emplace(number, table.configs.size()).second) continue;
    table.configs.push_back(number);
    table.us.push_back(entry.outcome.timing ? entry.outcome.timing->median_us : 0);
  }
  for (auto& [name, table] : by_problem) {
    const bool any = std::any_of(table.us.begin(), table.us.end(), [](double us) { return us > 0; });
    if (any && table.configs.size() >= kLeastConfigs) tables_.push_back(std::move(table));
  }
  if (tables_.empty()) throw std::invalid_argument("no problem of the recording has 20 configs and one with a time");

  std::mt19937_64 random(seed);
  workload_.name = "made";
  std::set<std::string> seen;
  for (std::size_t tries = 0; workload_.problems.size() < problems; ++tries) {
    const std::size_t which = random() % tables_.size();
    const double weight = double(1 + random() % 20), wanted = std::exp2(double(random() % 2048) / 1024 - 0.5);  // of N
    const Problem& from = tables_[which].problem;
    const std::int64_t n = std::clamp<std::int64_t>(std::llround(double(from.n) * wanted), 1, kMostN);
    const Problem problem = packed_problem(from.signature(), from.m, n, from.k);
    // Of recorded problems with N of 1 there are few variants.
    if (!seen.insert(text(problem)).second && tries < 20 * problems) continue;
    if (tries >= 20 * problems) throw std::invalid_argument("the recording has too few problems for so many that differ");
    Made made;
    made.table = which;
    made.scale = double(n) / double(from.n);
    made.load = weight * nominal_us(problem);
    made.signature = text(problem.signature());
    made_.push_back(made);
    workload_.problems.push_back({problem, weight});
    for (std::size_t place = 0; place < tables_[which].us.size(); ++place) {
      const double time = us(made_.size() - 1, place);
      double& optimum = made_.back().optimum_us;
      if (time > 0 && (optimum == 0 || time < optimum)) optimum = time;
    }
    seconds_ += kCandidates * candidate_seconds(made_.back().optimum_us);
  }
}

double FleetSimulation::us(std::size_t problem, std::size_t place) const {
  const Made& made = made_[problem];
  const Table& table = tables_[made.table];
  return table.us[place] * made.scale * (1 + kApart * apart(seed_ + problem, table.configs[place]));
}

double FleetSimulation::least_seconds(std::size_t problem) const { return double(kLeastCandidates) * candidate_seconds(nominal_us(workload_.problems[problem].problem)); }

void FleetSimulation::simulate_shard(const std::vector<std::size_t>& problems, double seconds, std::uint64_t repeat, std::vector<double>& best_us) const {
  struct Tuned {
    std::size_t problem;
    std::vector<std::uint32_t> bests;
  };
  std::map<std::string, std::vector<Tuned>> tuned;  // by signature
  double left = seconds, loads = 0, least = 0;
  for (const std::size_t i : problems) {
    loads += made_[i].load;
    least += least_seconds(i);
  }
  for (const std::size_t i : problems) {
    if (!(left > 0)) return;
    const Made& made = made_[i];
    const Table& table = tables_[made.table];
    const double mine = least_seconds(i) + std::max(0.0, left - least) * made.load / loads;
    loads -= made.load;
    least -= least_seconds(i);

    std::vector<std::size_t> order;  // places in the table
    std::vector<char> taken(table.us.size(), 0);
    const auto take = [&](std::size_t place) {
      if (!std::exchange(taken[place], 1)) order.push_back(place);
    };
    std::vector<Tuned>& known = tuned[made.signature];
    std::vector<std::pair<double, std::size_t>> nearest;
    for (std::size_t k = 0; k < known.size(); ++k) nearest.emplace_back(distance(workload_.problems[i].problem, workload_.problems[known[k].problem].problem), k);
    const std::size_t asked = std::min(kNearest, nearest.size());
    std::partial_sort(nearest.begin(), nearest.begin() + std::ptrdiff_t(asked), nearest.end());
    for (std::size_t k = 0; k < asked; ++k) {
      for (const std::uint32_t config : known[nearest[k].second].bests) {
        if (const auto found = table.at.find(config); found != table.at.end()) take(found->second);
      }
    }
    std::vector<std::size_t> rest(table.us.size());
    for (std::size_t place = 0; place < rest.size(); ++place) rest[place] = place;
    std::shuffle(rest.begin(), rest.end(), std::mt19937_64(mixed(seed_ + kRepeats * i + repeat)));
    for (const std::size_t place : rest) take(place);

    double spent = 0;
    std::vector<std::pair<double, std::uint32_t>> times;
    for (const std::size_t place : order) {
      if (spent >= mine || spent >= left) break;
      const double time = us(i, place);
      spent += candidate_seconds(time);
      if (time > 0) times.emplace_back(time, table.configs[place]);
    }
    left -= spent;
    if (times.empty()) continue;
    const std::size_t kept = std::min(kBestsOfEach, times.size());
    std::partial_sort(times.begin(), times.begin() + std::ptrdiff_t(kept), times.end());
    best_us[i] = times.front().first;
    Tuned& one = known.emplace_back(Tuned{i, {}});
    for (std::size_t k = 0; k < kept; ++k) one.bests.push_back(times[k].second);
  }
}

double FleetSimulation::quality(const std::vector<std::size_t>& shard_of, std::size_t count, double seconds) const {
  std::vector<std::vector<std::size_t>> members(count);
  for (std::size_t i = 0; i < shard_of.size(); ++i) members.at(shard_of[i]).push_back(i);
  double reached = 0, all = 0;
  for (std::uint64_t repeat = 0; repeat < kRepeats; ++repeat) {
    std::vector<double> best_us(made_.size(), 0);
    for (const std::vector<std::size_t>& problems : members) simulate_shard(problems, seconds, repeat, best_us);
    for (std::size_t i = 0; i < made_.size(); ++i) {
      all += made_[i].load;
      if (best_us[i] > 0) reached += made_[i].load * made_[i].optimum_us / best_us[i];
    }
  }
  return reached / all;
}

FleetSimulation::Scaled FleetSimulation::scaled(std::size_t count, const Split& split) const {
  const std::vector<std::size_t> shard_of = split(workload_, count);
  Scaled result;
  result.shards = count;
  std::vector<std::size_t> sizes(count, 0);
  std::vector<double> loads(count, 0);
  double all = 0;
  for (std::size_t i = 0; i < shard_of.size(); ++i) {
    ++sizes.at(shard_of[i]);
    loads[shard_of[i]] += made_[i].load;
    all += made_[i].load;
  }
  result.fewest = *std::min_element(sizes.begin(), sizes.end());
  result.most = *std::max_element(sizes.begin(), sizes.end());
  result.fullest = *std::max_element(loads.begin(), loads.end()) * double(count) / all;

  const double wanted = quality(std::vector<std::size_t>(made_.size(), 0), 1, seconds_), ideal = seconds_ / double(count);
  double low = 0.25 * ideal, high = ideal;
  while (high < 64 * ideal && quality(shard_of, count, high) < wanted) {
    low = high;
    high *= 1.5;
  }
  while (high > 1.01 * low) {
    const double middle = std::sqrt(low * high);
    (quality(shard_of, count, middle) < wanted ? low : high) = middle;
  }
  result.seconds = high;
  result.ratio = high / ideal;
  result.quality = quality(shard_of, count, high);
  return result;
}

}  // namespace tilesmith::tuner
