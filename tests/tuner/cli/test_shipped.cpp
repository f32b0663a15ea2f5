// What is found where there is no database of one's own, and no GPU: the bests and the recording that ship.
#include <chrono>
#include <nlohmann/json.hpp>
#include <thread>

#include "tests/catch.hpp"
#include "tests/tuner/made_recording.hpp"
#include "tests/tuner/run_binary.hpp"

using namespace tilesmith;
using namespace tilesmith::tests;

namespace {

const std::vector<std::vector<std::string>> kReaders{{"query", "--type", "f16f32", "--shape", "4096"},
    {"explain", "f16f32 NN 4096 4096 4096"}, {"export", "--format", "csv", "--type", "f16f32"}};

}  // namespace

TEST_CASE("without a database of one's own the bests that ship answer, and one line on stderr says so") {
  for (const bool empty : {false, true}) {  // an empty one is what `compile` leaves
    const TempFolder folder;
    const std::string own = ".local/share/tilesmith/tuned.db";
    if (empty) {
      std::filesystem::create_directories(folder / ".local/share/tilesmith");
      db::Store::open(folder / own);
    }
    for (const std::vector<std::string>& command : kReaders) {
      const Finished result = run(folder, command);
      INFO(result.err);
      CHECK(result.status == 0);
      CHECK(contains(result.out, "f16f32"));
      CHECK(lines_of(result.err) == 1);
      CHECK(contains(result.err, own + (empty ? " holds no records yet; " : " is not there yet; ")));
      CHECK(contains(result.err, "these are the bests that ship, "));
      CHECK(contains(result.err, "share/tilesmith/bests/h200.db\n"));
    }
    const Finished json =
        run(folder, {"query", "--type", "f16f32", "--shape", "4096", "--trans", "NN", "--format", "json"});
    const auto parsed = nlohmann::json::parse(json.out);
    REQUIRE(parsed.size() == 1);
    CHECK(parsed[0]["device"].get<std::string>().starts_with("NVIDIA H200"));
    CHECK(std::filesystem::exists(folder / own) == empty);  // reading makes nothing
    const Finished other = run(folder, {"query", "--type", "f16f32", "--shape", "4096", "--device", "H100"});
    CHECK(contains(other.out, "NVIDIA H100"));
    CHECK(contains(other.err, "bests/h100.db"));
    const Finished nobodys = run(folder, {"query", "--device", "A100"});
    CHECK(nobodys.status == 2);
    CHECK(lines_of(nobodys.err) == 1);
    CHECK(contains(nobodys.err, own));
  }
}

TEST_CASE("a database that is named, or has records, is the one that answers") {
  const TempFolder folder;
  for (const std::vector<std::string>& command : kReaders) {
    std::vector<std::string> named = command;
    named.insert(named.end(), {"--db", "missing.db"});
    const Finished result = run(folder, named);
    CHECK(result.status == 2);
    CHECK(result.out.empty());
    CHECK(contains(result.err, "missing.db: there is no such file"));
    CHECK(run(folder, command, {{"TILESMITH_DB", "missing.db"}}).status == 2);
  }
  db::Store::open(folder / "empty.db");
  const Finished empty = run(folder, {"query", "--db", "empty.db"});
  CHECK(empty.err == "no entry matches\n");

  std::filesystem::create_directories(folder / ".local/share/tilesmith");
  make_database(folder / ".local/share/tilesmith/tuned.db");
  const Finished own = run(folder, {"query"});
  CHECK(contains(own.out, "s8s32"));
  CHECK(own.err.empty());
  write_file(folder / ".local/share/tilesmith/tuned.db", "no database");
  CHECK(run(folder, {"query"}).status == 2);  // of damage nothing may take the place
}

TEST_CASE("a recording that ships is replayed by its name, and a file of that name comes first") {
  const TempFolder folder;
  const Finished named = run(folder,
      {"tune", "--replay", "h100", "--type", "bf16f32", "--shape", "4096", "--max-candidates", "3", "--db", "t.db"});
  INFO(named.err);
  REQUIRE(named.status == 0);
  CHECK(contains(named.out, "NVIDIA H100"));
  REQUIRE(run(folder, {"report", "--db", "t.db", "--out", "r.html"}).status == 0);
  CHECK(contains(read_file(folder / "r.html"), "1 problem tuned on NVIDIA H100"));
  make_recording(folder / "h100");
  CHECK(contains(run(folder, {"tune", "--replay", "h100", "--shape", "256", "--family", "simt"}).out, "NVIDIA H200"));
  const Finished none = run(folder, {"tune", "--replay", "h300", "--shape", "256"});
  CHECK(none.status == 2);
  CHECK(contains(none.err, "h300"));
}

TEST_CASE("an export that takes long says what it does within a second, on stderr alone") {
  const TempFolder folder;
  make_database(folder / "tuned.db");
  Started exporting(
      folder, {"export", "--format", "bundle", "--cover", "--type", "f16f32", "--arch", "sm_87", "-o", "any.tsb"});
  std::string said;
  for (int i = 0; i < 20 && said.empty() && !exporting.ended(); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    said = exporting.err_so_far();
  }
  INFO(said);
  CHECK((contains(said, "choosing and compiling kernels") ||
         contains(said, "compiled here")));  // where there is no NVRTC it is refused
  exporting.signal(SIGINT);
  const Finished ended = exporting.wait();
  CHECK(ended.out.empty());
  CHECK_FALSE(std::filesystem::exists(folder / "any.tsb"));
}
