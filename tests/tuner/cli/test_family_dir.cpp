// --family-dir: a family of one's own on the command line, and its records where it is not loaded.
#include <sys/wait.h>
#include <unistd.h>

#include "kernels/families/user/load.hpp"
#include "runtime/compile/compiler.hpp"
#include "tests/catch.hpp"
#include "tests/family_folder.hpp"
#include "tests/tuner/made_recording.hpp"
#include "tests/tuner/run_binary.hpp"

using namespace tilesmith;
using namespace tilesmith::tests;

namespace {

const std::string kExample = example_family().string();

/// Every config of the example on an H200, the last one the fastest: 30 µs.
void record_example(const std::string& path) {
  load_family_dir(kExample);
  const Problem problem = packed_problem({*find_type_pair("f16f32"), {}}, 300, 200, 100);
  db::Store store = db::Store::in_memory();
  const db::Record made = made_record({problem}, 1).front();
  const std::vector<Config> configs =
      enumerate_space(*find_family("my_tiles"), {problem, *limits_for_arch("sm_90a")}).configs;
  for (std::size_t i = 0; i < configs.size(); ++i) {
    db::Record entry = made;
    entry.config = configs[i];
    entry.plan_hash = plan_hash(entry.config, problem, entry.environment.compiler_options);
    entry.outcome.timing->median_us = 30 + double(configs.size() - 1 - i);
    store.record(entry);
  }
  db::save_recording(store, {}, path);
}

/// In a process of its own: the other tests of this program shall not meet the family.
void make_recording_of_family(const std::string& path) {
  const pid_t child = ::fork();
  if (child == 0) {
    try {
      record_example(path);
      ::_exit(0);
    } catch (...) {
      ::_exit(1);
    }
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  REQUIRE(status == 0);
}

std::vector<std::string> tune(std::vector<std::string> more = {}) {
  std::vector<std::string> arguments{
      "tune", "--shape", "300x200x100", "--replay", "recording.jsonl", "--family", "my_tiles"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

void check_family_dir_refuses(const Finished& result, const std::vector<std::string>& parts) {
  INFO(result.err);
  CHECK(result.status == 2);
  CHECK(result.out.empty());
  CHECK(lines_of(result.err) == 1);
  for (const std::string& part : parts) {
    INFO(part);
    CHECK(contains(result.err, part));
  }
}

}  // namespace

TEST_CASE("a family of one's own is tuned by replay of a recording", "[family_dir]") {
  const TempFolder folder;
  make_recording_of_family(folder / "recording.jsonl");
  const bool by_variable = GENERATE(false, true);
  const std::vector<std::string> option =
      by_variable ? std::vector<std::string>{} : std::vector<std::string>{"--family-dir", kExample};
  const std::map<std::string, std::string> environment{
      {by_variable ? "TILESMITH_FAMILY_DIR" : "TILESMITH_UNUSED", kExample}};
  const auto with_option = [&](std::vector<std::string> words) {
    words.insert(words.end(), option.begin(), option.end());
    return words;
  };
  const Finished tuned = run(folder, with_option(tune({"--db", "own.db"})), environment);
  INFO(tuned.err);
  REQUIRE(tuned.status == 0);
  CHECK(contains(tuned.err, "best 30.00 us"));
  CHECK(contains(tuned.err, " 0 failed"));
  CHECK(contains(tuned.out, "exact"));
  const Finished explained =
      run(folder, with_option({"explain", "f16f32 NN 300 200 100", "--db", "own.db"}), environment);
  INFO(explained.out);
  CHECK(contains(explained.out, "my_tiles{block_m=64,block_n=64,block_k=32,thread_m=8}"));
  CHECK(contains(explained.out, "valid"));
  CHECK(contains(run(folder, with_option({"renew", "--db", "own.db"}), environment).out, "candidates stand: "));
}

TEST_CASE("records of a family that is not loaded is kept, listed and passed over, and --family-dir is named",
    "[family_dir]") {
  const TempFolder folder;
  make_recording_of_family(folder / "recording.jsonl");
  REQUIRE(run(folder, tune({"--db", "own.db", "--family-dir", kExample})).status == 0);
  const Finished explained = run(folder, {"explain", "f16f32 NN 300 200 100", "--db", "own.db"});
  INFO(explained.out << explained.err);
  CHECK(explained.status == 0);
  CHECK(contains(explained.out, "records of my_tiles are passed over: not loaded, see --family-dir"));
  CHECK_FALSE(contains(explained.out, "my_tiles{"));
  CHECK(contains(
      run(folder, {"explain", "f16f32 NN 300 200 100", "--db", "own.db", "--format", "json"}).out, "\"my_tiles\""));
  CHECK(
      contains(run(folder, {"renew", "--db", "own.db"}).out, " retired (the family is not loaded: see --family-dir)"));
  CHECK(contains(run(folder, {"query", "--db", "own.db", "--retired"}).out, "not loaded"));
  CHECK(contains(run(folder, {"query", "--db", "own.db"}).err, "records of my_tiles are passed over"));
  CHECK(contains(run(folder, {"query", "--db", "own.db", "--all"}).out, "my_tiles{"));
  for (const std::vector<std::string>& command :
      std::vector<std::vector<std::string>>{{"report", "--db", "own.db", "--output", "page.html"},
          {"export", "--db", "own.db", "--output", "out.jsonl"}, {"bench", "--help"}}) {
    const Finished other = run(folder, command);
    INFO(command.front() << ": " << other.err);
    CHECK(other.status != 1);
  }
  // With it again, all of it stands.
  CHECK_FALSE(contains(run(folder, {"renew", "--db", "own.db", "--family-dir", kExample}).out, "not loaded"));
}

TEST_CASE("the space of a family of one's own is shown with its rules", "[family_dir]") {
  const TempFolder folder;
  const Finished shown = run(folder, {"space", "--family", "my_tiles", "--arch", "sm_87", "--family-dir", kExample});
  INFO(shown.out << shown.err);
  CHECK(shown.status == 0);
  CHECK(contains(shown.out, "rows of C a block computes"));
  CHECK(contains(shown.out, "a block has at most 512 threads"));
  CHECK(contains(shown.out, "24 combinations"));
  check_family_dir_refuses(run(folder, {"space", "--family", "my_tiles", "--arch", "sm_87"}),
      {"'my_tiles': unknown family", "--family-dir"});
  const Finished counted =
      run(folder, {"tune", "--dry-run", "--arch", "sm_87", "--shape", "512", "--family-dir", kExample});
  CHECK(contains(counted.out, "my_tiles"));
}

TEST_CASE("a family that is not right is refused in a line, and nothing is written", "[family_dir]") {
  const TempFolder folder;
  FamilyFolder family;
  const std::string path = family.path().string();
  const auto tuned = [&](const std::map<std::string, std::string>& environment = {}) {
    const Finished result = run(folder, {"tune", "--shape", "64", "--db", "new.db", "--family-dir", path}, environment);
    CHECK_FALSE(std::filesystem::exists(folder / "new.db"));
    return result;
  };
  check_family_dir_refuses(run(folder, {"tune", "--shape", "64", "--db", "new.db", "--family-dir", "none"}),
      {"--family-dir: none: is no folder"});
  family.with("tile % step == 0", "tile % stap == 0");
  check_family_dir_refuses(
      tuned(), {"tilesmith tune: --family-dir: " + path + "/family.json: rules[0].holds: ", "unknown name 'stap'"});
  family.with("tile % stap == 0", "1").with("\"name\": \"small\"", "\"name\": \"mma\"");
  check_family_dir_refuses(tuned(), {"family.json: name: there is a family 'mma' already"});
  check_family_dir_refuses(
      run(folder, {"space", "--family", "mma", "--arch", "sm_87"}, {{"TILESMITH_FAMILY_DIR", kExample + ":/none"}}),
      {"TILESMITH_FAMILY_DIR: /none: is no folder"});
  CHECK(run(folder, {"tune", "--help"}, {{"TILESMITH_FAMILY_DIR", "/none"}}).status == 0);
  CHECK(contains(run(folder, {"tune", "--help"}).out, "--family-dir"));
}

TEST_CASE("compile workers know the family, and its kernels compile for Orin and Hopper", "[family_dir]") {
  if (!runtime::nvrtc_unavailable_because().empty()) {
    WARN("skipped: " << runtime::nvrtc_unavailable_because());
    return;
  }
  const TempFolder folder;
  const Finished compiled =
      run(folder, {"compile", "--arch", "sm_87,sm_90a", "--shape", "64", "--trans", "NN,TT", "--family", "my_tiles",
                      "--max-configs", "2", "--db", "own.db", "--family-dir", kExample});
  INFO(compiled.out << compiled.err);
  REQUIRE(compiled.status == 0);
  CHECK(contains(compiled.out, "8 kernels compiled in"));
  for (const char* row : {"sm_87   my_tiles  f16f32  NN      2   2        0       0",
           "sm_90a  my_tiles  f16f32  TT      2   2        0       0"})
    CHECK(contains(compiled.out, row));
}

TEST_CASE("a compile error is told with the file of the family and the line", "[family_dir]") {
  if (!runtime::nvrtc_unavailable_because().empty()) return;
  const TempFolder folder;
  const FamilyFolder family;
  family.write("helper.cuh", "#pragma once\n\nconstexpr int kHelp = unheard_of;\n");
  const auto compile = [&](const std::string& families) {
    return run(folder, {"compile", "--arch", "sm_87", "--type", "f16f32", "--trans", "NN", "--family", families,
                           "--max-configs", "2", "--db", "own.db", "--family-dir", family.path().string()});
  };
  for (int i = 0; i < 2; ++i) {  // the second time they are kept from before
    const Finished compiled = compile("small");
    INFO(compiled.err);
    CHECK(compiled.status == 2);
    CHECK(contains(compiled.err, "does not compile: helper.cuh(3): error:"));
    CHECK(compiled.err.find("does not compile") == compiled.err.rfind("does not compile"));  // the first alone
    CHECK(contains(compiled.err, "none of 2 kernels compiled; all errors: tilesmith query --db"));
  }
  CHECK(contains(run(folder, {"query", "--sql", "SELECT message FROM builds", "--db", "own.db"}).out, "helper.cuh(3)"));
  for (const std::vector<std::string>& filter : {std::vector<std::string>{"--all"}, {"--status", "compile_failed"}}) {
    std::vector<std::string> query{"query", "--db", "own.db"};
    query.insert(query.end(), filter.begin(), filter.end());
    CHECK(contains(run(folder, query).err,
        "2 kernels failed in `compile`: query --sql \"SELECT message FROM builds WHERE status"));
  }
  CHECK_FALSE(contains(run(folder, {"query", "--status", "ok", "--db", "own.db"}).err, "failed in"));
  const Finished some = compile("small,simt");
  CHECK(some.status == 0);
  CHECK(contains(some.err, "does not compile: helper.cuh(3)"));
}

TEST_CASE("compile names what of a problem its families do not support", "[family_dir]") {
  const TempFolder folder;
  const auto refused = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"compile", "--arch", "sm_87", "--shape", "64", "--family", "my_tiles", "--db", "new.db",
                                  "--family-dir", kExample});
    const Finished result = run(folder, more);
    CHECK(result.status == 2);
    CHECK_FALSE(std::filesystem::exists(folder / "new.db"));
    return result.err;
  };
  CHECK(contains(refused({"--with", "epilogue=bias_n+relu"}),
      "has a kernel for f16f32 NN epilogue=bias_n+relu on sm_87; expected others, or problems without epilogue=bias_n+relu"));
  CHECK(contains(refused({"--with", "batch=3,batch_mode=strided"}), "or problems without batch_mode=strided"));
  CHECK(contains(
      refused({"--type", "s4s32", "--with", "batch=3,batch_mode=strided"}), "has a kernel for s4s32 NN on sm_87\n"));
}
