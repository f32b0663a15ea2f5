// In which order merged and imported entries and runs come.
#include <string>

#include "db/exchange/recording.hpp"
#include "db/files/merge.hpp"
#include "tests/catch.hpp"
#include "tests/db/bests.hpp"
#include "tests/db/sample.hpp"

using namespace tilesmith;
using namespace tilesmith::db;
using namespace tilesmith::db::test;

TEST_CASE("what is merged counts as recorded when it is merged, whatever the clocks of the machines said") {
  Store a = Store::in_memory();
  Store b = Store::in_memory();
  Record entry = right(10);
  entry.created_at = "2026-01-01T00:00:00.000Z";
  a.record(entry);
  entry = failed(Status::mismatch, "wrong");
  entry.created_at = "2026-01-02T00:00:00.000Z";
  b.record(entry);
  entry = right(30, sample_config(2));
  b.record(entry);
  Store ab = Store::in_memory();
  merge(ab, a);
  merge(ab, b);
  Store ba = Store::in_memory();
  merge(ba, b);
  merge(ba, a);
  REQUIRE(bests_of(ab).size() == 1);
  REQUIRE(bests_of(ba).size() == 1);
  CHECK(bests_of(ab)[0].record.config == sample_config(2));
  CHECK(bests_of(ba)[0].record.config == sample_config(1));
}

TEST_CASE("entries of one instant keep their order, so that the same one counts after a merge") {
  Store from = Store::in_memory();
  Record entry = right(10);
  entry.created_at = "2026-01-01T00:00:00.000Z";
  from.record(entry);
  Record later = failed(Status::mismatch, "wrong");
  later.created_at = entry.created_at;
  from.record(later);
  REQUIRE(bests_of(from).empty());
  Store into = Store::in_memory();
  CHECK(merge(into, from).added == 2);
  CHECK(bests_of(into).empty());
}

TEST_CASE("an entry that supersedes another does so wherever it comes first, after a clock was set back too") {
  TemporaryFolder folder;
  Store from = Store::in_memory();
  Record ahead = right(10);
  ahead.created_at = "2099-12-31T23:59:59.999Z";
  from.record(ahead);
  for (int i = 0; i < 3; ++i) {
    Record before = right(11 + i);
    before.created_at = "2026-01-01T00:00:00.000Z";
    from.record(before);
  }
  from.record(failed(Status::mismatch, "wrong"));  // now, which is before the first
  save_recording(from, {}, folder / "a.jsonl");
  Store into = Store::in_memory();
  CHECK(import_file(into, folder / "a.jsonl").added == 1);
  CHECK(merge(into, from).added == 4);
  CHECK(bests_of(into).empty());
  const auto of_merge = into.records(), of_source = from.records();
  REQUIRE(of_merge.size() == 5);
  for (std::size_t i = 0; i < 5; ++i) CHECK(of_merge[i].outcome.message == of_source[i].outcome.message);
  for (std::size_t i = 1; i < 5; ++i) {
    CHECK(of_merge[i].outcome.timing->median_us == of_source[i].outcome.timing->median_us);
    CHECK(of_merge[i].id < 0);  // below the one that supersedes them
  }
  CHECK(merge(into, from).known == 5);
  Record again = right(12);
  into.record(again);
  CHECK(bests_of(into).at(0).record.outcome.timing->median_us == 12);
}

TEST_CASE("files keep the order of their store, and a file without one is taken by its times") {
  TemporaryFolder folder;
  Store from = Store::in_memory();
  Record first = right(10, sample_config(2));
  first.created_at = "2026-01-01T00:00:00.000Z";
  Record second = right(20, sample_config(1));
  second.created_at = "1970-01-01T00:00:00.000Z";
  from.record(first);
  from.record(second);
  save_recording(from, {}, folder / "a.jsonl");
  Store into = Store::in_memory();
  import_file(into, folder / "a.jsonl");
  CHECK(into.records().at(0).config == sample_config(1));

  std::string former = slurp(folder / "a.jsonl");
  for (const char* id : {",\"id\":1", ",\"id\":2"}) {
    const std::size_t at = former.find(id);
    REQUIRE(at != std::string::npos);
    former.erase(at, std::string(id).size());
  }
  spill(folder / "former.jsonl", former);
  Store by_time = Store::in_memory();
  import_file(by_time, folder / "former.jsonl");
  CHECK(by_time.records().at(0).config == sample_config(2));
}

TEST_CASE("merged runs keep their order, and come after those that are there") {
  Store from = Store::in_memory(), into = Store::in_memory();
  const auto begin = [](Store& store, const char* uuid, const char* at) {
    Run run;
    run.uuid = uuid;
    run.started_at = at;
    store.begin_run(run);
  };
  begin(into, "here", "2026-03-01T00:00:00.000Z");
  begin(from, "first", "2026-01-01T00:00:00.000Z");
  begin(from, "second", "1970-01-01T00:00:00.000Z");
  CHECK(from.runs().at(0).uuid == "second");
  merge(into, from);
  std::string uuids;
  for (const Run& run : into.runs()) uuids += run.uuid + " ";
  CHECK(uuids == "second first here ");
}
