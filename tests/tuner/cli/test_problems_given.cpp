// The ways in which problems are given, and numbers that look like others.
#include <regex>

#include "tests/catch.hpp"
#include "tests/tuner/made_recording.hpp"
#include "tests/tuner/run_binary.hpp"

using namespace tilesmith;
using namespace tilesmith::tests;

namespace {

void check_problems_refused(const Finished& result, const std::vector<std::string>& parts) {
  INFO(result.err);
  CHECK(result.status == 2);
  CHECK(result.out.empty());
  CHECK(lines_of(result.err) == 1);
  for (const std::string& part : parts) CHECK(contains(result.err, part));
}

}  // namespace

TEST_CASE("a file that is named as a built-in workload is said not to be meant") {
  const TempFolder folder;
  write_file(folder / "quick", "bf16f32 TT 64 64 64\n");
  const std::vector<std::string> dry{"tune", "--dry-run", "--arch", "sm_87", "--family", "simt", "--workload"};
  const auto with = [&](const char* name) {
    std::vector<std::string> words = dry;
    words.emplace_back(name);
    return run(folder, words);
  };
  const Finished built_in = with("quick");
  CHECK(built_in.status == 0);
  CHECK(contains(built_in.err, "./quick means the file"));
  CHECK_FALSE(contains(built_in.out, "bf16f32 TT 64 64 64"));
  const Finished file = with("./quick");
  CHECK_FALSE(contains(file.err, "means the file"));
  CHECK(contains(file.out, "bf16f32 TT 64 64 64"));
  CHECK_FALSE(contains(with("squares").err, "means the file"));
}

TEST_CASE("a workload is read from standard input") {
  const TempFolder folder;
  CHECK(shell(folder,
            "echo 'bf16f32 TT 64x32x16' | tilesmith tune --dry-run --arch sm_87 --family simt --workload - >out") == 0);
  CHECK(contains(read_file(folder / "out"), "bf16f32 TT 64 32 16"));
  CHECK(shell(folder,
            "echo nonsense | tilesmith tune --dry-run --arch sm_87 --workload - 2>&1 | grep -q 'standard input:1: '") ==
        0);
}

TEST_CASE("explain takes a shape as tune does") {
  const TempFolder folder;
  make_database(folder / "a.db");
  const auto explained = [&](std::vector<std::string> words) {
    words.insert(words.begin(), {"explain", "--db", "a.db"});
    return run(folder, words);
  };
  const std::string words = explained({"s8s32", "NT", "128", "256", "512"}).out;
  CHECK(contains(words, "s8s32 NT 128 256 512"));
  CHECK(explained({"s8s32 NT 128x256x512"}).out == words);
  CHECK(explained({"--type", "s8s32", "--trans", "NT", "--shape", "128x256x512"}).out == words);
  CHECK(contains(explained({"--shape", "256"}).out, "f16f32 NN 256 256 256"));
  check_problems_refused(explained({"--shape", "64,128"}), {"--shape", "2 problems", "expected one"});
  check_problems_refused(explained({"f16f32", "NN", "64", "64", "64", "--shape", "64"}), {"--shape"});
  check_problems_refused(explained({"--shape", "64x64"}), {"--shape '64x64'", "MxNxK"});
  check_problems_refused(explained({}), {"PROBLEM", "--shape MxNxK"});
}

TEST_CASE("a seed that is no whole number is refused") {
  const TempFolder folder;
  make_recording(folder / "recording.jsonl");
  for (const char* seed : {"-1", "18446744073709551616", "1.5", "0x10", "1e3"}) {
    INFO(seed);
    check_problems_refused(
        run(folder, {"tune", "--shape", "256", "--replay", "recording.jsonl", std::string("--seed=") + seed}),
        {std::string("--seed '") + seed + "'", "whole number from 0"});
    check_problems_refused(run(folder, {"simulate", "--recording", "recording.jsonl", "--seed", seed}), {"--seed"});
  }
  CHECK(run(folder, {"tune", "--shape", "256", "--replay", "recording.jsonl", "--dry-run", "--family", "simt", "--seed",
                        "18446744073709551615"})
            .status == 0);
}

TEST_CASE("a plot that would not be what its name says is refused before anything is simulated") {
  const TempFolder folder;
  make_recording(folder / "recording.jsonl");
  for (const char* name : {"x.png", "x", "x.svg.gz", ".svg"}) {
    INFO(name);
    check_problems_refused(
        run(folder, {"simulate", "--recording", "recording.jsonl", "--plot", name}), {"--plot", name, ".svg"});
    CHECK_FALSE(std::filesystem::exists(folder / name));
  }
}

TEST_CASE("several workloads are one: weights of a problem in several are added, and all weights are calls or none") {
  const TempFolder folder;
  write_file(folder / "a", "weights calls\nf16f32 NN 64 64 64 5\nf16f32 NN 32 64 64 1\n");
  write_file(folder / "b", "weights calls\nf16f32 NN 64 64 64 70\n");
  write_file(folder / "c", "f16f32 NN 64 64 64 2\n");
  const auto dry = [&](std::vector<std::string> workloads) {
    workloads.insert(workloads.begin(), {"tune", "--dry-run", "--arch", "sm_87", "--family", "simt", "--workload"});
    return run(folder, workloads);
  };
  const auto has_line = [](const std::string& text, const std::string& line) {
    return std::regex_search(text, std::regex("\n" + line + " *\n"));
  };
  const Finished both = dry({"a", "--workload", "b"});
  CHECK(has_line(both.out, "f16f32 NN 64 64 64 +75"));
  CHECK(has_line(both.out, "f16f32 NN 32 64 64 +1"));
  CHECK(dry({"a", "b"}).out == both.out);
  CHECK(has_line(dry({"c", "c"}).out, "f16f32 NN 64 64 64 +4"));
  check_problems_refused(dry({"a", "b", "c"}),
      {"--workload 'a' and 'c': the weights of one are calls, of the other shares; expected `weights calls` in both or in neither"});
  check_problems_refused(dry({"c", "a"}), {"--workload 'c' and 'a': "});
}
