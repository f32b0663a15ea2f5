// What a choice is worth by a recording: what is left out, and what is judged.
#include "tuner/recordings/choice_simulation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <stdexcept>

#include "kernels/families/family.hpp"
#include "tests/catch.hpp"

using namespace tilesmith;
using namespace tilesmith::tuner;

namespace {

Problem problem_of(const std::string& canonical) {
  std::string error;
  const auto parsed = parse_problem(canonical, error);
  if (!parsed) throw std::runtime_error(error);
  return *parsed;
}

/// Three of mma's first configs, the `fastest` of which takes the least.
void record(db::Recording& recording, const std::string& where, std::size_t fastest) {
  const Problem problem = problem_of(where);
  KernelTarget target{problem, *limits_for_arch(recording.arch)};
  const std::vector<Config> configs =
      find_family("mma")->initial_configs(target, as_planned(problem_of("f16f32 NN 512 512 512")));
  for (std::size_t i = 0; i < 3; ++i) {
    db::Record entry;
    entry.task = problem;
    entry.config = configs.at(i);
    entry.device = recording.device;
    entry.environment = recording.environments["mma"];
    db::Timing timing;
    timing.median_us = i == fastest ? 10 : 12;
    timing.samples = 9;
    entry.outcome = {db::Status::ok, "", timing};
    recording.index[text(problem) + "\n" + entry.config.text()] = recording.entries.size();
    recording.entries.push_back(entry);
  }
}

db::Recording empty_recording() {
  db::Recording recording;
  recording.device.name = "Recorded";
  recording.device.sm = 87;
  recording.device.sm_count = 16;
  recording.arch = "sm_87";
  recording.environments["mma"] = {"-O", "12.6", "540", "cold-1"};
  return recording;
}

std::vector<SimulatedChoice> simulated(const db::Recording& recording, ChoosingBy by) {
  const std::atomic<bool> stop{false};
  return simulate_choices(recording, by, stop, [] {});
}

double of_best(const std::vector<SimulatedChoice>& choices, const std::string& where) {
  const auto at = std::ranges::find(choices, problem_of(where), &SimulatedChoice::problem);
  return at == choices.end() ? -1 : at->of_best();
}

}  // namespace

TEST_CASE("by sisters a problem is chosen for with all but its own records, by other shapes without its sisters'") {
  db::Recording recording = empty_recording();
  // On the shape in question the third is fastest, with and without an epilogue; elsewhere the first.
  record(recording, "f16f32 NN 512 512 512", 2);
  record(recording, "f16f32 NN 512 512 512 epilogue=bias_n+gelu", 2);
  record(recording, "f16f32 NN 544 512 512", 0);
  const auto by_sisters = simulated(recording, ChoosingBy::sisters);
  CHECK(by_sisters.size() == 2);  // the third has none
  CHECK(of_best(by_sisters, "f16f32 NN 512 512 512") == 1);
  CHECK(of_best(by_sisters, "f16f32 NN 512 512 512 epilogue=bias_n+gelu") == 1);
  const auto by_others = simulated(recording, ChoosingBy::other_shapes);
  CHECK(by_others.size() == 3);
  CHECK(of_best(by_others, "f16f32 NN 512 512 512") < 1);
  CHECK(of_best(by_others, "f16f32 NN 512 512 512 epilogue=bias_n+gelu") < 1);
  CHECK(simulated(recording, ChoosingBy::no_records).size() == 3);
}

TEST_CASE("another batch count is another shape, and the nearer one is chosen by") {
  db::Recording recording = empty_recording();
  const auto strided = [](int batch) {
    return fmt::format("f16f32 NN 128 128 128 batch={} batch_mode=strided", batch);
  };
  record(recording, strided(64), 2);
  record(recording, strided(60), 2);
  record(recording, "f16f32 NN 128 128 128", 0);
  const auto choices = simulated(recording, ChoosingBy::other_shapes);
  CHECK(choices.size() == 3);
  CHECK(of_best(choices, strided(64)) == 1);
  CHECK(of_best(choices, strided(60)) == 1);
  CHECK(simulated(recording, ChoosingBy::sisters).empty());
}

namespace {

/// The entries of a recording that ships, of some type pairs.
db::Recording shipped(const char* file, const std::function<bool(const TypePair&)>& takes) {
  db::Recording recording = db::load_recording(std::string(TILESMITH_SOURCE_DIR "/db/recorded/") + file);
  std::erase_if(recording.entries, [&](const db::Record& entry) { return !takes(entry.task.problem().type); });
  recording.index.clear();
  return recording;
}

/// What the records of other problems make of each choice, its time without them / with them. Only choices whose very
/// config was recorded are judged: what comes further down a ranking would not have run.
void check_that_evidence_helps(const db::Recording& recording, std::size_t least_judged) {
  const std::vector<SimulatedChoice> without = simulated(recording, ChoosingBy::no_records),
                                     with = simulated(recording, ChoosingBy::other_shapes);
  REQUIRE(without.size() == with.size());
  std::size_t judged = 0;
  double logs = 0;
  for (std::size_t i = 0; i < with.size(); ++i) {
    REQUIRE(with[i].problem == without[i].problem);
    if (with[i].place > 0 || without[i].place > 0 || !(with[i].us > 0) || !(without[i].us > 0)) continue;
    INFO(text(with[i].problem) << ": " << without[i].us << " us without, " << with[i].us << " us with "
                               << with[i].config.text());
    CHECK(with[i].us <= 1.25 * without[i].us);
    logs += std::log(without[i].us / with[i].us);
    ++judged;
  }
  CHECK(judged >= least_judged);
  CHECK(std::exp(logs / double(judged)) >= 0.98);
}

}  // namespace

TEST_CASE(
    "records of other problems do not make a choice slower: weights, batches, groups, gates, sparse, f32, 8 bits") {
  check_that_evidence_helps(shipped("h200_wide.jsonl.zst", [](const TypePair&) { return true; }), 50);
}

TEST_CASE("records of other problems do not make a choice slower: f64 and integers on an H100") {
  const auto takes = [](const TypePair& type) { return type.name == "f64f64" || type.name == "s8s32"; };
  check_that_evidence_helps(shipped("h100.jsonl.zst", takes), 20);
}
