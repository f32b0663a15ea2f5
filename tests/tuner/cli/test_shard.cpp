// tilesmith tune --shard: which part, from the option or a scheduler's environment.
#include <fmt/format.h>

#include <map>
#include <set>
#include <sstream>

#include "tests/catch.hpp"
#include "tests/tuner/made_recording.hpp"
#include "tests/tuner/run_binary.hpp"
#include "tuner/cli/commands/command.hpp"
#include "tuner/cli/options/options.hpp"

using namespace tilesmith;
using namespace tilesmith::tests;

namespace {

using Environment = std::map<std::string, std::string>;

/// "3/8 from", or what was refused.
std::string parsed(const std::string& given, const Environment& environment = {}) {
  const auto variable = [&](const char* name) {
    const auto found = environment.find(name);
    return found == environment.end() ? nullptr : found->second.c_str();
  };
  try {
    const auto shard = tuner::parse_shard(given, variable);
    return shard ? fmt::format("{}/{} {}", shard->shard.index + 1, shard->shard.count, shard->from) : "whole";
  } catch (const tuner::UsageError& error) {
    return error.what();
  }
}

std::vector<Problem> eight_problems() {
  std::vector<Problem> problems;
  for (int i = 1; i <= 8; ++i) problems.push_back(packed_problem({*find_type_pair("f16f32"), {}}, 64 * i, 256, 256));
  return problems;
}

std::string eight_lines() {
  std::string lines;
  for (const Problem& problem : eight_problems()) lines += text(problem) + "\n";
  return lines;
}

void record_eight(const std::string& path) {
  db::Store store = db::Store::in_memory();
  for (const db::Record& entry : made_record(eight_problems(), 6)) store.record(entry);
  db::save_recording(store, {}, path);
}

/// What is recorded of which candidate; not by which run.
std::multiset<std::string> outcomes_in(const TempFolder& folder, const std::string& db) {
  const Finished found = run(folder,
      {"query", "--db", db, "--sql",
          "SELECT p.text, c.text, e.status, e.median_us FROM records e JOIN problems p ON p.id = e.problem_id JOIN configs c ON c.id = e.config_id",
          "--format", "csv"});
  INFO(found.err);
  REQUIRE(found.status == 0);
  std::multiset<std::string> lines;
  std::istringstream text(found.out);
  for (std::string line; std::getline(text, line);) lines.insert(line);
  return lines;
}

}  // namespace

TEST_CASE("a shard comes from the option, which may leave the number to a scheduler") {
  const auto array = [](const char* id, const char* first, const char* last, const char* count) {
    return Environment{{"SLURM_ARRAY_TASK_ID", id}, {"SLURM_ARRAY_TASK_MIN", first}, {"SLURM_ARRAY_TASK_MAX", last},
        {"SLURM_ARRAY_TASK_COUNT", count}};
  };
  CHECK(parsed("") == "whole");
  CHECK(parsed("3/8") == "3/8 --shard");
  CHECK(parsed("3/4", array("5", "0", "7", "8")) == "3/4 --shard");
  CHECK(parsed("none", array("5", "0", "7", "8")) == "whole");
  CHECK(parsed("auto/8", array("5", "0", "7", "8")) == "6/8 SLURM_ARRAY_TASK_ID");
  CHECK(parsed("auto/8", array("5", "1", "8", "8")) == "5/8 SLURM_ARRAY_TASK_ID");
  CHECK(parsed("auto/1", array("0", "0", "0", "1")) == "1/1 SLURM_ARRAY_TASK_ID");
  CHECK(parsed("auto/1", array("1", "1", "1", "1")) == "1/1 SLURM_ARRAY_TASK_ID");
  CHECK(parsed("auto/8", {{"JOB_COMPLETION_INDEX", "0"}}) == "1/8 JOB_COMPLETION_INDEX");
}

TEST_CASE("a task's number means the same shard when some of the array run again") {
  const auto again = [](const char* id, const char* first, const char* last, const char* step) {
    return parsed(
        "auto/8", {{"SLURM_ARRAY_TASK_ID", id}, {"SLURM_ARRAY_TASK_COUNT", "2"}, {"SLURM_ARRAY_TASK_MIN", first},
                      {"SLURM_ARRAY_TASK_MAX", last}, {"SLURM_ARRAY_TASK_STEP", step}});
  };
  CHECK(again("5", "0", "5", "5") == "6/8 SLURM_ARRAY_TASK_ID");
  CHECK(again("3", "3", "8", "5") == "3/8 SLURM_ARRAY_TASK_ID");
  for (const std::string& refused :
      {again("3", "3", "5", "2"), again("5", "3", "5", "2"), parsed("auto/8", {{"SLURM_ARRAY_TASK_ID", "5"}})}) {
    INFO(refused);
    CHECK(contains(refused, "tasks 0-7 or 1-8"));
    CHECK(contains(refused, "--shard $((SLURM_ARRAY_TASK_ID + 1))/8"));
    CHECK(contains(refused, "--shard $SLURM_ARRAY_TASK_ID/8"));
  }
  CHECK(contains(again("3", "0", "8", "1"), "expected an array of 0-7 or 1-8"));
  CHECK(contains(again("12", "12", "19", "1"), "expected an array of 0-7 or 1-8"));
}

TEST_CASE("a shard that cannot be is refused in one line") {
  for (const char* given : {"3", "3/", "/3", "x/3", "3/x", "-1/3", "1/3/5", "1.5/3", "auto", "all"}) {
    INFO(given);
    CHECK(contains(parsed(given), "--shard"));
    CHECK(contains(parsed(given), "expected i/N such as 1/8, auto/N or none"));
  }
  CHECK(contains(parsed("0/3"), "shard 0 of 3; expected 1 to 3"));
  CHECK(contains(parsed("4/3"), "shard 4 of 3; expected 1 to 3"));
  CHECK(contains(parsed("1/0"), "0 shards"));
  CHECK(contains(parsed("1/1000000"), "1000000 shards; expected 1 to 100000"));
  CHECK(contains(parsed("auto/3"), "neither SLURM_ARRAY_TASK_ID nor JOB_COMPLETION_INDEX is set"));
  CHECK(contains(parsed("auto/4", {{"SLURM_ARRAY_TASK_ID", "x"}}), "SLURM_ARRAY_TASK_ID 'x': expected a whole number"));
  CHECK(contains(parsed("auto/0", {{"SLURM_ARRAY_TASK_ID", "0"}}), "0 shards"));
  CHECK(contains(parsed("auto/4", {{"JOB_COMPLETION_INDEX", "4"}}), "shard 5 of 4; expected 1 to 4"));
  for (const char* set : {"SLURM_ARRAY_TASK_ID", "JOB_COMPLETION_INDEX"}) {  // of how many is not known
    CHECK(contains(parsed("", {{set, "0"}, {"SLURM_ARRAY_TASK_COUNT", "2"}}), std::string(set) + " is set"));
    CHECK(contains(parsed("", {{set, "0"}}), "expected --shard auto/N or i/N, or none"));
  }
}

TEST_CASE("shards that are merged know what one run knows") {
  const TempFolder folder;
  record_eight(folder / "r.jsonl");
  write_file(folder / "w.txt", eight_lines());
  const std::vector<std::string> tune{
      "tune", "--workload", "w.txt", "--replay", "r.jsonl", "--strategy", "exhaustive", "--family", "simt"};
  const auto tuned = [&](std::vector<std::string> more, const Environment& environment = {}) {
    more.insert(more.begin(), tune.begin(), tune.end());
    const Finished result = run(folder, more, environment);
    INFO(result.err);
    CHECK(result.status == 0);
    return result;
  };
  tuned({"--db", "one.db"});
  CHECK(contains(tuned({"--db", "1.db", "--shard", "1/3"}).err, "shard 1/3 (--shard) of its 8"));
  CHECK(contains(tuned({"--db", "2.db", "--shard", "auto/3"},
                     {{"SLURM_ARRAY_TASK_ID", "1"}, {"SLURM_ARRAY_TASK_MIN", "0"}, {"SLURM_ARRAY_TASK_MAX", "2"}})
                     .err,
      "shard 2/3 (SLURM_ARRAY_TASK_ID) of its 8"));
  tuned({"--db", "3.db", "--shard", "auto/3"}, {{"JOB_COMPLETION_INDEX", "2"}});
  REQUIRE(run(folder, {"merge", "1.db", "2.db", "3.db", "--db", "all.db"}).status == 0);
  CHECK(outcomes_in(folder, "all.db") == outcomes_in(folder, "one.db"));
  CHECK(outcomes_in(folder, "all.db").size() > 8);
  CHECK(contains(run(folder, {"compare", "one.db", "all.db"}).out, "8 same"));
}

TEST_CASE("a shard without problems leaves an empty database and ends well") {
  const TempFolder folder;
  record_eight(folder / "r.jsonl");
  write_file(folder / "w.txt", text(eight_problems().front()) + "\n" + text(eight_problems().back()) + "\n");
  int empty = 0;
  for (int i = 1; i <= 3; ++i) {
    const std::string db = fmt::format("{}.db", i);
    const Finished result =
        run(folder, {"tune", "--workload", "w.txt", "--replay", "r.jsonl", "--shard", fmt::format("{}/3", i), "--db",
                        db, "--family", "simt", "--strategy", "exhaustive"});
    CHECK(result.status == 0);
    empty += contains(result.err, "has none of the 2 problems of workload w") ? 1 : 0;
    CHECK(std::filesystem::exists(folder / db));
  }
  CHECK(empty == 1);
}
