// The reader of bench's CSV file.
#include <fmt/format.h>

#include <algorithm>

#include "tests/catch.hpp"
#include "tests/tuner/bench_file.hpp"
#include "tuner/bench_csv.hpp"

using namespace tilesmith;
using namespace tilesmith::tests;
using namespace tilesmith::tuner;

namespace {

std::string error_of(const std::string& text) {
  try {
    parse_bench_csv(text, "bench.csv");
  } catch (const BenchCsvError& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace

TEST_CASE("a line of bench's CSV is read with its layout, its device and its quoted config") {
  const std::string text_of_file = fmt::format("\xef\xbb\xbf{}\n{}\n", kBenchCsvHeader,
      "f16f32 NT 256 512 1024 ldc=1024 align=8 beta=any,f16f32,NT,256,512,1024,1024,1024,1024,8,any,\"Or\"\"in, 14\",tuned (exact),simt,"
      "\"simt{a=1,b=2}\",ok,10.5,0.01,21.0,22.0,8,2.0,9.5,19.0,2.0");
  const auto rows = parse_bench_csv(text_of_file, "x");  // behind a byte order mark
  REQUIRE(rows.size() == 1);
  CHECK(text(rows[0].problem) == "f16f32 NT 256 512 1024 ldc=1024 align=8 beta=any");
  CHECK(rows[0].device == "Or\"in, 14");
  CHECK(rows[0].label == "tuned (exact)");
  CHECK(rows[0].config.text() == "simt{a=1,b=2}");
  CHECK(*rows[0].us == 10.5);
  CHECK(*rows[0].peer_us == 21);
  CHECK(error_of(fmt::format("{}\na,b\n", kBenchCsvHeader)).rfind("bench.csv:2: 2 columns, expected 25", 0) == 0);
}

TEST_CASE("a row of bench's CSV without times is read, and a line may end as on Windows") {
  const auto rows =
      parse_bench_csv(bench_file({bench_row("f16f32 NN 1 1 1", "Orin", "simt{a=1,b=2}", "", "") + "\r"}), "x");
  CHECK(rows.at(0).config.text() == "simt{a=1,b=2}");
  CHECK_FALSE(rows.at(0).us);
  CHECK_FALSE(rows.at(0).peer_us);
}

TEST_CASE("the CSVs recorded with the tree are read whole") {
  for (const char* name : {"h200_bench.csv", "h100_bench.csv"}) {
    const auto rows = load_bench_csv(std::string(TILESMITH_SOURCE_DIR) + "/db/recorded/" + name);
    CHECK(rows.size() == 483);
    CHECK(std::ranges::all_of(rows, [&](const BenchRow& row) { return row.device == rows[0].device && row.us; }));
  }
}

TEST_CASE("a bad line of bench's CSV is named in one line") {
  const std::string good = bench_row("f16f32 NN 1 1 1", "Orin", "simt{a=1}", "1", "2");
  const auto changed = [&](std::string_view from, std::string_view to) {
    std::string row = good;
    return error_of(bench_file({row.replace(row.find(from), from.size(), to)}));
  };
  CHECK(error_of(bench_file({good})) == "no error");
  CHECK(error_of("").rfind("bench.csv:1: is empty", 0) == 0);
  CHECK(error_of("a,b\n").rfind("bench.csv:1: no file of `tilesmith bench --out`", 0) == 0);
  CHECK(error_of("type,trans,M,N,K,label,family,config,us,spread,peer_us,peer_first_us,peer_algorithms,ratio\n")
            .rfind("bench.csv:1: no file", 0) == 0);
  CHECK(changed("f16f32", "f99").rfind("bench.csv:2: ", 0) == 0);
  CHECK(changed("Orin", "").rfind("bench.csv:2: device is empty", 0) == 0);
  CHECK(changed("{a=1}", "{a").rfind("bench.csv:2: config is 'simt{a'", 0) == 0);
  CHECK(changed("}\"", "}").rfind("bench.csv:2: a quote", 0) == 0);
  for (const char* us : {"fast", "-1", "0", "nan", "inf", "1e999", "1x"}) {
    INFO(us);
    CHECK(error_of(bench_file({bench_row("f16f32 NN 1 1 1", "Orin", "simt{a=1}", us, "")}))
              .rfind(fmt::format("bench.csv:2: median_us is '{}', expected a number above 0", us), 0) == 0);
  }
}
