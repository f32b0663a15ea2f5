// tilesmith tune against a recording: the same loop as on a device.
#include <fmt/format.h>

#include <chrono>
#include <thread>

#include "tests/catch.hpp"
#include "tests/tuner/made_recording.hpp"
#include "tests/tuner/run_binary.hpp"

using namespace tilesmith;
using namespace tilesmith::tests;

namespace {

std::vector<std::string> replay(std::vector<std::string> more = {}) {
  std::vector<std::string> arguments{"tune", "--workload", "workload.txt", "--replay", "recording.jsonl", "--strategy",
      "exhaustive", "--family", "simt"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

void prepare(const TempFolder& folder) {
  make_recording(folder / "recording.jsonl");
  write_file(folder / "workload.txt", made_workload());
}

}  // namespace

TEST_CASE("a replay ends with a table of bests on stdout and its log on stderr") {
  const TempFolder folder;
  prepare(folder);
  const Finished result = run(folder, replay());
  INFO(result.err);
  REQUIRE(result.status == 0);
  CHECK(contains(result.out, "NVIDIA H200"));
  CHECK(contains(result.out, "TFLOP/s|TOPS"));
  CHECK(contains(result.out, "exact"));
  CHECK(contains(result.out, "10.00"));  // the fastest that was recorded
  CHECK_FALSE(contains(result.out, "tuning"));
  CHECK(contains(result.err, "(replayed)"));
  CHECK(contains(result.err, "[1/2] f16f32 NN 256 256 256: best 10.00 us"));
  CHECK(contains(result.err, "ended: done"));
  CHECK_FALSE(contains(result.err, "\x1b"));                // no terminal: no control sequences
  CHECK_FALSE(std::filesystem::exists(folder / ".local"));  // without --db a replay keeps nothing
}

TEST_CASE("problems that a recording lacks are told at once and left out; without any of it the replay is refused") {
  const TempFolder folder;
  prepare(folder);
  write_file(folder / "workload.txt", made_workload() + "f16f32 NN 72 64 64\nbf16f32 NN 64 64 64\n");
  const Finished some = run(folder, replay());
  INFO(some.err);
  CHECK(some.status == 0);
  for (const char* missing : {"f16f32 NN 72 64 64", "bf16f32 NN 64 64 64"}) {
    CHECK(contains(some.err, std::string("recording.jsonl: the recording has no outcome of ") + missing + "\n"));
  }
  CHECK(contains(some.err, "tuning 2 problems"));
  CHECK_FALSE(contains(some.err, "of the chosen families"));

  write_file(folder / "workload.txt", "f16f32 NN 72 64 64\nbf16f32 NN 64 64 64\n");
  const Finished none = run(folder, replay({"--db", "new.db"}));
  CHECK(none.status == 2);
  CHECK(lines_of(none.err) == 1);
  CHECK(contains(none.err,
      "--replay 'recording.jsonl': the recording has no outcome of any of the 2 problems; expected some of its 2 "
      "problems, such as "));
  CHECK_FALSE(std::filesystem::exists(folder / "new.db"));
  CHECK(run(folder, replay({"--dry-run"})).status == 0);  // which counts the space
}

TEST_CASE("a second run with the same database repeats nothing") {
  const TempFolder folder;
  prepare(folder);
  REQUIRE(run(folder, replay({"--db", "tuned.db"})).status == 0);
  const Finished again = run(folder, replay({"--db", "tuned.db"}));
  REQUIRE(again.status == 0);
  CHECK(contains(again.err, "ended: done; 0 candidates tried, 16 known before"));
  CHECK(contains(again.out, "10.00"));
}

TEST_CASE("the report after a replay shows what the replay took from the recording, and no time below zero") {
  const TempFolder folder;
  prepare(folder);
  std::string recording =
      read_file(folder / "recording.jsonl");  // of several nights, the later entries of earlier ones
  for (std::size_t at = 0, entry = 0; (at = recording.find("2026-01-31T", at)) != std::string::npos; at += 11, ++entry)
    recording.replace(at, 11, fmt::format("2025-12-{:02}T", 29 - entry));
  write_file(folder / "recording.jsonl", recording);
  REQUIRE(run(folder, replay({"--db", "tuned.db"})).status == 0);
  for (const std::vector<std::string>& which : {std::vector<std::string>{}, {"--run", "all"}, {"--since", "1h"}}) {
    std::vector<std::string> arguments{"report", "--db", "tuned.db", "--out", "report.html"};
    arguments.insert(arguments.end(), which.begin(), which.end());
    const Finished result = run(folder, arguments);
    CHECK(contains(result.out, "report.html: 2 problems, 16 candidates (2 failed) in 0"));
    const std::string page = read_file(folder / "report.html");
    CHECK_FALSE(contains(page, "No outcome was recorded"));
    CHECK_FALSE(contains(page, ">-"));  // a cell or a card with a negative number
    CHECK_FALSE(contains(page, "in -"));
    for (const char* part : {"2 problems tuned on NVIDIA H200 in", "10.00 µs", "suite: C["}) {
      INFO(part);
      CHECK(contains(page, part));
    }
  }
}

TEST_CASE("with --log a file is written, with --record a recording that can be replayed again") {
  const TempFolder folder;
  prepare(folder);
  const Finished first = run(folder, replay({"--log", "tune.log", "--record", "again.jsonl.zst"}));
  INFO(first.err);
  REQUIRE(first.status == 0);
  CHECK(contains(read_file(folder / "tune.log"), "mismatch"));  // the file has every outcome
  CHECK_FALSE(contains(first.err, "suite:"));                   // the console only with --verbose
  const Finished second = run(folder, {"tune", "--workload", "workload.txt", "--replay", "again.jsonl.zst",
                                          "--strategy", "exhaustive", "--family", "simt"});
  REQUIRE(second.status == 0);
  CHECK(second.out == first.out);
}

TEST_CASE(
    "candidates none of which compiles end a run with status 2 and the first error of their family, on one device and on several") {
  const TempFolder folder;
  db::Store recording = db::Store::in_memory();
  for (db::Record entry : made_record(made_problems(), 8)) {
    entry.outcome = {db::Status::compile_failed, "simt.cu(7): error: identifier \"betta\" is undefined", {}};
    recording.record(entry);
  }
  db::save_recording(recording, {}, folder / "recording.jsonl");
  write_file(folder / "workload.txt", made_workload());
  for (const std::vector<std::string>& more : {std::vector<std::string>{"--db", "one.db"}, {"--db", "one.db"},
           {"--db", "two.db", "--replay", "recording.jsonl", "--device", "all"}}) {
    const Finished result = run(folder, replay(more));
    INFO(result.err);
    CHECK(result.status == 2);
    CHECK(contains(result.err, "candidates compiled; `tilesmith query --status compile_failed` shows why"));
  }
  const Finished first = run(folder, replay());
  const std::string error = "does not compile: simt.cu(7): error: identifier \"betta\" is undefined";
  REQUIRE(contains(first.err, error));
  CHECK(first.err.find(error) == first.err.rfind(error));  // of a family the first alone
  CHECK(contains(run(folder, {"query", "--status", "compile_failed", "--db", "one.db"}).out, "betta"));

  db::Store mixed = db::Store::in_memory();
  std::vector<db::Record> entries = made_record(made_problems(), 8);
  entries.front().outcome = {db::Status::compile_failed, "error", {}};
  mixed.record(entries);
  db::save_recording(mixed, {}, folder / "recording.jsonl");
  CHECK(run(folder, replay()).status == 0);
}

TEST_CASE("a dry run counts configs and writes nothing") {
  const TempFolder folder;
  prepare(folder);
  const Finished result = run(folder, {"tune", "--workload", "workload.txt", "--replay", "recording.jsonl", "--dry-run",
                                          "--family", "simt,wmma", "--db", "tuned.db"});
  REQUIRE(result.status == 0);
  CHECK(contains(result.out, "f16f32 NN 256 256 256"));
  CHECK(contains(result.out, "wmma"));
  CHECK(contains(result.out, "2 problems, at most "));
  CHECK_FALSE(std::filesystem::exists(folder / "tuned.db"));
}

TEST_CASE("a dry run of thousands of problems takes as long as one of their signatures") {
  const TempFolder folder;
  std::string lines;
  for (int i = 0; i < 20'000; ++i)
    lines += fmt::format("{} {} {} 64\n", i % 2 == 0 ? "f16f32 NN" : "bf16f32 TN", 1 + i, 1 + i % 777);
  write_file(folder / "many.txt", lines);
  Started started(folder, {"tune", "--workload", "many.txt", "--dry-run", "--arch", "sm_87", "--family", "mma"});
  const auto began = std::chrono::steady_clock::now();
  const Finished result = started.wait();
  CHECK(std::chrono::steady_clock::now() - began < std::chrono::seconds(30));  // some hours, counted by problem
  REQUIRE(result.status == 0);
  CHECK(lines_of(result.out) == 1 + 20'000 + 1 + 1 + 2 + 1 + 1);
  CHECK(contains(result.out, "20,000 problems, at most "));
  const std::string of_space =
      run(folder, {"space", "--family", "mma", "--type", "f16f32", "--trans", "NN", "--arch", "sm_87"}).out;
  const std::string legal = of_space.substr(0, of_space.find(" legal configs"));
  CHECK(contains(result.out, legal.substr(legal.rfind('\n') + 1)));
}

TEST_CASE("a recording that lacks most of a workload says so in some lines") {
  const TempFolder folder;
  prepare(folder);
  std::string lines = made_workload();
  for (int i = 1; i <= 300; ++i) lines += fmt::format("f16f32 NN {} 64 64\n", i);
  write_file(folder / "workload.txt", lines);
  const Finished result = run(folder, replay());
  CHECK(result.status == 0);
  CHECK(contains(result.err, "recording.jsonl: nor of 280 problems more"));
  CHECK(lines_of(result.err) < 40);
  CHECK(contains(result.err, "tuning 2 problems"));
}

TEST_CASE("problems are chosen by type, transposes and shape, and a workload is filtered by them") {
  const TempFolder folder;
  prepare(folder);
  const std::vector<std::string> dry{"tune", "--dry-run", "--arch", "sm_87", "--family", "simt"};
  const auto listed = [&](std::vector<std::string> options) {
    options.insert(options.begin(), dry.begin(), dry.end());
    return run(folder, options).out;
  };
  const std::string crossed =
      listed({"--type", "f16f32,s8s32", "--trans", "NN", "--trans", "TT", "--shape", "64", "--shape", "8x16x24"});
  CHECK(contains(crossed, "8 problems"));
  CHECK(contains(crossed, "s8s32 TT 8 16 24"));
  CHECK(contains(listed({"--type", "all", "--trans", "all", "--shape", "64"}), "116 problems"));
  const std::string filtered = listed({"--workload", "workload.txt", "--type", "s8s32"});
  CHECK(contains(filtered, "1 problem,"));
  CHECK(contains(filtered, "s8s32 NT 128 256 512"));
  CHECK_FALSE(contains(filtered, "f16f32"));
}

TEST_CASE("fields that --with names are those of every --shape, and what is wrong with them is said in a line") {
  const TempFolder folder;
  prepare(folder);
  const auto ran = [&](std::vector<std::string> options) {
    options.insert(options.begin(), {"tune", "--dry-run", "--arch", "sm_87", "--family", "simt"});
    return run(folder, options);
  };
  const std::string listed =
      ran({"--shape", "64", "--shape", "8x16x24", "--with", "beta=any,epilogue=bias_n+relu"}).out;
  CHECK(contains(listed, "f16f32 NN 64 64 64 beta=any epilogue=bias_n+relu"));
  CHECK(contains(listed, "f16f32 NN 8 16 24 beta=any epilogue=bias_n+relu"));
  for (const auto& [options, expected] : std::vector<std::pair<std::vector<std::string>, const char*>>{
           {{"--with", "beta=any"}, "--with is for --shape: expected one"},
           {{"--shape", "64", "--with", "epilogue=tanh"}, "--with: 'epilogue=tanh': expected"},
           {{"--shape", "64", "--type", "s8s32", "--with", "epilogue=gelu"},
               "--with: epilogue is gelu: expected relu or none"}}) {
    const Finished refused = ran(options);
    INFO(refused.err);
    CHECK(refused.status == 2);
    CHECK(contains(refused.err, expected));
  }
}

TEST_CASE(
    "of all type pairs and transposes those that --with cannot be of are left out, of some that are named none is") {
  const TempFolder folder;
  prepare(folder);
  const auto ran = [&](std::vector<std::string> options) {
    options.insert(options.begin(), {"tune", "--dry-run", "--arch", "sm_87", "--family", "simt", "--shape", "64"});
    return run(folder, options);
  };
  const std::string listed = ran({"--type", "f16f32,s8s32", "--trans", "all", "--with", "sparsity=a_2to4"}).out;
  for (const char* type : {"f16f32", "s8s32"}) {
    CHECK(contains(listed, std::string(type) + " NN 64 64 64 sparsity=a_2to4"));
    CHECK(contains(listed, std::string(type) + " NT 64 64 64 sparsity=a_2to4"));
    CHECK_FALSE(contains(listed, std::string(type) + " TN"));
  }
  CHECK_FALSE(contains(ran({"--type", "all", "--trans", "NT", "--with", "weights=s4_g64"}).out, "f64f64"));
  const Finished named = ran({"--trans", "NN,TN", "--with", "sparsity=a_2to4"});
  CHECK(named.status == 2);
  CHECK(contains(named.err, "--with: sparsity is a_2to4: expected transposes NN or NT"));
  const Finished none = ran({"--trans", "all", "--with", "sparsity=a_2to3"});
  CHECK(none.status == 2);
  CHECK(contains(none.err, "--with: "));
}

TEST_CASE("the option --max-candidates ends each problem early") {
  const TempFolder folder;
  prepare(folder);
  const Finished few = run(folder, replay({"--max-candidates", "3"}));
  CHECK(few.status == 0);
  CHECK(contains(few.err, "6 candidates tried"));
}

TEST_CASE("Ctrl-C ends a run with what was found, and the next run goes on where it stopped") {
  const TempFolder folder;
  prepare(folder);
  std::vector<Problem> problems;
  for (int k = 64; k <= 512; k += 64) problems.push_back(packed_problem({*find_type_pair("f16f32"), {}}, 64, 64, k));
  db::Store recording = db::Store::in_memory();
  std::string workload;
  for (const db::Record& entry : made_record(problems, 400)) recording.record(entry);
  for (const Problem& problem : problems) workload += text(problem) + '\n';
  db::save_recording(recording, {}, folder / "recording.jsonl");
  write_file(folder / "workload.txt", workload);

  Started started(folder, replay({"--db", "tuned.db", "--verbose"}));
  for (int i = 0; i < 600 && !contains(started.err_so_far(), " us ±"); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  started.signal(SIGINT);
  const Finished result = started.wait();
  CHECK(result.status == 130);
  CHECK(contains(result.err, "ended: interrupted"));
  CHECK(contains(result.out, "exact"));
  const Finished again = run(folder, replay({"--db", "tuned.db", "--budget", "2s"}));
  CHECK(again.status == 0);
  CHECK(contains(again.err, "[1/8]"));
  CHECK_FALSE(contains(again.err, " candidates tried, 0 known before"));
}

TEST_CASE("the database is where --db, else TILESMITH_DB, else XDG_DATA_HOME says") {
  const TempFolder folder;
  make_database(folder / "by-variable.db");
  CHECK(contains(run(folder, {"query"}, {{"TILESMITH_DB", folder / "by-variable.db"}}).out, "f16f32"));
  std::filesystem::create_directories(folder.path() / "data" / "tilesmith");
  make_database(folder / "data/tilesmith/tuned.db");
  CHECK(contains(run(folder, {"query"}, {{"XDG_DATA_HOME", folder / "data"}}).out, "f16f32"));
}

TEST_CASE(
    "with the option --only-finalists the best on record by a former policy are timed again, and nothing is searched") {
  const TempFolder folder;
  prepare(folder);
  {
    db::Store store = db::Store::open(folder / "former.db");
    for (db::Record entry : made_record(made_problems(), 8)) {
      entry.environment.measuring_policy = "cold-3";
      entry.created_at = "2026-01-30T12:00:00.000Z";
      store.record(entry);
    }
  }
  const std::vector<std::string> words{"tune", "--workload", "workload.txt", "--replay", "recording.jsonl", "--db",
      "former.db", "--family", "simt", "--only-finalists", "--finalists", "3"};
  const Finished result = run(folder, words);
  INFO(result.err);
  REQUIRE(result.status == 0);
  CHECK(contains(result.err, "; only the best 3 on record of each"));
  CHECK(contains(result.err, "6 candidates tried"));
  const Finished again = run(folder, words);
  CHECK(contains(again.err, "0 candidates tried"));
}

TEST_CASE("a run of finalists alone searches nothing, and so takes no strategy") {
  const TempFolder folder;
  prepare(folder);
  for (const std::vector<std::string>& more :
      {std::vector<std::string>{"--strategy", "random"}, {"--max-candidates", "3"}, {"--dry-run"}}) {
    std::vector<std::string> words{
        "tune", "--workload", "workload.txt", "--replay", "recording.jsonl", "--only-finalists"};
    words.insert(words.end(), more.begin(), more.end());
    const Finished result = run(folder, words);
    INFO(result.err);
    CHECK(result.status == 2);
    CHECK(contains(result.err, "--only-finalists"));
  }
}
