// Which candidates are played off: the fastest, and of long launches other tiles too.
#include <string>
#include <vector>

#include "tests/catch.hpp"
#include "tuner/warm_start/finalists.hpp"

using namespace tilesmith;
using namespace tilesmith::tuner;

namespace {

struct Timed {
  int block_m, block_n, stages;
  Score us;
};

Config config(const Timed& timed) {
  return Config("toy", {{"block_m", timed.block_m}, {"block_n", timed.block_n}, {"stages", timed.stages}});
}

std::vector<std::size_t> finalists(const std::vector<Timed>& candidates, std::size_t most) {
  std::vector<Score> time_us;
  for (const Timed& candidate : candidates) time_us.push_back(candidate.us);
  return choose_finalists(
      time_us, [&](std::size_t i) { return config(candidates[i]); }, most);
}

/// Eight of one tile, then one of another, one further off, one too far and one that failed.
std::vector<Timed> one_tile_ahead(double unit_us) {
  std::vector<Timed> candidates;
  for (int stages = 1; stages <= 8; ++stages) candidates.push_back({256, 176, stages, unit_us * (1 + 0.001 * stages)});
  candidates.push_back({128, 176, 4, unit_us * 1.03});
  candidates.push_back({128, 160, 4, unit_us * 1.08});
  candidates.push_back({128, 128, 4, unit_us * 1.09});
  candidates.push_back({64, 64, 4, std::nullopt});
  return candidates;
}

}  // namespace

TEST_CASE("of long launches the fastest of other tiles play off too unless they are far behind") {
  CHECK(finalists(one_tile_ahead(300), 8) == std::vector<std::size_t>{0, 1, 2, 3, 4, 5, 8, 9});
}

TEST_CASE("of short launches the fastest play off whatever their tiles") {
  CHECK(finalists(one_tile_ahead(10), 8) == std::vector<std::size_t>{0, 1, 2, 3, 4, 5, 6, 7});
}

TEST_CASE("other tiles take at most half of the places") {
  std::vector<Timed> candidates;
  for (int i = 0; i < 8; ++i) candidates.push_back({128, 128, i, 100 + 0.1 * i});
  for (int i = 0; i < 8; ++i) candidates.push_back({64, 8 * (i + 1), 1, 101.0 + 0.1 * i});
  CHECK(finalists(candidates, 8) == std::vector<std::size_t>{0, 1, 2, 3, 4, 8, 9, 10});
  CHECK(finalists(candidates, 2) == std::vector<std::size_t>{0, 1});
  CHECK(finalists(candidates, 3) == std::vector<std::size_t>{0, 1, 2});
  CHECK(finalists(candidates, 4) == std::vector<std::size_t>{0, 1, 2, 8});
}

TEST_CASE("a space of fewer candidates plays off whole with the fastest first") {
  CHECK(finalists({{64, 64, 1, 70.0}, {64, 64, 2, std::nullopt}, {64, 64, 3, 60.0}}, 8) ==
        std::vector<std::size_t>{2, 0});
  CHECK(finalists({{64, 64, 1, std::nullopt}}, 8).empty());
  // Equal times stand in the order of their text.
  CHECK(finalists({{64, 64, 2, 70.0}, {64, 64, 1, 70.0}}, 8) == std::vector<std::size_t>{1, 0});
}

TEST_CASE("configs without a tile play off by time") {
  const std::vector<Score> time_us{100.0, 101.0, 102.0};
  const auto config_of = [](std::size_t i) { return Config("rows", {{"threads", 32 << i}}); };
  CHECK(choose_finalists(time_us, config_of, 2) == std::vector<std::size_t>{0, 1});
}

TEST_CASE("long launches are played off again when a tile of the finalists has never been played") {
  const auto worthwhile = [](double unit_us, const std::vector<std::size_t>& played, std::size_t most) {
    const std::vector<Timed> candidates = one_tile_ahead(unit_us);
    std::vector<Score> time_us;
    for (const Timed& candidate : candidates) time_us.push_back(candidate.us);
    const auto config_of = [&](std::size_t i) { return config(candidates[i]); };
    std::vector<char> was_played_off(candidates.size(), 0);
    for (const std::size_t i : played) was_played_off[i] = 1;
    return final_benchmark_could_change_choice(
        choose_finalists(time_us, config_of, most), time_us, was_played_off, config_of);
  };
  CHECK(worthwhile(300, {}, 8));
  CHECK(worthwhile(300, {1, 2, 8, 9}, 8));        // not the fastest
  CHECK(worthwhile(300, {0, 1, 2, 3, 4}, 8));     // of one tile, as fewer finalists had been
  CHECK(worthwhile(300, {0, 1, 2, 3, 4, 8}, 8));  // 128×160 is among the finalists too
  CHECK_FALSE(worthwhile(300, {0, 8, 9}, 8));
  CHECK_FALSE(worthwhile(300, {0, 1, 2, 3}, 2));    // two finalists: no other tile is asked for
  CHECK_FALSE(worthwhile(10, {0, 1, 2, 3, 4}, 8));  // short launches: the fastest was
}

TEST_CASE(
    "what a former policy timed is played off again by its times, of short launches half of it without early launches") {
  std::vector<KnownCandidate> former;
  const auto add = [&](int stages, int early, double us) {
    Config config("toy", {{"block_m", 64}, {"block_n", 64}, {"stages", stages}, {"early_launch", early}});
    former.push_back({config, {db::Status::ok, "", db::Timing{us, 0.01, 20, 0, 0, 0, 1}}});
  };
  for (int stages = 1; stages <= 9; ++stages) add(stages, 1, 5 + 0.01 * stages);
  for (int stages = 1; stages <= 9; ++stages) add(stages, 0, 6 + 0.01 * stages);
  former.push_back({Config("plain", {{"stages", 1}}), {db::Status::ok, "", db::Timing{6.005, 0.01, 20, 0, 0, 0, 1}}});
  former.push_back({Config("plain", {{"stages", 2}}), {db::Status::mismatch, "wrong", {}}});

  const std::vector<Config> chosen = former_finalists(former, 7);
  REQUIRE(chosen.size() == 7);
  for (int i = 0; i < 4; ++i) CHECK(chosen[std::size_t(i)] == former[std::size_t(i)].config);
  CHECK(chosen[4] == Config("plain", {{"stages", 1}}));  // a family that has no such launches
  CHECK(chosen[5] == former[9].config);
  CHECK(chosen[6] == former[10].config);
  // Where nothing else is on record, they have all places; and of a few all play.
  CHECK(former_finalists(std::span(former).first(9), 6).size() == 6);
  CHECK(former_finalists(std::span(former).first(2), 12).size() == 2);
  CHECK(former_finalists({}, 12).empty());
  for (KnownCandidate& one : former) {
    if (one.outcome.timing) one.outcome.timing->median_us *= 100;
  }
  CHECK(former_finalists(former, 4) ==
        std::vector{former[0].config, former[1].config, former[2].config, former[3].config});
}
