// tilesmith tune on several devices, which recordings stand for: one supervising process, a tuner process for each.
#include <fmt/format.h>

#include <algorithm>

#include "tests/catch.hpp"
#include "tests/tuner/several_devices.hpp"

using namespace tilesmith;
using namespace tilesmith::tests;

TEST_CASE("devices of one model share the problems, and the records, record and summary are of all") {
  const TempFolder folder;
  prepare(folder, 6, 20);
  const Finished result =
      run(folder, tune_on({"h200.jsonl", "h200.jsonl"}, {"--record", "again.jsonl", "--log", "tune.log"}));
  INFO(result.err);
  REQUIRE(result.status == 0);
  CHECK(contains(result.err, "tuning 6 problems of workload workload on NVIDIA H200 (device 0, 1) (replayed)"));
  CHECK(contains(result.err, "ended: done; 6 of 6 problems had their time slice on NVIDIA H200"));
  for (int i = 1; i <= 6; ++i)
    CHECK(occurrences(result.err, fmt::format("[{}/6] f16f32 NN 64 64 {}: best", i, 64 * i)) == 1);
  for (const char* device : {"[device 0] ", "[device 1] "}) {
    CHECK(contains(result.err, device));
    CHECK(contains(read_file(folder / "tune.log"), device));
  }
  CHECK(contains(read_file(folder / "tune.log"), "mismatch"));  // every outcome of every tuner
  CHECK_FALSE(contains(result.err, "mismatch"));
  CHECK(occurrences(result.out, "NVIDIA H200") == 1);
  CHECK(occurrences(result.out, "exact") == 6);
  const auto counts = tries(folder);
  CHECK(counts.size() == 6 * 20);
  CHECK(each_once(counts));
  CHECK(db::load_recording(folder / "again.jsonl").entries.size() == 6 * 20);

  const db::Store store = db::Store::open_read_only(folder / "tuned.db");
  REQUIRE(store.runs().size() == 2);
  for (const db::Run& one : store.runs()) {
    CHECK(one.ended_how == "done");
    CHECK_FALSE(contains(one.command, "all"));
    CHECK_FALSE(contains(one.command, "--board"));
    CHECK(contains(one.command, "--device "));
  }
  const Finished again = run(folder, tune_on({"h200.jsonl", "h200.jsonl"}));
  CHECK(again.status == 0);
  CHECK(tries(folder) == counts);
}

TEST_CASE("devices of different models tune every problem each") {
  const TempFolder folder;
  prepare(folder, 3, 10);
  const Finished result =
      run(folder, tune_on({"h200.jsonl", "h100.jsonl", "h200.jsonl"}, {"--record", "again.jsonl.zst"}));
  INFO(result.err);
  REQUIRE(result.status == 0);
  CHECK(contains(result.err, "NVIDIA H200 (device 0, 2) and NVIDIA H100 (device 1)"));
  CHECK(occurrences(result.err, "had their time slice on") == 2);
  CHECK(occurrences(result.out, "exact") == 6);
  const auto counts = tries(folder);
  CHECK(counts.size() == 2 * 3 * 10);
  CHECK(each_once(counts));
  CHECK(db::load_recording(folder / "again.device0.jsonl.zst").device.name == "NVIDIA H200");
  CHECK(db::load_recording(folder / "again.device1.jsonl.zst").device.name == "NVIDIA H100");
  CHECK_FALSE(std::filesystem::exists(folder / "again.jsonl.zst"));
}

TEST_CASE("a part of the devices is named by their ordinals") {
  const TempFolder folder;
  prepare(folder, 2, 5);
  const std::vector<std::string> recordings{"h200.jsonl", "h100.jsonl", "h200.jsonl"};
  const auto with_device = [&](const std::string& device) {
    std::vector<std::string> arguments = tune_on(recordings);
    *std::find(arguments.begin(), arguments.end(), "all") = device;
    return run(folder, arguments);
  };
  const Finished two = with_device("0,2");
  CHECK(two.status == 0);
  CHECK(contains(two.err, "NVIDIA H200 (device 0, 2)"));
  const Finished one = with_device("1");  // no supervisor
  CHECK(one.status == 0);
  CHECK(contains(one.err, "on NVIDIA H100 (replayed)"));
  CHECK_FALSE(contains(one.err, "[device"));
  for (const char* bad : {"3", "0,9", "0,0", "x", "-1", "", ",", "0 1"}) {
    const Finished refused = with_device(bad);
    INFO(bad << ": " << refused.err);
    CHECK(refused.status == 2);
    CHECK(contains(refused.err, "--device"));
    CHECK(lines_of(refused.err) == 1);
  }
}

TEST_CASE("a recording that has none of the problems is left out where another one has them, and refused alone") {
  const TempFolder folder;
  prepare(folder, 2, 5);
  db::Store others = db::Store::in_memory();
  for (const db::Record& entry : made_record({packed_problem({*find_type_pair("f16f32"), {}}, 8, 8, 8)}, 3))
    others.record(entry);
  db::save_recording(others, {}, folder / "others.jsonl");
  const Finished first = run(folder, tune_on({"others.jsonl", "h200.jsonl"}));
  INFO(first.err);
  CHECK(first.status == 0);
  CHECK(contains(first.err,
      "'others.jsonl': the recording has no outcome of any of the 2 problems; expected some of its 1 problem, "
      "such as f16f32 NN 8 8 8; left out"));
  CHECK(tries(folder).size() == 2 * 5);
  const Finished several = run(folder, tune_on({"h200.jsonl", "others.jsonl", "h100.jsonl"}));
  CHECK(several.status == 0);
  CHECK(tries(folder).size() == 2 * 2 * 5);
  const Finished none = run(folder, tune_on({"others.jsonl", "others.jsonl"}));
  CHECK(none.status == 2);
  CHECK(lines_of(none.err) == 1);
}

TEST_CASE("what several devices need is said before anything is written") {
  const TempFolder folder;
  prepare(folder, 2, 5);
  std::vector<std::string> no_database = tune_on({"h200.jsonl", "h200.jsonl"});
  no_database.erase(std::find(no_database.begin(), no_database.end(), "--db"),
      std::find(no_database.begin(), no_database.end(), "--replay"));
  const Finished refused = run(folder, no_database);
  CHECK(refused.status == 2);
  CHECK(contains(refused.err, "--db FILE"));
  CHECK(lines_of(refused.err) == 1);
  const Finished absent = run(folder, {"tune", "--device", "all", "--shape", "64"});
  CHECK(absent.status == 2);
  CHECK(contains(absent.err, "no GPU here"));
  const Finished alone = run(folder, tune_on({"h200.jsonl"}, {"--board"}));
  CHECK(alone.status == 2);
  CHECK(contains(alone.err, "--board: descriptor 3 is no board of slices"));
  const Finished dry = run(folder, tune_on({"h200.jsonl", "h100.jsonl"}, {"--dry-run"}));
  CHECK(dry.status == 0);
  CHECK(contains(dry.out, "on 2 devices of sm_90a"));
  CHECK_FALSE(std::filesystem::exists(folder / "tuned.db"));
}

TEST_CASE("Ctrl-C ends the tuners of all devices in order, and the next run goes on where they stopped") {
  const TempFolder folder;
  prepare(folder, 8, 120);
  std::optional<db::TaskLock> held = lock_last(folder, 8);
  Started started(folder, tune_on({"h200.jsonl", "h200.jsonl"}, {"--verbose"}));
  REQUIRE(await([&] { return both_work(started); }));
  const std::vector<pid_t> tuners = children_of(started.pid());
  CHECK(tuners.size() == 2);
  started.signal(SIGINT);
  const Finished result = started.wait();
  INFO(result.err.substr(result.err.size() > 2000 ? result.err.size() - 2000 : 0));
  CHECK(result.status == 130);
  CHECK(contains(result.err, "\n[device 0] "));
  CHECK(occurrences(result.err, "ended: interrupted") == 3);  // two tuners and the supervisor
  CHECK_FALSE(contains(result.err, "started again"));
  CHECK(contains(result.out, "exact"));
  for (const pid_t pid : tuners) CHECK(::kill(pid, 0) != 0);
  const auto before = tries(folder);
  CHECK(before.size() < 8 * 120);
  held.reset();
  REQUIRE(run(folder, tune_on({"h200.jsonl", "h200.jsonl"})).status == 0);
  const auto counts = tries(folder);
  CHECK(counts.size() == 8 * 120);
  CHECK(each_once(counts));
}

TEST_CASE("two runs on one database share the work, and the later one comes back for what the other had") {
  const TempFolder folder;
  prepare(folder, 6, 150);
  std::vector<std::string> arguments = tune_on({"h200.jsonl"});
  const TempFolder other_output;
  Started one(folder, arguments);
  for (std::string& word : arguments) {
    for (const char* file : {"workload.txt", "h200.jsonl", "tuned.db"}) {
      if (word == file) word = folder / file;
    }
  }
  Started two(other_output, arguments);
  const Finished first = one.wait(), second = two.wait();
  INFO(first.err << second.err);
  CHECK(first.status == 0);
  CHECK(second.status == 0);
  const auto counts = tries(folder);
  CHECK(counts.size() == 6 * 150);
  CHECK(each_once(counts));
}
