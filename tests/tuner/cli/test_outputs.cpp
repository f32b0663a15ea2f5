// What a result says of its problems; results that a shell sends where no file can be replaced.
#include "tests/catch.hpp"
#include "tests/problem_of_text.hpp"
#include "tests/tuner/made_recording.hpp"
#include "tests/tuner/run_binary.hpp"

using namespace tilesmith;
using namespace tilesmith::tests;

TEST_CASE("a result on /dev/stdout goes where the shell sends it, and keeps what is there") {
  const TempFolder folder;
  make_database(folder / "a.db");
  write_file(folder / "log", "first\n");
  const std::string json = run(folder, {"export", "--format", "csv", "--db", "a.db"}).out;
  REQUIRE_FALSE(json.empty());
  CHECK(shell(folder, "tilesmith export --format csv --db a.db -o /dev/stdout >>log && echo last >>log") == 0);
  CHECK(read_file(folder / "log") == "first\n" + json + "last\n");
  CHECK(shell(folder, "tilesmith export --format csv --db a.db -o /dev/stdout | cat >piped") == 0);
  CHECK(read_file(folder / "piped") == json);
  CHECK(shell(folder,
            "tilesmith export --format csv --db a.db -o >(cat >piped.2; touch done) &&\n"
            "for i in {1..500}; do [ -e done ] && break; sleep 0.01; done") == 0);
  CHECK(read_file(folder / "piped.2") == json);
  CHECK(
      shell(folder, "exec 5>fifth; tilesmith export --format recording --db a.db --out /dev/fd/5; echo last >&5") == 0);
  CHECK(contains(read_file(folder / "fifth"), "tilesmith_recording"));
  CHECK(contains(read_file(folder / "fifth"), "\nlast\n"));
}

TEST_CASE("a file that may grow no more and a working folder that is gone are errors of a line") {
  const TempFolder folder;
  make_database(folder / "a.db");
  const auto refused = [&](const std::string& line, const std::string& expected) {
    INFO(line);
    CHECK(shell(folder, "(ulimit -f 1; " + line + ") 2>err; [ $? -eq 2 ]") == 0);
    const std::string err = read_file(folder / "err");
    INFO(err);
    CHECK(lines_of(err) == 1);
    CHECK(contains(err, expected));
    CHECK_FALSE(contains(err, "internal error"));
  };
  refused("tilesmith export --format json --db a.db -o big.json", "big.json: cannot be written: File too large");
  refused("tilesmith export --format json --db a.db >big.json", "stdout: cannot be written");
  refused("tilesmith merge a.db --db b.db", "b.db: ");
  refused("mkdir gone && cd gone && rmdir ../gone && tilesmith run --db x.db -- true",
      "the working folder: No such file or directory; expected one that exists");
  CHECK(
      shell(folder,
          "mkdir lib && touch lib/libtilesmith-cublas1{2,3}.so; ulimit -f 1; tilesmith run --shim-dir lib --db a.db -- head -c 9999 /dev/zero >big; [ $? -eq 153 ]") ==
      0);
}

TEST_CASE("a page on standard output is followed by nothing, and a log there does not meet the results") {
  const TempFolder folder;
  make_database(folder / "a.db");
  CHECK(shell(folder, "tilesmith report --db a.db --run all --out /dev/stdout >page") == 0);
  CHECK(contains(read_file(folder / "page"), "</html>"));
  CHECK_FALSE(contains(read_file(folder / "page"), "candidate in"));
  CHECK(read_file(folder / "page").rfind("</html>") + 9 > read_file(folder / "page").size());
  make_recording(folder / "recording.jsonl");
  CHECK(
      shell(folder,
          "tilesmith tune --shape 256 --family simt --replay recording.jsonl --strategy exhaustive --log /dev/stdout >all") ==
      0);
  CHECK(contains(read_file(folder / "all"), "info tuning 1 problem"));
}

TEST_CASE("query and export tell problems apart that differ in batch or epilogue alone") {
  const TempFolder folder;
  const std::vector<std::string> options{
      "batch=8 batch_mode=strided", "batch=8 batch_mode=grouped", "epilogue=bias_n+relu"};
  {
    std::vector<Problem> problems{problem_of_text("f16f32 NN 256 256 256")};
    for (const std::string& words : options) problems.push_back(problem_of_text("f16f32 NN 256 256 256 " + words));
    db::Store store = db::Store::open(folder / "tuned.db");
    for (const db::Record& entry : made_record(problems, 1)) store.record(entry);
  }
  const auto shown = [&](const std::string& arguments) {
    CHECK(shell(folder, "tilesmith " + arguments + " --db tuned.db >shown") == 0);
    return read_file(folder / "shown");
  };
  for (const char* arguments : {"query", "query --all", "query --format csv", "query --format json",
           "export --format markdown", "export --format csv", "export --format json"}) {
    const std::string text = shown(arguments);
    for (const std::string& words : options) {
      INFO(arguments << ": " << words);
      CHECK(contains(text, words));
    }
  }
  for (const char* arguments : {"query", "query --all", "export --format markdown"}) {
    const std::string text = shown(arguments);
    CHECK(contains(text.substr(0, text.find('\n')), "options"));
  }
}
