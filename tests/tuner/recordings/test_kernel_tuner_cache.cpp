// Kernel Tuner's cache files, whole, unfinished and wrong; and recordings as tables.
#include <utility>

#include "db/files/compress.hpp"
#include "db/store/error.hpp"
#include "tests/catch.hpp"
#include "tests/tuner/made_kernel_tuner_cache.hpp"
#include "tests/tuner/made_recording.hpp"
#include "tests/tuner/run_binary.hpp"
#include "tuner/recordings/outcome_tables.hpp"

using namespace tilesmith;
using namespace tilesmith::tests;
using namespace tilesmith::tuner;

namespace {

OutcomeTable loaded(const std::string& content) {
  const TempFolder folder;
  write_file(folder / "cache.json", content);
  return std::move(load_outcome_tables(folder / "cache.json", 1).tables.at(0));
}

Score outcome(const OutcomeTable& table, int x, int y, int mode) {
  const auto index = table.space.index_of(Config("Xgemm", {{"X", x}, {"Y", y}, {"MODE", mode}, {"ONE", 32}}));
  REQUIRE(index);
  return table.outcomes[*index];
}

std::string replaced(std::string text, const std::string& part, const std::string& by) {
  const std::size_t at = text.find(part);
  REQUIRE(at != std::string::npos);
  return text.replace(at, part.size(), by);
}

/// The message without the file's name.
std::string refusal(const std::string& content) {
  const TempFolder folder;
  write_file(folder / "wrong.json", content);
  try {
    load_outcome_tables(folder / "wrong.json", 1);
  } catch (const db::StoreError& error) {
    const std::string message = error.what();
    const std::string file = folder / "wrong.json";
    CHECK(message.substr(0, file.size() + 2) == file + ": ");
    CHECK(lines_of(message) == 0);
    CHECK(contains(message, "expected"));
    return message.substr(file.size() + 2);
  }
  return "";
}

void check_made(const OutcomeTable& table, std::size_t configs, std::size_t ok) {
  CHECK(table.space.size() == configs);
  CHECK(table.outcomes.size() == configs);
  CHECK(table.ok == ok);
  CHECK(table.optimum_us == 2000);
  CHECK(outcome(table, 1, 0, 0) == Score(2000));
  CHECK(outcome(table, 4, 2, 1) == Score(50'000));
}

}  // namespace

TEST_CASE("a whole cache file gives every config, times in us, texts by their position") {
  const OutcomeTable table = loaded(made_cache());
  check_made(table, 24, 23);
  CHECK(table.name == "cache.json");
  CHECK_FALSE(outcome(table, 8, 2, 1));
  CHECK(table.space.radices(0) == std::vector<std::size_t>{4, 3, 2, 1});
  CHECK(table.space.config(0).text() == "Xgemm{X=1,Y=0,MODE=0,ONE=32}");  // in odometer order, whatever the file's
  CHECK(table.space.config(23).text() == "Xgemm{X=8,Y=2,MODE=1,ONE=32}");
}

TEST_CASE("a cache file may be gzip-compressed, in one member or several") {
  check_made(loaded(gzipped(made_cache())), 24, 23);
  const std::string text = made_cache();
  check_made(loaded(gzipped(text.substr(0, 500)) + gzipped(text.substr(500))), 24, 23);
}

TEST_CASE("a cache file may be zstd-compressed, a recording gzip-compressed") {
  const std::string packed(db::as_text(db::compress(db::as_bytes(made_cache()))));
  check_made(loaded(packed), 24, 23);
  CHECK(contains(refusal(packed.substr(0, packed.size() - 5)), "the zstd stream is truncated"));
  const TempFolder folder;
  make_recording(folder / "made.jsonl");
  write_file(folder / "made.gz", gzipped(read_file(folder / "made.jsonl")));
  CHECK(load_outcome_tables(folder / "made.gz", 8).tables.size() == 2);
}

TEST_CASE("an entry with __error__ is a failed config, with or without a time") {
  for (const char* failed :
      {"\"__error__\": \"RuntimeFailedConfig\", ", "\"__error__\": \"InvalidConfig\", \"time\": 2.0, "}) {
    INFO(failed);
    const OutcomeTable table = loaded(replaced(made_cache(), "\"time\": 2.0, ", failed));
    CHECK_FALSE(outcome(table, 1, 0, 0));
    CHECK(table.ok == 22);
  }
  CHECK(loaded(replaced(made_cache(), "\"time\": 2.0, ", "\"__error__\": null, \"time\": 2.0, ")).ok == 23);
}

TEST_CASE("a cache file's objective is read, and more is better where it says or its name does") {
  const auto of = [](const std::string& objective, const std::string& more = "") {
    std::string text = replaced(made_cache(), "\"cache\"", "\"objective\": " + objective + ", " + more + "\"cache\"");
    for (std::size_t at = 0; (at = text.find("\"time\": ", at)) != std::string::npos;)
      text.replace(at, 6, "\"GFLOP/s\"");
    for (std::size_t at = 0; (at = text.find(", \"GFLOP/s\": NaN", at)) != std::string::npos;) text.erase(at, 16);
    return text;
  };
  for (const char* objective : {"\"GFLOP/s\"", "[\"GFLOP/s\"]", "[\"GFLOP/s\", \"time\"]"}) {
    const OutcomeTable table = loaded(of(objective));
    CHECK(table.ok == 23);  // the failed one has the name of its error there
    REQUIRE(table.objective);
    CHECK(table.objective->name == "GFLOP/s");
    CHECK(table.objective->optimum == 50);
    CHECK(table.optimum_us / *outcome(table, 1, 0, 0) == Approx(2 / 50.0));  // the fraction of the optimum
  }
  CHECK_FALSE(loaded(replaced(made_cache(), "\"cache\"", "\"objective\": [\"time\"], \"cache\"")).objective);
  CHECK(loaded(of("\"GFLOP/s\"", "\"objective_higher_is_better\": false, ")).objective->optimum == 2);
  CHECK(contains(refusal(of("\"joy\"")), "\"joy\": expected \"objective_higher_is_better\""));
  CHECK(contains(refusal(of("7")), "the objective is 7"));
}

TEST_CASE("an objective's figures that are not above 0 are put in order all the same") {
  const OutcomeTable table = loaded(
      "{\"tune_params_keys\": [\"a\"], \"tune_params\": {\"a\": [1, 2, 3]}, \"objective\": \"score\","
      "\"cache\": {\"1\": {\"score\": -0.5}, \"2\": {\"score\": 0.3}, \"3\": {\"score\": 0.1}}}");
  CHECK(table.ok == 3);
  CHECK(table.objective->optimum == 0.3);
  CHECK(*table.outcomes[1] == 1);
  CHECK(*table.outcomes[2] == Approx(1.25));
  CHECK(*table.outcomes[0] == 2);
}

TEST_CASE("gunzip refuses what is cut short, corrupt or too large") {
  const std::string text(100'000, 'x');
  const std::string bytes = gzipped(text);
  CHECK(is_gzip(bytes));
  CHECK(gunzip(bytes, text.size()) == text);
  CHECK_FALSE(gunzip(bytes, text.size() - 1));
  CHECK_FALSE(gunzip(bytes.substr(0, bytes.size() - 1), text.size()));
  CHECK_FALSE(gunzip(bytes + "rest", text.size()));
  CHECK_FALSE(gunzip("", 1));
  CHECK_FALSE(is_gzip(text));
}

TEST_CASE("a cache file of an unfinished run keeps its whole entries") {
  const std::string open = made_cache_open();
  check_made(loaded(open), 24, 23);
  check_made(loaded(open + ",\n"), 24, 23);
  check_made(loaded(open + "}\n"), 24, 23);
  // The last entry, that of the failed config, cut at each of its bytes.
  for (std::size_t cut = open.rfind(",\n\"") + 1; cut < open.size(); ++cut) {
    INFO(open.substr(cut));
    const OutcomeTable table = loaded(open.substr(0, cut));
    CHECK(table.space.size() == 23);
    CHECK(table.ok == 23);
  }
}

TEST_CASE("a config failed if its time is a text, no number, or absurdly large") {
  for (const char* failed :
      {"\"CompilationFailedConfig\"", "null", "NaN", "Infinity", "-Infinity", "1e20", "1e+300", "0", "-1", "\"\""}) {
    INFO(failed);
    const OutcomeTable table = loaded(replaced(made_cache(), "\"time\": 2.0", std::string("\"time\": ") + failed));
    CHECK_FALSE(outcome(table, 1, 0, 0));
    CHECK(table.ok == 22);
    CHECK(table.optimum_us == 3000);
  }
  CHECK(contains(loaded(replaced(made_cache(), "Xgemm", "NaN -Infinity")).space.config(0).text(),
      "NaN -Infinity{"));  // in a text
}

TEST_CASE("values that an entry does not name are read from its key") {
  const OutcomeTable table = loaded(
      "{\"tune_params_keys\": [\"a\", \"b\", \"c\"], \"tune_params\": {\"a\": [1, 2], \"b\": [0.5, 1.0], \"c\": [true, "
      "false]},"
      "\"cache\": {\"1,0.5,True\": {\"time\": 1}, \"2,1.0,False\": {\"time\": 3}}}");
  CHECK(table.space.size() == 2);
  CHECK(table.space.config(0).text() == "kernel{a=1,b=0,c=0}");
  CHECK(table.space.config(1).text() == "kernel{a=2,b=1,c=1}");
  CHECK(table.outcomes[1] == Score(3000));
}

TEST_CASE("a wrong cache file is refused in one line that names file and place") {
  const std::string good = made_cache();
  CHECK(contains(refusal(""), "is empty"));
  CHECK(contains(refusal("hello"), "line 1: is not JSON"));
  CHECK(contains(refusal("[1, 2]"), "is not a JSON object"));
  const std::string deep = std::string(200000, '[') + std::string(200000, ']');
  CHECK(contains(refusal(replaced(good, "\"time\": 2.0", "\"time\": " + deep)), "nests deeper than 64 levels"));
  CHECK(contains(refusal("{}"), "\"tune_params_keys\" is missing"));
  CHECK(contains(refusal(good.substr(0, 120)), "ends before its first whole cache entry"));
  CHECK(contains(refusal(good + "}"), "is not JSON"));
  CHECK(contains(refusal(replaced(good, "\"cache\"", "\"other\"")), "\"cache\" is missing"));
  CHECK(contains(refusal(replaced(good, "[\"X\", \"Y\"", "[7, \"Y\"")), "\"tune_params_keys\" holds 7"));
  CHECK(contains(refusal(replaced(good, "[\"X\", \"Y\"", "[\"X\", \"X\"")), "twice"));
  CHECK(contains(refusal(replaced(good, "\"Y\": [0, 1, 2]", "\"Y\": 3")), "\"tune_params\": \"Y\""));
  CHECK(contains(refusal(replaced(good, "\"X\": 1, ", "\"X\": 3, ")), "cache entry \"1,0,fast,32\": X is 3"));
  CHECK(contains(refusal(replaced(good, "\"time\": 2.0, ", "")), "cache entry \"1,0,fast,32\": has no \"time\""));
  CHECK(contains(refusal(replaced(good, "\"time\": 2.0", "\"time\": [2]")), "\"time\" is [2]"));
  CHECK(contains(refusal(replaced(good, "1,1,fast,32\": {\"X\": 1, \"Y\": 1", "1,1,fast,32\": {\"X\": 1, \"Y\": 0")),
      "comes twice"));
  CHECK(contains(refusal(gzipped(good).substr(0, 200)), "gzip stream is truncated"));
  const std::string line = refusal(replaced(good, "\"time\": 2.0", "\"time\" 2.0"));
  CHECK(contains(line, "line 8: is not JSON"));
}

TEST_CASE("a recording gives a table for each problem that is large enough") {
  const TempFolder folder;
  make_recording(folder / "made.jsonl.zst");  // two problems of 8 configs
  const LoadedTables all = load_outcome_tables(folder / "made.jsonl.zst", 8);
  REQUIRE(all.tables.size() == 2);
  CHECK(all.too_small == 0);
  const OutcomeTable& table = all.tables[0];
  CHECK(contains(table.name, "made.jsonl.zst f16f32 NN 256 256 256"));
  CHECK(table.space.size() == 8);
  CHECK(table.ok == 7);  // every fifth failed
  CHECK(table.optimum_us == 10);
  const auto entries = made_record({made_problems()[0]}, 8);
  for (const db::Record& entry : entries) {
    const auto index = table.space.index_of(entry.config);
    REQUIRE(index);
    CHECK(table.outcomes[*index] == (entry.outcome.timing ? Score(entry.outcome.timing->median_us) : std::nullopt));
  }
  const LoadedTables none = load_outcome_tables(folder / "made.jsonl.zst", 9);
  CHECK(none.tables.empty());
  CHECK(none.too_small == 2);
}
