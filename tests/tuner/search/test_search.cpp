#include <algorithm>
#include <set>
#include <string_view>

#include "tests/catch.hpp"
#include "tests/tuner/search/toy_spaces.hpp"
#include "tuner/search/rng.hpp"
#include "tuner/search/strategy.hpp"

using namespace tilesmith;
using namespace tilesmith::tuner;
using namespace tilesmith::tuner::toy;

namespace {

/// A rugged recording of 5 parameters, 8 values each: a bowl with ridges, a third of it failing.
Space rugged_space() {
  Space space;
  space.family = "rugged";
  std::vector<int> values{0, 1, 2, 3, 4, 5, 6, 7};
  for (const char* name : {"a", "b", "c", "d", "e"}) space.parameters.push_back({name, values, ""});
  for (int code = 0; code < 8 * 8 * 8 * 8 * 8; ++code) {
    Config config("rugged",
        {{"a", code >> 12}, {"b", code >> 9 & 7}, {"c", code >> 6 & 7}, {"d", code >> 3 & 7}, {"e", code & 7}});
    if ((config.at("a") + config.at("c")) % 5 != 4) space.configs.push_back(std::move(config));
  }
  return space;
}

Score rugged_score(const Config& config) {
  double cost = 20;
  int i = 0;
  unsigned hash = 17;
  for (const auto& [name, value] : config.values()) {
    const double off = value - (2 + i % 3);
    cost += off * off * (1 + 0.3 * i++);
    hash = hash * 31 + unsigned(value);
  }
  if (hash % 3 == 0) return std::nullopt;
  return cost * (1 + 0.1 * double(hash % 7));
}

double best_after(
    std::string_view strategy_name, const SearchSpace& space, std::uint64_t seed, int evaluations, std::size_t width) {
  const auto strategy = make_strategy(strategy_name, space, seed);
  double best = 1e9;
  for (int done = 0; done < evaluations;) {
    for (const std::size_t index : strategy->ask(width)) {
      const Score score = rugged_score(space.config(index));
      if (score) best = std::min(best, *score);
      strategy->observe(index, score);
      ++done;
    }
  }
  return best;
}

}  // namespace

TEST_CASE("every strategy proposes each config of the space exactly once, whatever the batch, then is done") {
  const SearchSpace space({toy_space(), line_space()});
  for (const StrategyInfo& info : strategies()) {
    for (const std::size_t width : {1, 7}) {
      const auto strategy = make_strategy(info.name, space, 3);
      std::set<std::size_t> seen;
      std::vector<std::size_t> late;  // results come back one batch later
      while (!strategy->done()) {
        const auto batch = strategy->ask(width);
        REQUIRE(batch.size() <= width);
        REQUIRE((!batch.empty() || !late.empty()));
        for (const std::size_t index : late)
          strategy->observe(index, index % 3 == 0 ? Score{} : Score(1.0 + double(index % 50)));
        for (const std::size_t index : batch) REQUIRE(seen.insert(index).second);
        late = batch;
      }
      CHECK(seen.size() == space.size());
      CHECK(strategy->ask(5).empty());
    }
  }
}

TEST_CASE("seeds come first, in order, without repetitions or strangers") {
  const SearchSpace space({toy_space()});
  for (const StrategyInfo& info : strategies()) {
    const auto strategy = make_strategy(info.name, space, 1, {{9, 4, 9, 100000, 30}});
    strategy->observe(4, 5.0);  // known from elsewhere
    const auto first = strategy->ask(2);
    CHECK(first == std::vector<std::size_t>{9, 30});
    CHECK(strategy->ask(1).size() == 1);
  }
}

TEST_CASE("once ten configs have a time, one proposal in three is a seed, and none is lost") {
  const SearchSpace space({toy_space()});
  std::vector<std::size_t> seeds;
  for (std::size_t i = 0; i < space.size() && seeds.size() < 40; i += 2) seeds.push_back(i);
  for (const StrategyInfo& info : strategies()) {
    const auto strategy = make_strategy(info.name, space, 1, {seeds});
    std::size_t next = 0;  // of the initial configs
    for (std::size_t timed = 0; timed < 10; ++next) {
      REQUIRE(strategy->ask(1) == std::vector<std::size_t>{seeds[next]});
      const bool failed = next % 4 == 3;  // which proves nothing of the initial configs
      strategy->observe(seeds[next], failed ? Score{} : Score(100.0 - double(next)));
      if (!failed) ++timed;
    }
    std::set<std::size_t> proposed(seeds.begin(), seeds.begin() + std::ptrdiff_t(next));
    for (int turn = 0; turn < 12; ++turn) {
      const auto asked = strategy->ask(1);
      REQUIRE(asked.size() == 1);
      while (turn % 3 == 0 && proposed.contains(seeds[next])) ++next;  // the strategy came to it by itself
      if (turn % 3 == 0) CHECK(asked[0] == seeds[next]);
      proposed.insert(asked[0]);
      strategy->observe(asked[0], 200.0);
    }
    while (!strategy->done()) {
      for (const std::size_t index : strategy->ask(5)) {
        proposed.insert(index);
        strategy->observe(index, 200.0);
      }
    }
    CHECK(proposed.size() == space.size());
  }
}

TEST_CASE("of many seeds no more are in flight than are timed while own proposals are compiled") {
  const SearchSpace space({toy_space()});
  std::vector<std::size_t> seeds;
  for (std::size_t i = 0; seeds.size() < 60; ++i) seeds.push_back(i);
  REQUIRE(space.size() > 100);
  for (const StrategyInfo& info : strategies()) {
    const auto strategy = make_strategy(info.name, space, 1, {seeds});
    CHECK(strategy->ask(34) == std::vector<std::size_t>(seeds.begin(), seeds.begin() + 22));
    CHECK(strategy->ask(34).empty());
    for (std::size_t i = 0; i < 9; ++i) strategy->observe(seeds[i], 100.0);
    CHECK(strategy->ask(34).empty());
    strategy->observe(seeds[9], std::nullopt);  // a failure is made up for
    CHECK(strategy->ask(34) == std::vector<std::size_t>{seeds[22]});
    strategy->observe(seeds[10], 100.0);
    CHECK(strategy->ask(12).size() == 12);
    // What failed before makes no room for more.
    const auto resumed = make_strategy(info.name, space, 1, {seeds});
    for (std::size_t i = 60; i < 100; ++i) resumed->observe(i, std::nullopt);
    CHECK(resumed->ask(34).size() == 22);
    // Nor does a search end where all fail.
    const auto unlucky = make_strategy(info.name, space, 1, {seeds});
    std::size_t proposed = 0;
    while (!unlucky->done()) {
      const auto batch = unlucky->ask(34);
      REQUIRE(!batch.empty());
      proposed += batch.size();
      for (const std::size_t index : batch) unlucky->observe(index, std::nullopt);
    }
    CHECK(proposed == space.size());
  }
}

TEST_CASE("what is known of slower configs keeps no guess back where what was best is lost") {
  const SearchSpace space({toy_space()});
  std::vector<std::size_t> seeds;
  for (std::size_t i = 0; seeds.size() < 60; ++i) seeds.push_back(i);
  for (const StrategyInfo& info : strategies()) {
    const auto begun = make_strategy(info.name, space, 1, {seeds, {}, true});
    const auto resumed = make_strategy(info.name, space, 1, {seeds, {}, false});
    for (std::size_t i = 60; i < 90; ++i) {
      begun->observe(i, 200.0 + double(i * 7 % 30));
      resumed->observe(i, 200.0 + double(i * 7 % 30));
    }
    CHECK(begun->ask(34) == std::vector<std::size_t>(seeds.begin(), seeds.begin() + 22));
    for (std::size_t i = 0; i < 10; ++i) begun->observe(seeds[i], 100.0 + double(i * 7 % 10));
    for (const auto& strategy : {begun.get(), resumed.get()}) {
      const std::vector<std::size_t> batch = strategy->ask(12);
      INFO(info.name << " from " << batch.front() << " to " << batch.back());
      REQUIRE(batch.size() == 12);
      const bool initial_alone = std::is_sorted(batch.begin(), batch.end()) && batch.back() - batch.front() == 11;
      CHECK(initial_alone == (info.name == "exhaustive"));  // which goes by the same order
    }
  }
}

TEST_CASE("what was observed from elsewhere is never proposed") {
  const SearchSpace space({toy_space()});
  for (const StrategyInfo& info : strategies()) {
    const auto strategy = make_strategy(info.name, space, 1);
    for (std::size_t i = 0; i < space.size(); i += 2) strategy->observe(i, i % 4 == 0 ? Score{} : Score(double(i) + 1));
    while (!strategy->done()) {
      for (const std::size_t index : strategy->ask(5)) {
        REQUIRE(index % 2 == 1);
        strategy->observe(index, std::nullopt);
      }
    }
  }
}

TEST_CASE("equal seeds give equal searches, other seeds others") {
  const SearchSpace space({toy_space()});
  const auto sequence = [&](std::string_view name, std::uint64_t seed) {
    const auto strategy = make_strategy(name, space, seed);
    std::vector<std::size_t> all;
    for (int i = 0; i < 40; ++i) {
      for (const std::size_t index : strategy->ask(2)) {
        all.push_back(index);
        strategy->observe(index, 1.0 + double(index * 7 % 31));
      }
    }
    return all;
  };
  for (const StrategyInfo& info : strategies()) {
    CHECK(sequence(info.name, 5) == sequence(info.name, 5));
    if (info.name != "exhaustive") CHECK(sequence(info.name, 5) != sequence(info.name, 6));
  }
}

TEST_CASE("scores that are no positive number count as failed") {
  const SearchSpace space({toy_space()});
  for (const StrategyInfo& info : strategies()) {
    const auto strategy = make_strategy(info.name, space, 1);
    for (std::size_t i = 0; i < 10; ++i) strategy->observe(i, i % 2 == 0 ? Score(std::nan("")) : Score(-1.0));
    CHECK(strategy->ask(3).size() == 3);
  }
}

TEST_CASE("after its first sample local proposes neighbours of the best, single steps first") {
  const SearchSpace space({toy_space()});
  const auto strategy = make_strategy("local", space, 1);
  const std::size_t best = *space.index_of(toy::ToyFamily::config(4, 4, 2));
  for (std::size_t i = 0, n = 0; n < 9; ++i, ++n) strategy->observe(i, 100.0);
  strategy->observe(best, 1.0);
  const auto around = space.neighbourhood(best);
  const auto asked = strategy->ask(around.adjacent.size());
  CHECK(std::is_permutation(asked.begin(), asked.end(), around.adjacent.begin(), around.adjacent.end()));
  for (const std::size_t index : strategy->ask(3)) CHECK(differing(space.config(index), space.config(best)) == 1);
}

TEST_CASE("where there are estimates local takes the neighbours in their order, and forest goes by them") {
  const SearchSpace space({toy_space()});
  const std::size_t best = *space.index_of(toy::ToyFamily::config(4, 4, 2));
  const auto estimate = [](std::size_t index) { return double(index * 7919 % 101); };
  std::vector<std::size_t> expected = space.neighbours(best);
  std::sort(expected.begin(), expected.end(), [&](std::size_t a, std::size_t b) { return estimate(a) < estimate(b); });
  const auto proposals = [&](std::string_view name, const Hints& hints) {
    const auto strategy = make_strategy(name, space, 1, hints);
    for (std::size_t i = 0, known = 0; known < 12; ++i) {
      if (std::count(expected.begin(), expected.end(), i) > 0 || i == best) continue;
      strategy->observe(i, 100.0);
      ++known;
    }
    strategy->observe(best, 1.0);
    return strategy->ask(expected.size());
  };
  CHECK(proposals("local", {{}, estimate}) == expected);
  CHECK(proposals("local", {}) != expected);
  CHECK(proposals("forest", {{}, estimate}) != proposals("forest", {}));
}

TEST_CASE("local beats random on a rugged recording, on average over seeds, alone and in batches") {
  const SearchSpace space({rugged_space()});
  for (const std::size_t width : {1, 8}) {
    double local = 0, random = 0;
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
      local += best_after("local", space, seed, 300, width);
      random += best_after("random", space, seed, 300, width);
    }
    INFO("width " << width << ": local " << local / 20 << ", random " << random / 20);
    CHECK(local < 0.93 * random);
  }
}

TEST_CASE("an unknown strategy gives none, and an empty space is done at once") {
  const SearchSpace empty(std::vector<Space>{});
  CHECK(make_strategy("gradient", empty, 1) == nullptr);
  for (const StrategyInfo& info : strategies()) {
    const auto strategy = make_strategy(info.name, empty, 1, {{0}});
    CHECK(strategy->done());
    CHECK(strategy->ask(4).empty());
  }
}

TEST_CASE("seeded draws are the same everywhere and reach every value below the bound") {
  Rng rng(1);
  std::vector<int> counts(6, 0);
  for (int i = 0; i < 6000; ++i) ++counts[rng.below(6)];
  for (const int count : counts) CHECK((count > 850 && count < 1150));
  CHECK(Rng(7).below(1) == 0);
  // The engine's values are fixed by the C++ standard: the 10000th of the default seed is this.
  std::mt19937_64 engine;
  engine.discard(9999);
  CHECK(engine() == 9981545732273789042ull);
}
