#include "db/files/merge.hpp"

#include <sys/stat.h>

#include <thread>

#include "db/exchange/export.hpp"
#include "db/exchange/recording.hpp"
#include "db/files/bundle.hpp"
#include "db/files/compress.hpp"
#include "db/store/store_access.hpp"
#include "tests/catch.hpp"
#include "tests/db/bests.hpp"
#include "tests/db/sample.hpp"

using namespace tilesmith;
using namespace tilesmith::db;
using namespace tilesmith::db::test;

namespace {

Store orin_store() {
  Store store = Store::in_memory();
  Run run;
  run.uuid = "run-orin";
  run.started_at = "2026-01-01T00:00:00.000Z";
  store.begin_run(run);
  Record entry = right(100);
  entry.device = other_device();
  entry.origin = "orin-1";
  entry.run = "run-orin";
  store.record(entry);
  store.record_build(sample_build(sample_config(7), 7));
  store.record_proof({sample_key(sample_config(7)), other_device(), "540", "suite-1", {Status::ok, "", {}}});
  return store;
}

std::string counts(const Store& store) {
  std::string all;
  for (const char* table : {"devices", "problems", "configs", "records", "builds", "cubins", "proofs", "runs"}) {
    all += rows_of(store, std::string("SELECT count(*) FROM ") + table)[0][0] + " ";
  }
  return all;
}

}  // namespace

TEST_CASE("a merge brings in everything, with its provenance") {
  Store into = Store::in_memory();
  into.record(right(10));
  const Store from = orin_store();
  const MergeResult result = merge(into, from);
  CHECK(result.added == 1);
  CHECK(result.known == 0);
  CHECK(result.builds_added == 1);
  RecordFilter orin;
  orin.device_exactly = other_device();
  const auto entries = into.records(orin);
  REQUIRE(entries.size() == 1);
  CHECK(entries[0].origin == "orin-1");
  CHECK(entries[0].created_at == from.records()[0].created_at);
  CHECK(into.runs().size() == 1);
  CHECK(into.find_build(sample_key(sample_config(7)))->cubin == sample_cubin(7));
  CHECK(into.find_proof(sample_key(sample_config(7)), other_device(), "540", "suite-1"));
  CHECK(bests_of(into).size() == 2);
  CHECK(into.integrity_error().empty());
}

TEST_CASE("a second merge of the same database adds nothing") {
  Store into = Store::in_memory();
  const Store from = orin_store();
  merge(into, from);
  const std::string before = counts(into);
  const MergeResult again = merge(into, from);
  CHECK(again.added == 0);
  CHECK(again.known == 1);
  CHECK(again.builds_added == 0);
  CHECK(counts(into) == before);
}

TEST_CASE("a merge does not replace a build that is there") {
  Store into = Store::in_memory();
  into.record_build(sample_build(sample_config(), 1));
  Store from = Store::in_memory();
  from.record_build(sample_build(sample_config(), 2));
  CHECK(merge(into, from).builds_added == 0);
  CHECK(into.find_build(sample_key())->cubin == sample_cubin(1));
}

TEST_CASE("entries that differ in nothing but their plan are two") {
  Record entry = right(10), other = right(10);
  entry.created_at = other.created_at = "2026-01-01T00:00:00.000Z";
  other.plan_hash = std::string(32, 'b');
  Store into = Store::in_memory(), from = Store::in_memory();
  into.record(entry);
  from.record(entry);
  from.record(other);
  CHECK(merge(into, from).added == 1);
  CHECK(merge(into, from).known == 2);
}

TEST_CASE("a JSON export reads back as it was written") {
  TemporaryFolder folder;
  Store from = Store::in_memory();
  Record known = right(10, sample_config(1));
  known.plan_hash = std::string(32, 'c');
  from.record(known);
  from.record(right(20, sample_config(2)));
  from.record(right(5, sample_config(2), sample_problem("s8s32 TT 7 8 9 ldc=12 align=4 beta=any")));
  write_file_atomically(folder / "a.json", export_best(bests_of(from), ExportFormat::json));
  Store into = Store::in_memory();
  const MergeResult result = import_file(into, folder / "a.json");
  CHECK(result.added == 2);
  CHECK(import_file(into, folder / "a.json").known == 2);
  const auto expected = bests_of(from);
  const auto bests = bests_of(into);
  REQUIRE(bests.size() == 2);
  for (std::size_t i = 0; i < 2; ++i) {
    CHECK(bests[i].record.task.problem() == expected[i].record.task.problem());
    CHECK(bests[i].record.config == expected[i].record.config);
    CHECK(bests[i].record.device == expected[i].record.device);
    CHECK(bests[i].record.environment == expected[i].record.environment);
    CHECK(bests[i].record.origin == expected[i].record.origin);
    CHECK(bests[i].record.created_at == expected[i].record.created_at);
    CHECK(bests[i].record.plan_hash == expected[i].record.plan_hash);
    CHECK(bests[i].record.outcome.timing->median_us == expected[i].record.outcome.timing->median_us);
    CHECK(bests[i].record.outcome.timing->power_w == 320.25);
  }
}

TEST_CASE("a zstd-compressed JSON export is imported as a plain one") {
  TemporaryFolder folder;
  Store from = Store::in_memory();
  from.record(right(10));
  const std::string plain = export_best(bests_of(from), ExportFormat::json);
  const std::string packed(as_text(compress(as_bytes(plain))));
  spill(folder / "x.json.zst", packed);
  Store into = Store::in_memory();
  CHECK(import_file(into, folder / "x.json.zst").added == 1);
  spill(folder / "cut.json.zst", packed.substr(0, packed.size() - 5));
  CHECK(contains(store_error([&] { import_file(into, folder / "cut.json.zst"); }), "the zstd stream is truncated"));
  spill(folder / "empty.zst", std::string(as_text(compress({}))));
  CHECK(contains(store_error([&] { import_file(into, folder / "empty.zst"); }), "the zstd stream is empty"));
}

TEST_CASE("a recording and a bundle are imported by their content, whatever their name") {
  TemporaryFolder folder;
  Store from = Store::in_memory();
  from.record(right(10, sample_config(1)));
  from.record(failed(Status::timed_out, "no end", sample_config(2)));
  save_recording(from, {}, folder / "plain");
  save_recording(from, {}, folder / "packed.zst");
  std::filesystem::rename(folder / "packed.zst", folder / "packed");
  Bundle bundle;
  bundle.device = sample_device();
  bundle.bests = {bests_of(from)[0].record};
  bundle.builds = {sample_build()};
  save_bundle(bundle, folder / "bundle");

  Store into = Store::in_memory();
  CHECK(import_file(into, folder / "plain").added == 2);
  CHECK(import_file(into, folder / "packed").known == 2);
  const MergeResult result = import_file(into, folder / "bundle");
  CHECK(result.known == 1);
  CHECK(result.builds_added == 1);
  CHECK(into.find_build(sample_key()));
}

TEST_CASE("an export, a recording and a bundle are imported out of a pipe") {
  TemporaryFolder folder;
  Store from = Store::in_memory();
  from.record(right(10));
  write_file_atomically(folder / "export", export_best(bests_of(from), ExportFormat::json));
  save_recording(from, {}, folder / "plain");
  save_recording(from, {}, folder / "packed.zst");
  Bundle bundle;
  bundle.device = sample_device();
  bundle.bests = {bests_of(from)[0].record};
  bundle.builds = {sample_build()};
  save_bundle(bundle, folder / "bundle");
  REQUIRE(::mkfifo((folder / "pipe").c_str(), 0600) == 0);
  for (const char* file : {"export", "plain", "packed.zst", "bundle"}) {
    Store into = Store::in_memory();
    std::thread writer([&] { spill(folder / "pipe", slurp(folder / file)); });
    std::size_t added = 0;
    const std::string error = store_error([&] { added = import_file(into, folder / "pipe").added; });
    writer.join();
    INFO(file << ": " << error);
    CHECK(added == 1);
    CHECK(into.find_build(sample_key()).has_value() == (std::string(file) == "bundle"));
  }
}

TEST_CASE("an entry whose time says no milliseconds is known when it is imported again") {
  TemporaryFolder folder;
  Store from = Store::in_memory();
  Record entry = right(10);
  entry.created_at = "2026-01-01T00:00:00.000Z";
  from.record(entry);
  std::string text = export_best(bests_of(from), ExportFormat::json);
  text.replace(text.find("00:00:00.000Z"), 13, "00:00:00Z");
  spill(folder / "a.json", text);
  Store into = Store::in_memory();
  CHECK(import_file(into, folder / "a.json").added == 1);
  CHECK(import_file(into, folder / "a.json").known == 1);
  CHECK(into.records().size() == 1);
}

TEST_CASE("an origin of two lines, as databases of before may hold, bars neither merge nor import") {
  TemporaryFolder folder;
  Store from = Store::in_memory();
  from.record(right(10));
  StoreAccess::database(from).execute("UPDATE records SET origin = 'a' || char(10) || 'b'");
  write_file_atomically(folder / "export", export_best(bests_of(from), ExportFormat::json));
  for (const bool merged : {true, false}) {
    Store into = Store::in_memory();
    const auto bring_in = [&] { return merged ? merge(into, from) : import_file(into, folder / "export"); };
    CHECK(bring_in().added == 1);
    CHECK(into.records().at(0).origin == "a b");
    CHECK(bring_in().known == 1);
  }
}

TEST_CASE("one bad entry refuses a whole import, naming the entry") {
  TemporaryFolder folder;
  Store from = Store::in_memory();
  from.record(right(10));
  from.record(right(10, sample_config(), sample_problem("f16f32 NT 64 64 64")));
  const std::string good = export_best(bests_of(from), ExportFormat::json);
  const auto refused = [&](std::string_view old_part, std::string_view new_part, const std::string& reason) {
    std::string bad = good;
    const std::size_t at = bad.rfind(old_part);
    REQUIRE(at != std::string::npos);
    bad.replace(at, old_part.size(), new_part);
    spill(folder / "a.json", bad);
    Store into = Store::in_memory();
    const std::string error = store_error([&] { import_file(into, folder / "a.json"); });
    INFO(new_part << ": " << error);
    CHECK(contains(error, (folder / "a.json").string() + ": entry 2: "));
    CHECK(contains(error, reason));
    CHECK(is_one_line(error));
    CHECK(into.records().empty());
  };
  refused("f16f32 NT 64", "f16f32 NX 64", "transposes");
  refused("f16f32 NT 64", "f16f32 NT 99999999999", "M is 99999999999");
  refused("wmma{frag_m=16,stages=1}", "wmma{frag_m}", "config");
  refused("\"status\": \"ok\"", "\"status\": \"okay\"", "status");
  refused("\"median_us\": 10.0", "\"median_us\": -10.0", "median_us");
  refused("\"median_us\": 10.0", "\"median_us\": \"fast\"", "median_us");
  refused("\"sm\": 90", "\"sm\": 90.5", "\"sm\"");
  refused("\"nvrtc_version\"", "\"nvrtc_vision\"", "nvrtc_version");
  refused("\"created_at\": \"20", "\"created_at\": \"soon, 20", "created_at");
  refused("\"drift\": 1.002", "\"drift\": 0", "drift");
}

TEST_CASE("files that are no import are refused with what was expected") {
  TemporaryFolder folder;
  Store into = Store::in_memory();
  const auto refused = [&](const std::string& content, const std::string& reason) {
    spill(folder / "a", content);
    const std::string error = store_error([&] { import_file(into, folder / "a"); });
    INFO(error);
    CHECK(contains(error, (folder / "a").string()));
    CHECK(contains(error, reason));
    CHECK(is_one_line(error));
  };
  refused("", "is empty");
  refused("hello", "not JSON");
  refused("{}", "expected a JSON export");
  refused("[]", "expected a JSON export");
  refused("{\"tilesmith_export\":2,\"entries\":[]}", "newer");
  refused("{\"tilesmith_export\":1,\"entries\":7}", "entries");
  refused("{\"tilesmith_export\":1,\"entries\":[7]}", "entry 1");
  refused("{\"tilesmith_export\":1,\"entries\":[", "not JSON");
  refused("{\"tilesmith_export\":" + std::string(200000, '[') + std::string(200000, ']') + "}",
      "nests deeper than 64 levels");
  { Store::open(folder / "b.db"); }
  CHECK(contains(store_error([&] { import_file(into, folder / "b.db"); }), "merge"));
  CHECK(contains(store_error([&] { import_file(into, folder / "missing"); }), "missing"));
  CHECK(counts(into) == counts(Store::in_memory()));
}
