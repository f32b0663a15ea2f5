// Failures of the machine that versions before schema 6 recorded as a candidate's.
#include "db/merge.hpp"
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

/// A file of a schema before 6 with all of them, and a time of a candidate that one of them came after.
void make_file(const std::filesystem::path& path, int version) {
  const Outcome killed = {Status::device_fault, "battery: the measuring process ended: killed by signal 15 (Terminated)", {}};
  KernelBuild unmade = sample_build();
  unmade.status = Status::compile_failed;
  unmade.message = "the compiler ended: killed by signal 9 (Killed)";
  unmade.cubin.clear();
  {
    Store store = Store::open(path);
    store.record(right(10));
    for (const Outcome& outcome : kOfMachine) store.record(of(outcome));
    for (std::size_t i = 0; i < kOfCandidate.size(); ++i) store.record(of(kOfCandidate[i], sample_config(int(i) + 2)));
    store.record_build(unmade);
    store.record_proof({sample_key(), sample_device(), "580.1", "battery-1", killed});
  }
  const Database database(path.string(), SQLITE_OPEN_READWRITE, "a.db");
  if (version == 4) make_former(database);
  else {
    split_signatures(database);
    database.execute("DROP VIEW latest; CREATE VIEW latest AS SELECT * FROM evidence WHERE id = 1; PRAGMA user_version = 5");
  }
}

}  // namespace

TEST_CASE("what the machine failed on in a file of a former schema is not known of a candidate") {
  for (const int version : {4, 5}) {
    TemporaryFolder folder;
    make_file(folder / "a.db", version);
    const auto check = [&](const Store& store) {
      CHECK(store.evidence().size() == 1 + kOfCandidate.size());
      EvidenceFilter latest;
      latest.latest_only = true;
      CHECK(store.evidence(latest).size() == 1 + kOfCandidate.size());
      REQUIRE(bests_of(store).size() == 1);
      CHECK(bests_of(store)[0].evidence.outcome.timing->median_us == 10);
      KernelKey key = sample_key();
      if (version == 4) key.kernel_hash = "former";
      CHECK_FALSE(store.find_build(key));
      CHECK_FALSE(store.find_proof(key, sample_device(), "580.1", "battery-1"));
    };
    Store into = Store::in_memory();
    {
      const Store read = Store::open_read_only(folder / "a.db");
      check(read);
      CHECK(merge(into, read).added == 1 + std::int64_t(kOfCandidate.size()));
    }
    check(into);
    const Store store = Store::open(folder / "a.db");
    check(store);
    CHECK(rows_of(store, "SELECT (SELECT count(*) FROM builds) + (SELECT count(*) FROM proofs)").at(0).at(0) == "0");
    CHECK(rows_of(store, "SELECT group_concat(sql) FROM sqlite_master WHERE type = 'view'") ==
          rows_of(into, "SELECT group_concat(sql) FROM sqlite_master WHERE type = 'view'"));
    CHECK(store.integrity_error().empty());
  }
}
