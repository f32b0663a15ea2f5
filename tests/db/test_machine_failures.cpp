// Failures of the machine that former versions recorded.
#include "db/machine_failures.hpp"

#include <cctype>

#include "db/merge.hpp"
#include "db/migrations.hpp"
#include "tests/catch.hpp"
#include "tests/db/bests.hpp"
#include "tests/db/former.hpp"
#include "tests/db/sample.hpp"

using namespace tilesmith;
using namespace tilesmith::db;
using namespace tilesmith::db::test;

namespace {

/// As former versions worded them.
const std::vector<Outcome> kOfMachine = {
    {Status::launch_failed, "verify: cuMemAlloc of 33554432 bytes: CUDA_ERROR_OUT_OF_MEMORY (out of memory)", {}},
    {Status::launch_failed, "battery: f16f32 NN 1 1 1: cuModuleLoadDataEx: CUDA_ERROR_OUT_OF_MEMORY (out of memory)", {}},
    {Status::device_fault, "timing: the measuring process ended: killed by signal 9 (Killed)", {}},
    {Status::device_fault, "battery: the measuring process ended: killed by signal 15 (Terminated)", {}},
    {Status::compile_failed, "the compiler ended: killed by signal 15 (Terminated)", {}},
    {Status::compile_failed, "error: NVRTC_ERROR_OUT_OF_MEMORY", {}},
};

/// Like them, and the candidate's all the same.
const std::vector<Outcome> kOfCandidate = {
    {Status::launch_failed, "verify: launch failed with driver error 2", {}},
    {Status::launch_failed, "loading: cuModuleLoadDataEx: CUDA_ERROR_INVALID_IMAGE (device kernel image is invalid)", {}},
    {Status::device_fault, "timing: the measuring process ended: killed by signal 11 (Segmentation fault)", {}},
    {Status::compile_failed, "the compiler ended: killed by signal 6 (Aborted)", {}},
    {Status::mismatch, "verify: C[0,0] is 1, expected 2; the measuring process ended: killed by signal 9 (Killed)", {}},
    {Status::timed_out, "timing: did not end within 10 s", {}},
};

Evidence of(const Outcome& outcome, const Config& config = sample_config()) {
  return failed(outcome.status, outcome.message, config);
}

std::string words_of(std::string_view sql) {
  std::string words;
  for (const char c : sql) {
    const bool space = std::isspace(static_cast<unsigned char>(c)) != 0;
    if (!space || (!words.empty() && words.back() != ' ')) words += space ? ' ' : c;
  }
  return words;
}

std::string count_of(const Store& store, const std::string& table) {
  return store.query("SELECT count(*) FROM " + table).rows.at(0).at(0);
}

}  // namespace

TEST_CASE("what the machine failed on is not known of a candidate, and stays in the file") {
  for (const Outcome& outcome : kOfMachine) {
    INFO(outcome.message);
    Store store = Store::in_memory();
    store.record(of(outcome));
    CHECK(store.evidence().empty());
    EvidenceFilter latest;
    latest.latest_only = true;
    CHECK(store.evidence(latest).empty());
    CHECK_FALSE(store.latest(sample_problem(), sample_config(), sample_device(), sample_producer()));
    CHECK(count_of(store, "latest") == "0");
    CHECK(count_of(store, "evidence") == "1");
  }
}

TEST_CASE("what a candidate failed by itself on stays known") {
  for (const Outcome& outcome : kOfCandidate) {
    INFO(outcome.message);
    Store store = Store::in_memory();
    store.record(of(outcome));
    CHECK(store.evidence().size() == 1);
    CHECK(store.latest(sample_problem(), sample_config(), sample_device(), sample_producer()));
    CHECK(count_of(store, "latest") == "1");
  }
}

TEST_CASE("the time that a candidate had before the machine failed on it counts") {
  Store store = Store::in_memory();
  store.record(right(10));
  store.record(right(20, sample_config(2)));
  for (const Outcome& outcome : kOfMachine) store.record(of(outcome));
  REQUIRE(bests_of(store).size() == 1);
  CHECK(bests_of(store)[0].evidence.config == sample_config());
  CHECK(bests_of(store)[0].candidates == 2);
  store.record(of(kOfCandidate.front()));
  CHECK(bests_of(store).at(0).evidence.config == sample_config(2));
}

TEST_CASE("a kernel and a proof that the machine failed on are not known, and give way to others' in a merge") {
  const Outcome killed = {Status::device_fault, "battery: the measuring process ended: killed by signal 15 (Terminated)", {}};
  KernelBuild unmade = sample_build();
  unmade.status = Status::compile_failed;
  unmade.message = "the compiler ended: killed by signal 9 (Killed)";
  unmade.cubin.clear();
  Store store = Store::in_memory();
  store.record_build(unmade);
  store.record_proof({sample_key(), sample_device(), "580.1", "battery-1", killed});
  CHECK_FALSE(store.find_build(sample_key()));
  CHECK_FALSE(store.find_proof(sample_key(), sample_device(), "580.1", "battery-1"));

  Store other = Store::in_memory();
  CHECK(merge(other, store).builds_added == 1);  // it comes along
  CHECK(merge(other, store).builds_added == 0);
  Store sound = Store::in_memory();
  sound.record_build(sample_build());
  sound.record_proof({sample_key(), sample_device(), "580.1", "battery-1", {Status::ok, "", {}}});
  CHECK(merge(sound, store).builds_added == 0);
  CHECK(sound.find_build(sample_key()));
  CHECK(merge(store, sound).builds_added == 1);
  CHECK(store.find_build(sample_key()));
  const auto proof = store.find_proof(sample_key(), sample_device(), "580.1", "battery-1");
  REQUIRE(proof);
  CHECK(proof->status == Status::ok);
}

TEST_CASE("a merge and an older database that is opened keep what the machine failed on, and pass over it") {
  TemporaryFolder folder;
  {
    Store store = Store::open(folder / "a.db");
    store.record(right(10));
    store.record(of(kOfMachine.front()));
  }
  {
    const Database database((folder / "a.db").string(), SQLITE_OPEN_READWRITE, "a.db");
    make_former(database);
    database.execute("DROP VIEW latest; CREATE VIEW latest AS SELECT * FROM evidence ORDER BY id DESC LIMIT 1; "
                     "PRAGMA user_version = 2");
  }
  Store into = Store::in_memory();
  {
    const Store read = Store::open_read_only(folder / "a.db");  // its views are not asked
    CHECK(bests_of(read).size() == 1);
    CHECK(merge(into, read).added == 2);
  }
  CHECK(bests_of(into).size() == 1);
  CHECK(count_of(into, "evidence") == "2");
  const Store store = Store::open(folder / "a.db");
  CHECK(bests_of(store).size() == 1);
  CHECK(bests_of(store)[0].evidence.outcome.timing->median_us == 10);
  CHECK(count_of(store, "evidence") == "2");
  CHECK(store.query("SELECT group_concat(sql) FROM sqlite_master WHERE type = 'view'").rows ==
        into.query("SELECT group_concat(sql) FROM sqlite_master WHERE type = 'view'").rows);
}

TEST_CASE("the view latest passes over the same entries as the program") {
  CHECK(contains(words_of(kSchemaSql), words_of(failed_by_machine("newer"))));
}
