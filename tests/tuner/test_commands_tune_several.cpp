// tilesmith tune on several devices, which recordings stand for: one supervising process, a tuner process for each.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <thread>

#include "db/claims.hpp"
#include "tests/catch.hpp"
#include "tests/tuner/made_landscape.hpp"
#include "tests/tuner/run_binary.hpp"

using namespace tilesmith;
using namespace tilesmith::tests;
using namespace std::chrono_literals;

namespace {

db::DeviceIdentity other_model() {
  db::DeviceIdentity device = made_device();
  device.name = "NVIDIA H100";
  device.sm_count = 114;
  return device;
}

std::vector<Problem> problems_of(int count) {
  std::vector<Problem> problems;
  for (int k = 64; k <= 64 * count; k += 64)
    problems.push_back(packed_problem(*find_type_pair("f16f32"), {}, 64, 64, k));
  return problems;
}

/// A workload of so many problems, and recordings of two models that know so many configs of each.
void prepare(const TempFolder& folder, int problems, std::size_t configs) {
  std::string workload;
  for (const Problem& problem : problems_of(problems)) workload += text(problem) + '\n';
  write_file(folder / "workload.txt", workload);
  db::Store h200 = db::Store::in_memory(), h100 = db::Store::in_memory();
  for (db::Evidence& entry : made_evidence(problems_of(problems), configs)) {
    h200.record(entry);
    entry.device = other_model();
    h100.record(entry);
  }
  db::save_landscape(h200, {}, folder / "h200.jsonl");
  db::save_landscape(h100, {}, folder / "h100.jsonl");
}

/// One evidence a candidate: no play-off.
std::vector<std::string> tune_on(const std::vector<std::string>& recordings, std::vector<std::string> more = {}) {
  std::vector<std::string> arguments{"tune",     "--workload", "workload.txt", "--strategy", "exhaustive",
                                     "--family", "simt",       "--device",     "all",        "--finalists",
                                     "1",        "--db",       "tuned.db"};
  for (const std::string& recording : recordings) arguments.insert(arguments.end(), {"--replay", recording});
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

/// How often each candidate of each device was tried.
std::map<std::string, int> tries(const TempFolder& folder) {
  const db::Store store = db::Store::open_read_only(folder / "tuned.db");
  CHECK(store.integrity_error().empty());
  std::map<std::string, int> counts;
  for (const db::Evidence& entry : store.evidence())
    ++counts[db::text(entry.device) + '\n' + text(entry.problem) + '\n' + entry.config.text()];
  return counts;
}

bool each_once(const std::map<std::string, int>& counts) {
  for (const auto& [candidate, count] : counts) {
    if (count != 1) return false;
  }
  return true;
}

std::size_t occurrences(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

std::vector<pid_t> children_of(pid_t parent) {
  std::vector<pid_t> children;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const std::string name = entry.path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    const std::string status = read_file(entry.path() / "stat");
    const std::size_t after_name = status.rfind(')');
    if (after_name == std::string::npos || after_name + 4 > status.size() || status[after_name + 2] == 'Z') continue;
    if (std::strtol(status.c_str() + after_name + 4, nullptr, 10) == parent) children.push_back(pid_t(std::stol(name)));
  }
  return children;
}

/// What a tuner process was told to work on.
std::string device_of(pid_t tuner) {
  const std::string words = read_file("/proc/" + std::to_string(tuner) + "/cmdline");
  const std::string option("--device\0", 9);
  const std::size_t at = words.find(option);
  return at == std::string::npos ? "" : words.c_str() + at + option.size();
}

std::optional<db::Claim> claim_last(const TempFolder& folder, int problems) {
  return db::Claims(db::Store::open(folder / "tuned.db")).take(made_device(), problems_of(problems).back());
}

std::set<std::int64_t> stored_ids(const TempFolder& folder) {
  std::set<std::int64_t> ids;
  for (const db::Evidence& entry : db::Store::open(folder / "tuned.db").evidence()) ids.insert(entry.id);
  return ids;
}

bool await(const std::function<bool()>& condition) {
  for (int i = 0; i < 1000; ++i) {
    if (condition()) return true;
    std::this_thread::sleep_for(10ms);
  }
  return false;
}

}  // namespace

TEST_CASE("devices of one model share the problems, and the evidence, record and summary are of all") {
  const TempFolder folder;
  prepare(folder, 6, 20);
  const Finished result =
      run(folder, tune_on({"h200.jsonl", "h200.jsonl"}, {"--record", "again.jsonl", "--log", "tune.log"}));
  INFO(result.err);
  REQUIRE(result.status == 0);
  CHECK(contains(result.err, "tuning 6 problems of workload workload on NVIDIA H200 (device 0, 1) (replayed)"));
  CHECK(contains(result.err, "ended: done; 6 of 6 problems had their turn on NVIDIA H200"));
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
  CHECK(db::load_landscape(folder / "again.jsonl").entries.size() == 6 * 20);

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
  CHECK(occurrences(result.err, "had their turn on") == 2);
  CHECK(occurrences(result.out, "exact") == 6);
  const auto counts = tries(folder);
  CHECK(counts.size() == 2 * 3 * 10);
  CHECK(each_once(counts));
  CHECK(db::load_landscape(folder / "again.device0.jsonl.zst").device.name == "NVIDIA H200");
  CHECK(db::load_landscape(folder / "again.device1.jsonl.zst").device.name == "NVIDIA H100");
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
  CHECK(contains(alone.err, "--board: descriptor 3 is no board of turns"));
  const Finished dry = run(folder, tune_on({"h200.jsonl", "h100.jsonl"}, {"--dry-run"}));
  CHECK(dry.status == 0);
  CHECK(contains(dry.out, "on 2 devices of sm_90a"));
  CHECK_FALSE(std::filesystem::exists(folder / "tuned.db"));
}

TEST_CASE("Ctrl-C ends the tuners of all devices in order, and the next run goes on where they stopped") {
  const TempFolder folder;
  prepare(folder, 8, 120);
  Started started(folder, tune_on({"h200.jsonl", "h200.jsonl"}, {"--verbose"}));
  REQUIRE(await([&] { return occurrences(started.err_so_far(), " us ±") > 20; }));
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
  REQUIRE(run(folder, tune_on({"h200.jsonl", "h200.jsonl"})).status == 0);
  const auto counts = tries(folder);
  CHECK(counts.size() == 8 * 120);
  CHECK(each_once(counts));
}

TEST_CASE("tuners end in order when their supervisor is killed") {
  const TempFolder folder;
  prepare(folder, 8, 120);
  Started started(folder, tune_on({"h200.jsonl", "h200.jsonl"}, {"--verbose"}));
  REQUIRE(await([&] { return occurrences(started.err_so_far(), " us ±") > 20; }));
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
  { const db::Store created = db::Store::open(folder / "tuned.db"); }
  std::optional<db::Claim> held = claim_last(folder, 8);  // the run cannot end before it has suffered
  std::mt19937 random(7);
  Started started(folder, tune_on({"h200.jsonl", "h200.jsonl", "h200.jsonl"}));
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
  CHECK(contains(result.err, "ended: done; 8 of 8 problems had their turn"));
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
  { const db::Store created = db::Store::open(folder / "tuned.db"); }
  std::optional<db::Claim> held = claim_last(folder, 4);
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
  CHECK(contains(result.err, "ended: done; 4 of 4 problems had their turn"));
  CHECK(contains(read_file(folder / "tune.log"), "[supervisor] device 1"));
  const auto counts = tries(folder);
  CHECK(counts.size() == 4 * 50);
  CHECK(each_once(counts));
}

TEST_CASE("a tuner that cannot work at all is given up at once") {
  const TempFolder folder;
  prepare(folder, 2, 20);
  { const db::Store created = db::Store::open(folder / "tuned.db"); }
  const std::optional<db::Claim> held = claim_last(folder, 2);
  Started started(folder, tune_on({"h200.jsonl", "h200.jsonl"}));
  REQUIRE(await([&] { return occurrences(started.err_so_far(), "waiting for 1 problem") == 2; }));
  write_file(folder / "workload.txt", "f16f32 NN 1 2 3\n");
  for (const pid_t pid : children_of(started.pid())) ::kill(pid, SIGKILL);
  const Finished result = started.wait();
  INFO(result.err);
  CHECK(result.status == 2);
  CHECK(occurrences(result.err, "workload workload has changed since the run began") == 2);
  CHECK(occurrences(result.err, "its tuner ended: exit status 2; given up") == 2);
  CHECK(contains(result.err, "ended: failed; 1 of 2 problems had its turn"));
  CHECK(each_once(tries(folder)));
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
