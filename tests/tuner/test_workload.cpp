#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>

#include "db/exchange/recording.hpp"
#include "tests/catch.hpp"
#include "tuner/workload.hpp"

using namespace tilesmith;
using namespace tilesmith::tuner;

namespace {

std::string workload_error(std::string_view text) {
  try {
    parse_workload(text, "w.txt");
  } catch (const WorkloadError& error) {
    return error.what();
  }
  return "";
}

bool starts_with(const std::string& text, const std::string& start) {
  return text.compare(0, start.size(), start) == 0;
}
bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("a workload is read line by line, with weights, comments and CR LF") {
  const Workload workload = parse_workload(
      "\xEF\xBB\xBF# a comment\r\n\r\nf16f32 NN 64 128 256\r\n\ts8s32  NT 1 2 3 2.5 # inline\nf64f64 TT 7 8 9 lda=20 "
      "4\n"
      "f64f64 TT 7 8 9 3 beta=any",
      "w.txt");
  REQUIRE(workload.tasks.size() == 4);
  CHECK(text(workload.tasks[0].task.problem()) == "f16f32 NN 64 128 256");
  CHECK(workload.tasks[0].weight == 1);
  CHECK(text(workload.tasks[1].task.problem()) == "s8s32 NT 1 2 3");
  CHECK(workload.tasks[1].weight == 2.5);
  CHECK(workload.tasks[2].task.problem().lda == 20);
  CHECK(workload.tasks[2].weight == 4);
  CHECK(workload.tasks[3].task.problem().beta == BetaClass::any);
  CHECK(workload.tasks[3].weight == 3);
}

TEST_CASE("a problem on several lines is one problem with the sum of the weights") {
  const Workload workload = parse_workload("f16f32 NN 8 8 8 2\ns8s32 NN 8 8 8\nf16f32 NN 8 8 8 lda=8\n", "w.txt");
  REQUIRE(workload.tasks.size() == 2);
  CHECK(workload.tasks[0].weight == 3);
}

TEST_CASE("a workload may say that its weights are calls") {
  CHECK(parse_workload("weights calls\nf16f32 NN 8 8 8 20\n", "w.txt").weights_are_calls);
  CHECK_FALSE(parse_workload("weights shares\nf16f32 NN 8 8 8 20\n", "w.txt").weights_are_calls);
  CHECK_FALSE(parse_workload("f16f32 NN 8 8 8 20\n", "w.txt").weights_are_calls);
  CHECK(workload_error("weights many\n") == "w.txt:1: 'weights many': expected 'weights calls' or 'weights shares'");
  CHECK(workload_error("weights\n") == "w.txt:1: 'weights': expected 'weights calls' or 'weights shares'");
}

TEST_CASE("a line that does not parse is refused with file, line and what was expected") {
  const std::pair<const char*, const char*> cases[] = {
      {"f16f32 NN 8 8", "expected 'type trans M N K [weight] [FIELD=VALUE ..]'"},
      {"f17f32 NN 8 8 8", "unknown type pair 'f17f32': expected one of f16f32"},
      {"f16f32 NX 8 8 8", "expected NN, NT, TN or TT"},
      {"f16f32 * 8 8 8", "expected NN, NT, TN or TT"},
      {"f16f32 NN 8 x 8", "expected an integer"},
      {"f16f32 NN -8 8 8", "expected 0 to"},
      {"f16f32 NN 8 0 8", "N is 0: expected 1 to 268435456"},
      {"f16f32 NN 8 8 99999999999999999999", "expected an integer"},
      {"f16f32 NN 8 8 268435457", "expected 0 to 268435456"},
      {"f16f32 NN 8 8 8 0", "weight is '0': expected a number above 0"},
      {"f16f32 NN 8 8 8 -1", "weight is '-1'"},
      {"f16f32 NN 8 8 8 nan", "weight is 'nan'"},
      {"f16f32 NN 8 8 8 inf", "weight is 'inf'"},
      {"f16f32 NN 8 8 8 1x", "weight is '1x'"},
      {"f16f32 NN 8 8 8 1 2", "second weight"},
      {"f16f32 NN 8 8 8 lda=4", "lda is 4: expected 8"},
      {"f16f32 NN 8 8 8 batch=2", "expected 1 without batch_mode=strided"},
      {"f16f32 NN 8 8 8 batch=0 batch_mode=strided", "batch is 0: expected 1 to 1048576"},
      {"f16f32 NN 0x8x8x8", "batch is 0: expected 1 to 1048576"},
      {"f16f32 NN 8 8 8 colour=red", "'colour=red'"},
  };
  for (const auto& [line, expected] : cases) {
    const std::string error = workload_error("# first\n" + std::string(line) + "\n");
    INFO(line << " → " << error);
    CHECK(starts_with(error, "w.txt:2: "));
    CHECK(has(error, expected));
    CHECK_FALSE(has(error, "\n"));
  }
}

TEST_CASE("junk bytes and endless lines give a short, printable error") {
  for (const std::string& junk : {std::string("\xff\xfe\x01 NN 8 8 8"), std::string(1 << 20, 'a'),
           std::string("a\0b", 3), std::string("f16f32 NN 8 8 ") + std::string(100000, '8'), [] {
             std::string many;
             for (int i = 0; i < 4; ++i) many += std::string(60, 'x') + " ";
             return many;
           }()}) {
    const std::string error = workload_error(junk);
    CHECK(starts_with(error, "w.txt:1: "));
    CHECK(has(error, "expected"));
    CHECK(error.size() < 250);
    for (const char c : error) CHECK((c >= ' ' && c <= '~'));
  }
}

TEST_CASE("M, N and K of a problem may be one word") {
  const Workload one = parse_workload("f16f32 NN 64x128x32 2\nf16f32 NN 4X2X3 lda=8\n", "w.txt");
  REQUIRE(one.tasks.size() == 2);
  CHECK(text(one.tasks[0].task.problem()) == "f16f32 NN 64 128 32");
  CHECK(one.tasks[0].weight == 2);
  CHECK(one.tasks[1].task.problem().lda == 8);
  for (const char* wrong :
      {"f16f32 NN 64x128", "f16f32 NN 64xx32", "f16f32 NN x64x128x32", "f16f32 NN 64x0x32", "f16f32 64x64x64"}) {
    INFO(wrong);
    CHECK(has(workload_error(wrong), "w.txt:1: "));
  }
}

TEST_CASE("a workload without a problem is refused") {
  CHECK(has(workload_error(""), "w.txt:1: no task"));
  CHECK(has(workload_error("# only\n\n# comments\n"), "no task"));
}

TEST_CASE("a workload file is named by its stem, and an unreadable one is refused by name") {
  const auto folder = std::filesystem::temp_directory_path() / "tilesmith_test_workload";
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "mine.txt") << "f16f32 NN 8 8 8\n";
  CHECK(load_workload(folder / "mine.txt").name == "mine");
  std::ofstream(folder / "bad.txt") << "f16f32 NN 8 8 8\nnonsense\n";
  try {
    load_workload(folder / "bad.txt");
    FAIL("no error");
  } catch (const WorkloadError& error) {
    CHECK(starts_with(error.what(), (folder / "bad.txt").string() + ":2: "));
  }
  CHECK_THROWS_AS(load_workload(folder / "none.txt"), WorkloadError);
  CHECK_THROWS_AS(load_workload(folder), WorkloadError);
  std::filesystem::remove_all(folder);
}

TEST_CASE("the built-in workloads are there, each with a summary, and parse") {
  std::set<std::string_view> names;
  for (const BuiltInWorkload& built_in : built_in_workloads()) {
    names.insert(built_in.name);
    CHECK_FALSE(built_in.summary.empty());
    const Workload workload = built_in_workload(built_in.name);
    CHECK(workload.name == built_in.name);
    CHECK_FALSE(workload.tasks.empty());
  }
  for (const char* name :
      {"quick", "squares", "llama3-8b", "orin-perception", "acceptance", "batches", "grouped", "weights", "experts"})
    CHECK(names.count(name) == 1);
  CHECK(built_in_workload("acceptance").tasks.size() == 9 * 4 * 6);
  CHECK(built_in_workload("quick").tasks.size() <= 8);
}

TEST_CASE("an unknown built-in workload is refused with the names there are") {
  try {
    built_in_workload("quack");
    FAIL("no error");
  } catch (const WorkloadError& error) {
    CHECK(has(error.what(), "unknown workload 'quack'"));
    CHECK(has(error.what(), "orin-perception"));
  }
}

TEST_CASE("the shipped recording has every problem of quick, for machines without a GPU") {
  const db::Recording shipped = db::load_recording(std::string(TILESMITH_SOURCE_DIR) + "/db/recorded/h200.jsonl.zst");
  for (const WeightedTask& wanted : built_in_workload("quick").tasks) {
    INFO(text(wanted.task.problem()));
    CHECK(std::any_of(shipped.entries.begin(), shipped.entries.end(), [&](const db::Record& entry) {
      return entry.task.problem() == wanted.task.problem() && entry.outcome.status == db::Status::ok;
    }));
  }
}
