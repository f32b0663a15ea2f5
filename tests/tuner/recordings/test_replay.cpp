#include <stdexcept>

#include "kernels/families/space.hpp"
#include "tests/catch.hpp"
#include "tests/db/bests.hpp"
#include "tuner/loop/tune.hpp"
#include "tuner/recordings/replay_evaluator.hpp"

using namespace tilesmith;
using namespace tilesmith::tuner;

namespace {

const std::atomic<bool> kNeverStop{false};

Problem recorded_problem() { return packed_problem({*find_type_pair("f16f32"), {}}, 256, 256, 256); }

db::Outcome ok(double median_us) {
  db::Timing timing;
  timing.median_us = median_us;
  timing.samples = 9;
  return {db::Status::ok, "", timing};
}

/// The recorded family and another: to enumerate the spaces of all takes seconds.
TuneOptions two_families() {
  TuneOptions options;
  options.families = {"simt", "wmma"};
  return options;
}

/// Every third config of the simt space on an Orin; the sixth recorded one failed, and times fall from one to the next.
db::Recording toy_recording() {
  db::Recording recording;
  recording.device.name = "Recorded Orin";
  recording.device.sm = 87;
  recording.device.sm_count = 16;
  recording.arch = "sm_87";
  recording.environments["simt"] = {"-O", "12.6", "540", "cold-1"};
  const Problem problem = recorded_problem();
  const Family& simt = *find_family("simt");
  const Space space = enumerate_space(simt, {problem, *limits_for_arch("sm_87")});
  for (std::size_t i = 0; i < space.configs.size() && recording.entries.size() < 60; i += 3) {
    if (simt.refusal(space.configs[i], problem)) continue;
    db::Record entry;
    entry.task = problem;
    entry.config = space.configs[i];
    entry.device = recording.device;
    entry.environment = recording.environments["simt"];
    entry.origin = "the-orin";
    const std::size_t n = recording.entries.size();
    if (n == 5) entry.outcome = {db::Status::mismatch, "recorded mismatch", std::nullopt};
    else entry.outcome = ok(1000 - double(n));
    recording.index[text(problem) + "\n" + entry.config.text()] = n;
    recording.entries.push_back(entry);
  }
  return recording;
}

}  // namespace

TEST_CASE("a replay tunes what was recorded, all of it and nothing else, as the recorded device") {
  const db::Recording recording = toy_recording();
  REQUIRE(recording.entries.size() > 6);
  const auto evaluator = make_replay_evaluator(recording);
  CHECK(evaluator->device() == recording.device);
  CHECK(evaluator->limits().arch == "sm_87");
  CHECK(evaluator->environment("simt") == recording.environments.at("simt"));

  db::Store store = db::Store::in_memory();
  const Workload workload{"recorded", {{recorded_problem(), 1}}};
  const TuneResult result = tune(workload, two_families(), *evaluator, store, {}, kNeverStop);
  CHECK(result.ended_how == "done");
  CHECK(result.evaluated == std::int64_t(recording.entries.size()));
  CHECK(result.failed == 1);
  const auto best = db::test::bests_of(store);
  REQUIRE(best.size() == 1);
  CHECK(best[0].record.config == recording.entries.back().config);
  CHECK(best[0].record.device == recording.device);
  CHECK(best[0].record.environment == recording.environments.at("simt"));
  CHECK(best[0].record.origin == "the-orin");  // not the machine that replays

  const TuneResult again = tune(workload, two_families(), *evaluator, store, {}, kNeverStop);
  CHECK(again.evaluated == 0);
  CHECK(again.reused == result.evaluated);
}

TEST_CASE("what a replay stores is what was recorded, once, and no newer than what was measured since") {
  db::Recording recording = toy_recording();
  for (db::Record& entry : recording.entries) {
    entry.created_at = "2026-01-01T00:00:00.000Z";
    entry.run = "recorded-run";
  }
  recording.entries[0].plan_hash = "former";
  db::Record measured = recording.entries.back();  // the fastest that was recorded
  measured.created_at = "2026-02-01T00:00:00.000Z";
  measured.outcome = {db::Status::mismatch, "measured since", std::nullopt};
  db::Store store = db::Store::in_memory();
  store.record(measured);

  const auto evaluator = make_replay_evaluator(recording);
  const Workload workload{"recorded", {{recorded_problem(), 1}}};
  std::string first_run;
  for (int run = 0; run < 2; ++run) {
    const std::string uuid = tune(workload, two_families(), *evaluator, store, {}, kNeverStop).run;
    if (run == 0) first_run = uuid;
    std::vector<db::Record> entries = store.records();
    CHECK(entries.size() ==
          recording.entries.size());  // what is known of the last is valid, and it is not asked for again
    for (const db::Record& entry : entries) {
      const db::Record* recorded = recording.find(entry.task.problem(), entry.config);
      REQUIRE(recorded != nullptr);
      if (entry.config == measured.config) continue;
      CHECK(entry.created_at == "2026-01-01T00:00:00.000Z");
      CHECK(entry.environment == recorded->environment);
      CHECK(entry.run == first_run);  // whose outcomes they are
      CHECK(entry.origin == "the-orin");
    }
    CHECK(db::test::bests_of(store).at(0).record.config == (recording.entries.end() - 2)->config);
  }
}

TEST_CASE("a replay knows only what was recorded, and gives the recorded outcomes in a final benchmark") {
  const db::Recording recording = toy_recording();
  const auto evaluator = make_replay_evaluator(recording);
  const Config& known = recording.entries[2].config;
  CHECK(evaluator->knows(recorded_problem(), known));
  CHECK_FALSE(evaluator->knows(packed_problem({*find_type_pair("f16f32"), {}}, 257, 256, 256), known));
  const Config stranger("simt", {{"none", 1}});
  CHECK_FALSE(evaluator->knows(recorded_problem(), stranger));
  const Config finalists[] = {known, stranger};
  const auto outcomes = evaluator->final_benchmark(recorded_problem(), finalists);
  REQUIRE(outcomes.size() == 2);
  CHECK(outcomes[0].timing->median_us == recording.entries[2].outcome.timing->median_us);
  CHECK(outcomes[1].status == db::Status::illegal);

  CHECK_THROWS_AS(evaluator->next(), std::logic_error);
  evaluator->submit({recorded_problem(), known}, std::nullopt);
  CHECK(evaluator->in_flight() == 1);
  const Evaluated evaluated = evaluator->next();
  CHECK(evaluated.candidate.config == known);
  CHECK(evaluated.outcome.status == db::Status::ok);
  CHECK(evaluator->in_flight() == 0);
}

TEST_CASE("a recording of an unknown architecture is refused in one line") {
  db::Recording recording;
  recording.arch = "sm_12";
  try {
    make_replay_evaluator(recording);
    FAIL("no error");
  } catch (const std::runtime_error& error) {
    CHECK(std::string(error.what()).find("'sm_12': expected one of sm_80") != std::string::npos);
  }
}
