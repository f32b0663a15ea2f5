#include "db/exchange/recording.hpp"

#include "db/exchange/export.hpp"
#include "db/files/compress.hpp"
#include "tests/catch.hpp"
#include "tests/db/sample.hpp"

using namespace tilesmith;
using namespace tilesmith::db;
using namespace tilesmith::db::test;

namespace {

Store sample_recording_store() {
  Store store = Store::in_memory();
  store.record(right(10, sample_config(1)));
  store.record(right(12, sample_config(1)));  // supersedes the former
  Record other = right(20, sample_config(2));
  other.environment.driver_version = "570.2";
  other.origin = "bench-2";
  other.run = "";
  store.record(other);
  store.record(failed(Status::compile_failed, "error: \xff no UTF-8", Config("simt", {{"tile", 8}})));
  store.record(right(5, sample_config(1), sample_problem("bf16f32 TT 1 2 3 beta=any")));
  return store;
}

constexpr const char* kHeader =
    R"({"tilesmith_recording":1,"device":{"name":"D","sm":90,"sm_count":132,"l2_bytes":1,"smem_per_sm_bytes":1,)"
    R"("bandwidth_class_gbps":1,"power_mode":""},"limits":"sm_90a","environment":{"wmma":{)"
    R"("compiler_options":"o","nvrtc_version":"13.0","driver_version":"d","measuring_policy":"cold-1"}},)"
    R"("made_at":"2026-01-01T00:00:00Z"})";
constexpr const char* kEntry =
    R"({"problem":"f16f32 NN 64 64 64","config":"wmma{frag_m=16}","status":"ok","median_us":7.5,"spread":0.01})";

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

}  // namespace

TEST_CASE("a saved recording holds the latest entry of every candidate and loads back whole") {
  TemporaryFolder folder;
  const Store store = sample_recording_store();
  for (const char* file : {"a.jsonl", "a.jsonl.zst"}) {
    save_recording(store, {}, folder / file);
    const Recording recording = load_recording(folder / file);
    CHECK(recording.device == sample_device());
    CHECK(recording.arch == "sm_90a");
    CHECK(recording.entries.size() == 4);
    REQUIRE(recording.environments.count("wmma") == 1);
    CHECK(recording.environments.at("wmma") == sample_environment());
    CHECK(recording.environments.count("simt") == 1);

    const Record* first = recording.find(sample_problem(), sample_config(1));
    REQUIRE(first != nullptr);
    CHECK(first->outcome.timing->median_us == 12);
    CHECK(first->outcome.timing->clock_mhz == 1980);
    CHECK(first->run == "run-1");
    const Record* second = recording.find(sample_problem(), sample_config(2));
    REQUIRE(second != nullptr);
    CHECK(second->environment.driver_version == "570.2");
    CHECK(second->origin == "bench-2");
    CHECK(second->run.empty());
    const Record* third = recording.find(sample_problem(), Config("simt", {{"tile", 8}}));
    REQUIRE(third != nullptr);
    CHECK(third->outcome.status == Status::compile_failed);
    CHECK_FALSE(third->outcome.timing);
    CHECK(recording.find(sample_problem(), sample_config(7)) == nullptr);
    CHECK(recording.find(sample_problem("f16f32 NN 1 1 1"), sample_config(1)) == nullptr);
  }
  CHECK(is_zstd(slurp(folder / "a.jsonl.zst")));
  CHECK(folder.listing() == "a.jsonl a.jsonl.zst");  // no temporary file is left
}

TEST_CASE("a recording is of one device") {
  TemporaryFolder folder;
  Store store = sample_recording_store();
  Record elsewhere = right(1);
  elsewhere.device = other_device();
  store.record(elsewhere);
  CHECK(contains(store_error([&] { save_recording(store, {}, folder / "a"); }), "2 devices"));
  RecordFilter orin;
  orin.device = "Orin";
  save_recording(store, orin, folder / "a");
  CHECK(load_recording(folder / "a").arch == "sm_87");
  orin.device = "nothing of that name";
  CHECK(contains(store_error([&] { save_recording(store, orin, folder / "b"); }), "0 devices"));
  CHECK(folder.listing() == "a");
}

TEST_CASE("a hand-written recording takes what its lines leave out from its first line") {
  TemporaryFolder folder;
  spill(folder / "a", std::string(kHeader) + "\n" + kEntry + "\n");
  const Recording recording = load_recording(folder / "a");
  REQUIRE(recording.entries.size() == 1);
  CHECK(recording.entries[0].created_at == "2026-01-01T00:00:00Z");
  CHECK(recording.entries[0].plan_hash.empty());
  CHECK(recording.entries[0].outcome.timing->drift == 1);
}

TEST_CASE("files of another format are refused with the place and what was expected") {
  TemporaryFolder folder;
  const auto refused = [&](const std::string& content, const std::string& line, const std::string& reason) {
    spill(folder / "a", content);
    const std::string error = store_error([&] { load_recording(folder / "a"); });
    INFO(error);
    CHECK(contains(error, (folder / "a").string() + ":" + line + ": "));
    CHECK(contains(error, reason));
    CHECK(contains(error, "expected"));
    CHECK(is_one_line(error));
  };
  const std::string header = std::string(kHeader) + "\n";
  const std::string entry = kEntry;
  refused("", "1", "is empty");
  refused("hello\n", "1", "is no recording");
  refused(std::string("\x1f\x8b\x08\0\0\n", 6), "1", "is no recording");
  refused(R"({"device_name":"RTX 3090","kernel_name":"Xgemm","tune_params_keys":["MWG"],"cache":{"16":{"time":1.2}}})",
      "1", "tilesmith_recording");
  refused("{\"device_name\":\"RTX 3090\",\n\"cache\":{\n", "1", "tilesmith_recording");
  refused("[1,2]\n", "1", "tilesmith_recording");
  refused(replaced(header, "recording\":1", "recording\":2"), "1", "newer");
  refused(replaced(header, "sm_90a", "sm_12"), "1", "sm_12");
  refused(replaced(header, "\"sm_count\":132", "\"sm_count\":\"many\""), "1", "sm_count");
  refused(header + "{\n", "2", "not JSON");
  refused(header + "{\"problem\":" + std::string(200000, '[') + std::string(200000, ']') + "}\n", "2",
      "nests deeper than 64 levels");
  refused(header + entry + "\n" + replaced(entry, "f16f32 NN 64", "f99f32 NN 64"), "3", "unknown type pair");
  refused(header + replaced(entry, "64 64 64", "64 64 -1"), "2", "K is -1");
  refused(header + replaced(entry, "wmma{frag_m=16}", "wmma(16)"), "2", "config");
  refused(header + replaced(entry, "wmma{", "mma{"), "2", "environment");
  refused(header + replaced(entry, "\"ok\"", "\"fine\""), "2", "status");
  refused(header + replaced(entry, "7.5", "0"), "2", "median_us");
  refused(header + replaced(entry, "7.5", "-7.5"), "2", "median_us");
  refused(header + replaced(entry, "7.5", "null"), "2", "median_us");
  refused(header + replaced(entry, "7.5", "1e999"), "2", "not JSON");
  refused(header + replaced(entry, "\"ok\"", "\"mismatch\""), "2", "timing exactly with ok");
  refused(header + entry + "\n" + entry + "\n", "3", "second time");
  const auto packed = compress(as_bytes(header + entry));
  refused(std::string(as_text(packed).substr(0, packed.size() - 5)), "1", "truncated");
  refused(std::string(as_text(compress({}))), "1", "is empty once decompressed");
  CHECK(contains(store_error([&] { load_recording(folder / "missing"); }), "missing"));
  CHECK(contains(store_error([&] { load_recording(folder.path()); }), "is a folder"));
}

TEST_CASE("a file is written whole or not at all") {
  TemporaryFolder folder;
  write_file_atomically(folder / "a", "first");
  write_file_atomically(folder / "a", "second");
  CHECK(slurp(folder / "a") == "second");
  for (const std::filesystem::path& path : {folder.path(), folder / "no" / "such", std::filesystem::path("/proc/x")}) {
    const std::string error = store_error([&] { write_file_atomically(path, "x"); });
    INFO(error);
    CHECK(contains(error, path.string()));
    CHECK(is_one_line(error));
  }
  CHECK(folder.listing() == "a");
  std::filesystem::create_symlink("a", folder / "link");
  write_file_atomically(folder / "link", "third");
  CHECK(std::filesystem::is_symlink(folder / "link"));
  CHECK(slurp(folder / "a") == "third");
}

TEST_CASE("a file that is replaced stays readable for whom it was") {
  TemporaryFolder folder;
  using std::filesystem::perms;
  constexpr perms kOwnerAlone = perms::owner_read | perms::owner_write;
  spill(folder / "a", "first");
  std::filesystem::permissions(folder / "a", kOwnerAlone);
  write_file_atomically(folder / "a", "second");
  CHECK(slurp(folder / "a") == "second");
  CHECK(std::filesystem::status(folder / "a").permissions() == kOwnerAlone);
}
