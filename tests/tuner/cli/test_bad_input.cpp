// Bad input: one line that names the place and what was expected, exit status 2, nothing written, nothing lost.
#include "db/files/bundle.hpp"
#include "tests/catch.hpp"
#include "tests/tuner/made_recording.hpp"
#include "tests/tuner/run_binary.hpp"

using namespace tilesmith;
using namespace tilesmith::tests;

namespace {

void check_refused(const Finished& result, const std::vector<std::string>& parts) {
  INFO(result.err);
  CHECK(result.status == 2);
  CHECK(result.out.empty());
  CHECK(lines_of(result.err) == 1);
  for (const std::string& part : parts) {
    INFO(part);
    CHECK(contains(result.err, part));
  }
}

/// Runs `tune` with a database in the folder; it must not come to be.
void check_tune_refused(const std::vector<std::string>& options, const std::vector<std::string>& parts) {
  const TempFolder folder;
  write_file(folder / "bad.txt", "# comment\nf16f32 NN 64 64 64\nf16f32 NN 64 64\n");
  make_recording(folder / "recording.jsonl");
  write_file(folder / "other.jsonl", "{\"something\": \"else\"}\n");
  std::vector<std::string> arguments{"tune", "--db", folder / "new.db"};
  arguments.insert(arguments.end(), options.begin(), options.end());
  check_refused(run(folder, arguments), parts);
  CHECK_FALSE(std::filesystem::exists(folder / "new.db"));
}

const std::vector<std::string> kReplay{"--replay", "recording.jsonl"};

std::vector<std::string> with_replay(std::vector<std::string> options) {
  options.insert(options.end(), kReplay.begin(), kReplay.end());
  return options;
}

}  // namespace

TEST_CASE("a workload line that does not parse is refused by file and line") {
  check_tune_refused(with_replay({"--workload", "bad.txt"}), {"bad.txt:3", "type trans M N K"});
}

TEST_CASE("a workload that is neither file nor built-in is refused with the names there are") {
  check_tune_refused(with_replay({"--workload", "quikc"}), {"quikc", "quick", "squares"});
}

TEST_CASE("an unknown type pair, transposes, family or strategy is refused with those there are") {
  check_tune_refused(with_replay({"--type", "f16f23", "--shape", "64"}), {"--type", "f16f23", "bf16f32"});
  check_tune_refused(with_replay({"--trans", "NX", "--shape", "64"}), {"--trans", "NX", "TT"});
  check_tune_refused(with_replay({"--family", "cutlass"}), {"--family", "cutlass", "wmma"});
  check_tune_refused(with_replay({"--strategy", "luck"}), {"--strategy", "luck", "random"});
}

TEST_CASE("a dimension that is negative, zero, huge or no number is refused") {
  for (const char* shape :
      {"-64x64x64", "0x64x64", "64x64x268435457", "64x64x99999999999999999999", "64xx64", "64x64", "abc", "1e3"}) {
    INFO(shape);
    check_tune_refused(with_replay({std::string("--shape=") + shape}), {"--shape", shape, "MxNxK"});
  }
}

TEST_CASE("a budget that is no time is refused") {
  for (const char* budget : {"10x", "-5m", "0s", "m", "1e99h"}) {
    INFO(budget);
    check_tune_refused(with_replay({std::string("--budget=") + budget + "", "--shape", "256"}), {"--budget"});
  }
}

TEST_CASE("a replay file of another format, or none, is refused") {
  check_tune_refused({"--shape", "256", "--replay", "other.jsonl"}, {"other.jsonl"});
  check_tune_refused({"--shape", "256", "--replay", "missing.jsonl"}, {"missing.jsonl"});
}

TEST_CASE("without a device and without a replay, tune says what can be done") {
  check_tune_refused({"--shape", "256"}, {"no GPU here: ", "--replay FILE", "tilesmith compile --arch sm_87"});
}

TEST_CASE("the option --as is refused where it means nothing, before a device is asked for") {
  check_tune_refused({"--shape", "256", "--as", "sm_42"}, {"--as", "sm_42", "sm_87"});
  check_tune_refused({"--shape", "256", "--as", "compute_87"}, {"--as", "compute_87", "sm_87"});
  check_tune_refused(with_replay({"--shape", "256", "--as", "sm_87"}), {"--as", "--replay"});
  check_tune_refused({"--shape", "256", "--dry-run", "--arch", "sm_87", "--as", "sm_87"}, {"--as", "--arch"});
  check_tune_refused({"--shape", "256", "--as"}, {"--as"});
  check_tune_refused({"--shape", "256", "--as", "sm_87"}, {"no GPU here: "});
  const TempFolder folder;
  check_refused(run(folder, {"bench", "--shape", "256", "--as", "sm_42"}), {"--as", "sm_42", "sm_87"});
  check_refused(run(folder, {"bench", "--shape", "256", "--as", "sm_87"}), {"no GPU here: "});
  check_refused(run(folder, {"bench", "--shape", "256", "--peer", "mkl"}), {"--peer 'mkl': expected cublaslt or read"});
  check_refused(run(folder, {"verify", "--shape", "256", "--as", "orin"}), {"--as", "orin", "sm_87"});
  check_refused(run(folder, {"verify", "--shape", "256", "--as", "sm_87"}), {"no GPU here: ", "tilesmith compile"});
  check_refused(run(folder, {"verify", "--shape", "256", "--family", "cutlass"}), {"--family", "cutlass", "wmma"});
  check_refused(run(folder, {"verify", "--shape", "256", "--all", "--max-configs", "3"}), {"--max-configs"});
  check_refused(run(folder, {"verify", "--with", "weights=s4_g128", "--type", "f16f32f16", "--trans", "NT"}),
      {"no GPU here: "});  // any shape would do
  check_refused(run(folder, {"verify", "--bundle", "gone.tsb", "--with", "beta=any"}), {"--bundle", "no problems"});
  check_refused(run(folder, {"verify", "--bundle", "gone.tsb"}), {"gone.tsb"});
  check_refused(run(folder, {"verify", "--bundle", "gone.tsb", "--shape", "256"}), {"--bundle", "no problems"});
  check_refused(run(folder, {"verify", "--bundle", "gone.tsb", "--spread"}), {"--bundle", "--spread"});
  check_refused(run(folder, {"worker", "measure", "--as", "sm_42"}), {"--as sm_42", "[--as ARCH]"});
}

TEST_CASE("an unwritable log, record or database path is refused") {
  check_tune_refused(with_replay({"--shape", "256", "--log", "no/such/folder/tune.log"}), {"--log", "no/such/folder"});
  check_tune_refused(
      with_replay({"--shape", "256", "--record", "no/such/folder/r.jsonl"}), {"--record", "no/such/folder"});
  const TempFolder folder;
  make_recording(folder / "recording.jsonl");
  check_refused(run(folder, {"tune", "--type", "f16f32", "--shape", "256", "--replay", "recording.jsonl", "--db",
                                "no/such/folder/tuned.db"}),
      {"no/such/folder/tuned.db"});
}

TEST_CASE("a missing, corrupt or newer database is refused and left as it was") {
  const TempFolder folder;
  check_refused(run(folder, {"query", "--db", "missing.db"}), {"missing.db"});
  CHECK_FALSE(std::filesystem::exists(folder / "missing.db"));
  check_refused(run(folder, {"report", "--out", "r.html"}), {"tuned.db"});  // the default one
  check_refused(run(folder, {"query"}, {{"TILESMITH_DB", "named.db"}}), {"named.db"});

  write_file(folder / "corrupt.db", "this is no database, whatever its name says; it is only text\n");
  check_refused(run(folder, {"query", "--db", "corrupt.db"}), {"corrupt.db"});
  check_refused(run(folder, {"explain", "f16f32", "NN", "64", "64", "64", "--db", "corrupt.db"}), {"corrupt.db"});
  CHECK(contains(read_file(folder / "corrupt.db"), "this is no database"));

  make_database(folder / "newer.db");
  // The schema's version is the big-endian user_version at byte 60 of the file's header.
  std::string bytes = read_file(folder / "newer.db");
  bytes[62] = '\x7f';
  write_file(folder / "newer.db", bytes);
  check_refused(run(folder, {"query", "--db", "newer.db"}), {"newer.db"});
  CHECK(read_file(folder / "newer.db") == bytes);
}

TEST_CASE("a database without records are refused with what brings some") {
  const TempFolder folder;
  db::Store::open(folder / "empty.db");
  check_refused(run(folder, {"explain", "f16f32 NN 64 64 64", "--db", "empty.db"}),
      {"empty.db", "holds records of no device yet", "`tilesmith tune` or `tilesmith import`, or --arch ARCH"});
  check_refused(run(folder, {"compile", "--device", "H200", "--first", "1", "--db", "empty.db"}),
      {"empty.db", "holds records of no device yet", "`tilesmith tune` or `tilesmith import`"});
}

TEST_CASE("bad filters and formats of query, explain and export are refused") {
  const TempFolder folder;
  make_database(folder / "tuned.db");
  const auto refused = [&](std::vector<std::string> arguments, const std::vector<std::string>& parts) {
    arguments.insert(arguments.end(), {"--db", "tuned.db"});
    check_refused(run(folder, arguments), parts);
  };
  refused({"query", "--type", "f8"}, {"--type", "f8"});
  refused({"query", "--status", "fine"}, {"--status", "fine", "mismatch"});
  refused({"query", "--format", "xml"}, {"--format", "xml", "table, json or csv"});
  refused({"query", "--sql", "DELETE FROM records"}, {"--sql"});
  refused({"query", "--sql", "SELEKT 1"}, {"SELEKT"});
  refused({"explain", "f16f32 NN 64 64"}, {"PROBLEM", "type transposes M N K"});
  refused({"explain", "f16f32", "NN", "64", "64", "minus"}, {"PROBLEM", "minus"});
  refused({"explain", "f16f32 NN 64 64 64", "--device", "Orin"}, {"--device", "Orin", "NVIDIA H200"});
  refused({"query", "--device", "Orin"}, {"--device 'Orin'", "NVIDIA H200"});
  refused({"query", "--device", "Orin", "--all", "--format", "csv"}, {"--device 'Orin'", "NVIDIA H200"});
  refused({"export", "--format", "json", "--device", "Orin", "-o", "x.jsonl"}, {"--device 'Orin'", "NVIDIA H200"});
  refused({"export", "--format", "yaml"}, {"--format", "yaml", "bundle"});
  refused({"export", "--format", "bundle"}, {"-o FILE"});
  refused({"export", "--format", "bundle", "-o", "-"}, {"--output '-'", "bundle"});
  refused({"export", "--format", "recording", "-o", "-"}, {"--output '-'", "recording"});
  CHECK_FALSE(std::filesystem::exists(folder / "-"));
  refused({"export", "--format", "json", "-o", "no/such/folder/x.json"}, {"--output", "no/such/folder"});
  refused({"export", "--format", "recording", "-o", "x.jsonl", "--device", "Orin"}, {"--device", "Orin"});
  CHECK_FALSE(std::filesystem::exists(folder / "x.jsonl"));
}

TEST_CASE("import and merge refuse all if one file is bad, and make no database") {
  const TempFolder folder;
  make_recording(folder / "good.jsonl");
  make_database(folder / "good.db");
  write_file(folder / "bad.json", "{\"tilesmith_export\": 1, \"entries\": [");
  check_refused(run(folder, {"import", "good.jsonl", "bad.json", "--db", "new.db"}), {"bad.json"});
  check_refused(run(folder, {"import", "missing.json", "--db", "new.db"}), {"missing.json"});
  check_refused(run(folder, {"merge", "good.db", "missing.db", "--db", "new.db"}), {"missing.db"});
  check_refused(run(folder, {"merge", "good.db", "--db", "good.db"}), {"good.db", "itself"});
  check_refused(
      run(folder, {"merge", "good.db", "good.jsonl", "--db", "new.db"}), {"good.jsonl", "`tilesmith import` reads"});
  CHECK_FALSE(std::filesystem::exists(folder / "new.db"));
}

TEST_CASE("a bundle or a recording in the place of a database is named, with what reads it") {
  const TempFolder folder;
  make_recording(folder / "r.jsonl");
  make_recording(folder / "r.jsonl.zst");
  db::Bundle bundle;
  bundle.arch = "sm_90a";
  bundle.device = made_device();
  db::save_bundle(bundle, folder / "x.tsb");
  for (const char* command : {"query", "report", "merge", "devices"}) {
    for (const auto& [file, kind] : {std::pair("x.tsb", "is a bundle"), {"r.jsonl", "is a recording or a JSON export"},
             {"r.jsonl.zst", "is a recording"}}) {
      std::vector<std::string> arguments{command, "--db", file};
      if (command == std::string("report")) arguments.insert(arguments.end(), {"--out", "r.html"});
      if (command == std::string("merge")) arguments = {command, file, "--db", "new.db"};
      check_refused(
          run(folder, arguments), {file, kind, "expected a Tilesmith database; `tilesmith import` reads it into one"});
    }
  }
  CHECK_FALSE(std::filesystem::exists(folder / "new.db"));
}

TEST_CASE("an unknown architecture is refused with those there are") {
  const TempFolder folder;
  check_refused(
      run(folder, {"compile", "--arch", "sm_42", "--shape", "64", "--db", "new.db"}), {"--arch", "sm_42", "sm_87"});
  check_refused(run(folder, {"compile", "--shape", "64", "--db", "new.db"}), {"--arch", "sm_87"});
  check_refused(run(folder, {"space", "--family", "wmma", "--arch", "sm_1"}), {"--arch", "sm_1"});
  for (const char* real : {"sm_75", "sm_100", "sm_110"}) {
    check_refused(run(folder, {"explain", "f16f32 NN 64 64 64", "--arch", real}),
        {"--arch", real, "is not supported; expected one of sm_80, "});
    check_refused(run(folder, {"space", "--family", "wmma", "--arch", real}),
        {"--arch", real, "is not supported; expected one of sm_80, "});
  }
  CHECK_FALSE(std::filesystem::exists(folder / "new.db"));
}
