// Devices whose texts begin alike, columns of exports, and times that no device can have taken.
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/catch.hpp"
#include "tests/tuner/made_recording.hpp"
#include "tests/tuner/run_binary.hpp"

using namespace tilesmith;
using namespace tilesmith::tests;

namespace {

db::DeviceIdentity orin(int sm_count, const std::string& mode) {
  return {"Orin", 87, sm_count, 4194304, 167936, 200, mode};
}

void make_orins(const std::string& path, const std::vector<db::DeviceIdentity>& devices) {
  db::Store store = db::Store::open(path);
  for (const db::DeviceIdentity& device : devices) {
    for (db::Record& entry : made_record({made_problems()[0]}, 8)) {
      entry.device = device;
      entry.environment.compiler_options =
          runtime::compiler_options_text({entry.task.problem(), *limits_for_arch("sm_87")});
      entry.plan_hash = plan_hash(entry.config, entry.task.problem(), entry.environment.compiler_options);
      store.record(entry);
    }
  }
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

}  // namespace

TEST_CASE("a device is named by its whole text, though that begins another's") {
  const TempFolder folder;
  const std::vector<db::DeviceIdentity> all{orin(16, ""), orin(16, "MAXN"), orin(16, "MAXN_SUPER")};
  make_orins(folder / "tuned.db", all);
  for (const db::DeviceIdentity& device : all) {
    const std::string text = db::text(device);
    INFO(text);
    const Finished query = run(folder, {"query", "--db", "tuned.db", "--device", text, "--format", "json"});
    CHECK(query.status == 0);
    CHECK(query.err.empty());
    const auto rows = nlohmann::json::parse(query.out);
    REQUIRE(rows.size() == 1);
    CHECK(rows[0]["device"] == text);
    CHECK(lines_of(run(folder, {"query", "--db", "tuned.db", "--device", text, "--all", "--format", "csv"}).out) == 9);
    CHECK(run(folder, {"export", "--format", "recording", "--db", "tuned.db", "--device", text, "-o", "one.jsonl"})
              .status == 0);
    CHECK(lines_of(run(folder, {"export", "--format", "csv", "--db", "tuned.db", "--device", text}).out) == 2);
    CHECK(run(folder, {"report", "--db", "tuned.db", "--device", text, "--run", "all", "-o", "page.html"}).status == 0);
  }
  const Finished several = run(folder, {"query", "--db", "tuned.db", "--device", "MAXN"});
  CHECK(several.status == 0);
  CHECK(lines_of(several.err) == 1);
  CHECK(contains(several.err, "--device 'MAXN': 2 devices match"));
  CHECK(run(folder, {"export", "--format", "recording", "--db", "tuned.db", "--device", "MAXN", "-o", "x.jsonl"})
            .status == 2);
}

TEST_CASE("devices of one name and mode are told apart wherever they are listed") {
  const TempFolder folder;
  const std::vector<db::DeviceIdentity> both{orin(14, ""), orin(16, "")};
  make_orins(folder / "tuned.db", both);
  for (const std::vector<std::string>& command : {std::vector<std::string>{"query"}, {"query", "--all"},
           {"export", "--format", "csv"}, {"export", "--format", "markdown"}, {"export", "--format", "header"}}) {
    std::vector<std::string> arguments = command;
    arguments.insert(arguments.end(), {"--db", "tuned.db"});
    const Finished result = run(folder, arguments);
    INFO(result.out);
    for (const db::DeviceIdentity& device : both) CHECK(contains(result.out, db::text(device)));
  }
}

TEST_CASE("query and export name columns alike, and both have the problem's whole key") {
  const TempFolder folder;
  make_database(folder / "tuned.db");
  const Finished query = run(folder, {"query", "--db", "tuned.db", "--format", "csv"});
  const Finished exported = run(folder, {"export", "--db", "tuned.db", "--format", "csv"});
  CHECK(exported.out == query.out);
  CHECK(contains(first_line(query.out), "type,trans,m,n,k,lda,ldb,ldc,align_bytes,beta,problem,device,"));
}

TEST_CASE("an imported time far beyond the device's peak is refused in one line, and nothing is imported") {
  const TempFolder folder;
  make_database(folder / "tuned.db");
  run(folder, {"export", "--format", "json", "--db", "tuned.db", "-o", "good.json"});
  auto json = nlohmann::json::parse(read_file(folder / "good.json"));
  json["entries"][0]["median_us"] = 1e-4;
  write_file(folder / "bad.json", json.dump());
  const Finished bad = run(folder, {"import", "good.json", "bad.json", "--db", "new.db"});
  CHECK(bad.status == 2);
  CHECK(lines_of(bad.err) == 1);
  CHECK(contains(bad.err, "bad.json: "));
  CHECK(contains(bad.err, "and the device's peak is"));
  CHECK_FALSE(std::filesystem::exists(folder / "new.db"));
  json["entries"][0]["device"]["name"] = "A GPU that nobody knows";
  json["entries"][0]["device"]["bandwidth_class_gbps"] = 0;
  write_file(folder / "unknown.json", json.dump());
  CHECK(run(folder, {"import", "good.json", "unknown.json", "--db", "new.db"}).status == 0);

  // A database that somebody gives is no better.
  db::Store store = db::Store::open(folder / "other.db");
  db::Record entry = made_record({made_problems()[0]}, 1)[0];
  entry.outcome = {db::Status::ok, "", db::Timing{1e-4, 0.01, 21}};
  store.record(entry);
  const Finished merged = run(folder, {"merge", "other.db", "--db", "new.db"});
  CHECK(merged.status == 2);
  CHECK(contains(merged.err, "other.db: "));
}
