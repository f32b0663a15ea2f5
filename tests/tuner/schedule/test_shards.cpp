// Parts of a workload for tuners that know nothing of each other.
#include <algorithm>
#include <map>
#include <numeric>
#include <random>
#include <set>

#include "tests/catch.hpp"
#include "tuner/peaks.hpp"
#include "tuner/schedule/shards.hpp"

using namespace tilesmith;
using tuner::Workload;

namespace {

/// Layers of some models by the rows of a batch: what workloads look like.
Workload layers(std::size_t count) {
  Workload workload{"layers", {}};
  std::mt19937_64 random(7);
  const std::int64_t widths[] = {768, 1024, 2048, 4096, 5120, 8192, 11008, 14336, 28672};
  std::set<std::string> seen;
  while (workload.tasks.size() < count) {
    const char* const type = random() % 4 == 0 ? "bf16f32" : "f16f32";
    const Problem problem = packed_problem({*find_type_pair(type), {false, random() % 2 == 0}},
        std::int64_t(1 + random() % 4096), widths[random() % 9], widths[random() % 9]);
    if (seen.insert(text(problem)).second) workload.tasks.push_back({problem, double(1 + random() % 20)});
  }
  return workload;
}

std::vector<std::int64_t> sums_of(const Workload& workload, std::size_t count) {
  const auto loads = tuner::loads_of(workload, tuner::nominal_us);
  const auto parts = tuner::shards_of(workload, count, tuner::nominal_us);
  std::vector<std::int64_t> sums(count, 0);
  for (std::size_t i = 0; i < parts.size(); ++i) sums.at(parts[i]) += loads[i];
  return sums;
}

}  // namespace

TEST_CASE("shards are a partition of the workload, in its order") {
  const Workload workload = layers(200);
  std::set<std::string> seen;
  for (std::size_t i = 0; i < 7; ++i) {
    const Workload part = tuner::part_of(workload, {i, 7}, tuner::nominal_us);
    CHECK(part.name == "layers");
    std::size_t at = 0;
    for (const auto& one : part.tasks) {
      CHECK(seen.insert(text(one.task.problem())).second);
      while (at < workload.tasks.size() && !(workload.tasks[at].task.problem() == one.task.problem())) ++at;
      CHECK(at < workload.tasks.size());
    }
  }
  CHECK(seen.size() == 200);
}

TEST_CASE("which shard a problem is in does not depend on the order of the lines") {
  const Workload workload = layers(300);
  Workload mixed = workload;
  std::shuffle(mixed.tasks.begin(), mixed.tasks.end(), std::mt19937_64(3));
  std::map<std::string, std::size_t> of;
  const auto parts = tuner::shards_of(workload, 16, tuner::nominal_us),
             of_mixed = tuner::shards_of(mixed, 16, tuner::nominal_us);
  for (std::size_t i = 0; i < parts.size(); ++i) of[text(workload.tasks[i].task.problem())] = parts[i];
  for (std::size_t i = 0; i < parts.size(); ++i) CHECK(of.at(text(mixed.tasks[i].task.problem())) == of_mixed[i]);
}

TEST_CASE("shards are even by weight x time") {
  for (const std::size_t count : {2, 8, 64}) {
    const std::vector<std::int64_t> sums = sums_of(layers(2000), count);
    const auto [least, most] = std::minmax_element(sums.begin(), sums.end());
    INFO(count << " shards, " << *least << " to " << *most);
    // Single problems are moved, none are split or exchanged: of 64 parts, 31 problems each, one may be left with two
    // heavy ones.
    CHECK(double(*most) <= (count == 64 ? 1.1 : 1.021) * 2000e6 / double(count));
    CHECK(double(*least) >= 0.9 * 2000e6 / double(count));
  }
}

TEST_CASE("a problem that outweighs a shard has one to itself, nearly") {
  Workload workload = layers(40);
  workload.tasks[5].weight = 1e6;
  const std::vector<std::size_t> parts = tuner::shards_of(workload, 4, tuner::nominal_us);
  const auto beside = std::count(parts.begin(), parts.end(), parts[5]);
  CHECK(beside == 1);
  std::set<std::size_t> used(parts.begin(), parts.end());
  CHECK(used.size() == 4);
}

TEST_CASE("similar problems stay together") {
  const Workload workload = layers(2000);
  const auto parts = tuner::shards_of(workload, 8, tuner::nominal_us);
  // Of the problems that share signature, N and K, nearly all lie in one shard or two.
  std::map<std::string, std::map<std::size_t, int>> families;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const Problem& p = workload.tasks[i].task.problem();
    ++families[text(p.signature()) + std::to_string(p.n) + "x" + std::to_string(p.k)][parts[i]];
  }
  int together = 0, all = 0;
  for (const auto& [name, counts] : families) {
    int most = 0;
    for (const auto& [part, count] : counts) {
      most = std::max(most, count);
      all += count;
    }
    together += most;
  }
  CHECK(together >= 0.9 * all);
}

TEST_CASE("there may be more shards than problems") {
  const Workload workload = layers(3);
  std::size_t found = 0;
  for (std::size_t i = 0; i < 10; ++i) found += tuner::part_of(workload, {i, 10}, tuner::nominal_us).tasks.size();
  CHECK(found == 3);
  CHECK(tuner::part_of(Workload{}, {0, 2}, tuner::nominal_us).tasks.empty());
}
