// The reader of bench's CSV file.
#include <fmt/format.h>

#include "tests/catch.hpp"
#include "tuner/bench_csv.hpp"

using namespace tilesmith;
using namespace tilesmith::tuner;

namespace {

std::string with_line(const std::string& line) { return fmt::format("{}\n{}\n", kFormerBenchCsvHeader, line); }

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
  const std::string text_of_file = fmt::format(
      "\xef\xbb\xbf{}\n{}\n", kBenchCsvHeader,
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

TEST_CASE("a line of a former version's CSV is read with its quoted config") {
  const auto rows = parse_bench_csv(
      with_line("f16f32,NT,256,512,1024,\"tuned (exact)\",simt,\"simt{a=1,b=2}\",10.5,0.01,21.0,22.0,8,2.0\r"), "x");
  REQUIRE(rows.size() == 1);
  CHECK(text(rows[0].problem) == "f16f32 NT 256 512 1024");
  CHECK(rows[0].device.empty());
  CHECK(rows[0].config.text() == "simt{a=1,b=2}");
  CHECK(*rows[0].us == 10.5);
  CHECK(*rows[0].peer_us == 21);
  const auto refused = parse_bench_csv(with_line("f16f32,NN,1,1,1,\"x\",simt,\"simt{a=1}\",,,,,0,"), "x");
  CHECK_FALSE(refused.at(0).us);
  CHECK_FALSE(refused.at(0).peer_us);
}

TEST_CASE("the CSV recorded with the tree is read whole") {
  CHECK(load_bench_csv(std::string(TILESMITH_SOURCE_DIR) + "/db/recorded/h200_bench.csv").size() == 483);
}

TEST_CASE("a bad line of bench's CSV is named in one line") {
  CHECK(error_of("").rfind("bench.csv:1: is empty", 0) == 0);
  CHECK(error_of("a,b\n").rfind("bench.csv:1: no file of `tilesmith bench --out`", 0) == 0);
  CHECK(error_of(with_line("a,b")).rfind("bench.csv:2: 2 columns, expected 14", 0) == 0);
  CHECK(error_of(with_line("f99,NN,1,1,1,x,simt,simt{a=1},1,,,,0,")).rfind("bench.csv:2: ", 0) == 0);
  CHECK(error_of(with_line("f16f32,NN,1,1,1,x,simt,simt{a,1,,,,0,")).rfind("bench.csv:2: ", 0) == 0);
  CHECK(error_of(with_line("f16f32,NN,1,1,1,\"x,simt,simt{a=1},1,,,,0,")).rfind("bench.csv:2: a quote", 0) == 0);
  for (const char* us : {"fast", "-1", "0", "nan", "inf", "1e999", "1x"}) {
    INFO(us);
    CHECK(error_of(with_line(fmt::format("f16f32,NN,1,1,1,x,simt,\"simt{{a=1}}\",{},,,,0,", us)))
              .rfind(fmt::format("bench.csv:2: us is '{}', expected a number above 0", us), 0) == 0);
  }
}
