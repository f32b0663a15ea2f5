// What becomes of a run on several devices whose processes are killed.
#include <algorithm>
#include <optional>
#include <random>
#include <set>

#include "tests/catch.hpp"
#include "tests/tuner/several_devices.hpp"

using namespace tilesmith;
using namespace tilesmith::tests;
using namespace std::chrono_literals;

namespace {

/// What a tuner process was told to work on.
std::string device_of(pid_t tuner) {
  const std::string words = read_proc("/proc/" + std::to_string(tuner) + "/cmdline");
  const std::string option("--device\0", 9);
  const std::size_t at = words.find(option);
  return at == std::string::npos ? "" : words.c_str() + at + option.size();
}

std::set<std::int64_t> stored_ids(const TempFolder& folder) {
  std::set<std::int64_t> ids;
  for (const db::Record& entry : db::Store::open(folder / "tuned.db").records()) ids.insert(entry.id);
  return ids;
}

}  // namespace

TEST_CASE("tuners end in order when their supervisor is killed") {
  const TempFolder folder;
  prepare(folder, 8, 120);
  const std::optional<db::TaskLock> held = lock_last(folder, 8);
  Started started(folder, tune_on({"h200.jsonl", "h200.jsonl"}, {"--verbose"}));
  REQUIRE(await([&] { return both_work(started); }));
  const std::vector<pid_t> tuners = children_of(started.pid());
  started.signal(SIGKILL);
  CHECK(started.wait().status == 1000 + SIGKILL);
  CHECK(
      await([&] { return std::none_of(tuners.begin(), tuners.end(), [](pid_t pid) { return ::kill(pid, 0) == 0; }); }));
  const db::Store store = db::Store::open_read_only(folder / "tuned.db");
  REQUIRE(store.runs().size() == 2);
  for (const db::Run& one : store.runs()) CHECK(one.ended_how == "interrupted");
  CHECK(store.integrity_error().empty());
}

TEST_CASE("tuners that are killed at random moments lose nothing, and every candidate is tried exactly once") {
  const TempFolder folder;
  prepare(folder, 8, 100);
  std::optional<db::TaskLock> held = lock_last(folder, 8);
  std::mt19937 random(7);
  Started started(folder, tune_on({"h200.jsonl", "h200.jsonl", "h200.jsonl"}));
  REQUIRE(await([&] { return !stored_ids(folder).empty(); }));
  std::set<std::int64_t> committed;
  std::map<std::string, int> kills;  // by device: each is restarted a few times only
  int killed = 0;
  while (killed < 8 && !started.ended()) {
    std::this_thread::sleep_for(std::chrono::milliseconds(std::uniform_int_distribution<>(10, 150)(random)));
    const std::vector<pid_t> tuners = children_of(started.pid());
    if (tuners.empty()) continue;
    committed.merge(stored_ids(folder));
    const pid_t victim = tuners[std::uniform_int_distribution<std::size_t>(0, tuners.size() - 1)(random)];
    if (kills[device_of(victim)]++ < 4 && ::kill(victim, SIGKILL) == 0) ++killed;
  }
  held.reset();
  const Finished result = started.wait();
  INFO(result.err);
  CHECK(result.status == 0);
  CHECK(killed == 8);
  CHECK(occurrences(result.err, "its tuner ended: killed by signal 9 (Killed); started again") == 8);
  CHECK(contains(result.err, "ended: done; 8 of 8 problems had their time slice"));
  const std::set<std::int64_t> stored = stored_ids(folder);
  for (const std::int64_t id : committed) CHECK(stored.count(id) == 1);
  CHECK_FALSE(committed.empty());
  const auto counts = tries(folder);
  CHECK(counts.size() == 8 * 100);
  CHECK(each_once(counts));
}

TEST_CASE("a device whose tuner dies again and again is given up, and the others finish its problems") {
  const TempFolder folder;
  prepare(folder, 4, 50);
  std::optional<db::TaskLock> held = lock_last(folder, 4);
  Started started(folder, tune_on({"h200.jsonl", "h200.jsonl"}, {"--log", "tune.log"}));
  while (!contains(started.err_so_far(), "given up") && !started.ended()) {
    for (const pid_t pid : children_of(started.pid())) {
      if (device_of(pid) == "1") ::kill(pid, SIGKILL);
    }
    std::this_thread::sleep_for(5ms);
  }
  held.reset();
  const Finished result = started.wait();
  INFO(result.err);
  CHECK(result.status == 1);
  CHECK(occurrences(result.err, "device 1: its tuner ended: killed by signal 9 (Killed); started again") == 5);
  CHECK(contains(result.err, "device 1: its tuner ended: killed by signal 9 (Killed); given up after 5 restarts"));
  CHECK(contains(result.err, "ended: done; 4 of 4 problems had their time slice"));
  CHECK(contains(read_file(folder / "tune.log"), "[supervisor] device 1"));
  const auto counts = tries(folder);
  CHECK(counts.size() == 4 * 50);
  CHECK(each_once(counts));
}

TEST_CASE("a tuner that cannot work at all is given up at once") {
  const TempFolder folder;
  prepare(folder, 2, 20);
  const std::optional<db::TaskLock> held = lock_last(folder, 2);
  Started started(folder, tune_on({"h200.jsonl", "h200.jsonl"}));
  REQUIRE(await([&] { return occurrences(started.err_so_far(), "waiting for 1 task") == 2; }));
  write_file(folder / "workload.txt", "f16f32 NN 1 2 3\n");
  for (const pid_t pid : children_of(started.pid())) ::kill(pid, SIGKILL);
  const Finished result = started.wait();
  INFO(result.err);
  CHECK(result.status == 2);
  CHECK(occurrences(result.err, "workload workload has changed since the run began") == 2);
  CHECK(occurrences(result.err, "its tuner ended: exit status 2; given up") == 2);
  CHECK(contains(result.err, "ended: failed; 1 of 2 problems had its time slice"));
  CHECK(each_once(tries(folder)));
}
