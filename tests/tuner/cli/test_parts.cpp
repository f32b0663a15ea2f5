// The parts of the command line that can be tested without a process.
#include "tests/catch.hpp"
#include "tuner/cli/commands/command.hpp"
#include "tuner/cli/options/options.hpp"
#include "tuner/cli/output/records.hpp"
#include "tuner/cli/output/table.hpp"
#include "tuner/figures.hpp"
#include "tuner/peaks.hpp"

using namespace tilesmith;
using namespace tilesmith::tuner;

namespace {

bool near(double a, double b, double relative) { return a > b * (1 - relative) && a < b * (1 + relative); }

db::DeviceIdentity device(const std::string& name, int sm, int sm_count, const std::string& power_mode = "") {
  db::DeviceIdentity identity;
  identity.name = name;
  identity.sm = sm;
  identity.sm_count = sm_count;
  identity.power_mode = power_mode;
  return identity;
}

}  // namespace

TEST_CASE("durations are read with their units") {
  CHECK(parse_duration("90s", "--budget").count() == 90);
  CHECK(parse_duration("10m", "--budget").count() == 600);
  CHECK(parse_duration("2h30m", "--budget").count() == 9000);
  CHECK(parse_duration("1d", "--budget").count() == 86400);
  CHECK(parse_duration("500ms", "--budget").count() == 0.5);
  CHECK(parse_duration("1.5h", "--budget").count() == 5400);
  CHECK(parse_duration("45", "--budget").count() == 45);
  for (const char* wrong : {"", "x", "10q", "5m3", "0", "-1s", "1..5s", "400d", "h"}) {
    INFO(wrong);
    CHECK_THROWS_AS(parse_duration(wrong, "--budget"), UsageError);
  }
}

TEST_CASE("shapes are read as MxNxK or as a cube") {
  const Shape shape = parse_shape("1x4096x77");
  CHECK(shape.m == 1);
  CHECK(shape.n == 4096);
  CHECK(shape.k == 77);
  CHECK(parse_shape("512").k == 512);
  CHECK(parse_shape("512").batch == 0);
  const Shape batch = parse_shape("64x1x4096x77");
  CHECK(batch.batch == 64);
  CHECK(batch.m == 1);
  CHECK(batch.k == 77);
  for (const char* bad : {"0x1x2x3", "1048577x1x2x3", "1x2", "1x2x3x4x5"})
    CHECK_THROWS_AS(parse_shape(bad), UsageError);
}

TEST_CASE("a table aligns its columns, counts µ as one, and cuts lines to the width") {
  TextTable table({"name", ">µs"});
  table.add({"a", "1.50"});
  table.add({"longer", "100.25"});
  CHECK(table.text() == "name        µs\na         1.50\nlonger  100.25\n");
  CHECK(table.text(8) == "name   …\na      …\nlonger …\n");
  CHECK(table.text(8, "--format csv") == table.text(8) + "(cut to the terminal's width; --format csv has all)\n");
  CHECK(table.text(14, "--format csv") == table.text());
  CHECK(table.text(0, "--format csv") == table.text());
}

TEST_CASE("cells that do not fit hang below their line, where a table says so") {
  TextTable table({"name", "config", "message"});
  table.hang_from(1);
  table.add({"a", "simt{block_m=16}", ""});
  table.add({"longer", "mma{}", "why"});
  CHECK(table.text() == "name    config            message\na       simt{block_m=16}\nlonger  mma{}             why\n");
  CHECK(table.text(40) == table.text());
  CHECK(table.text(20, "--format csv") ==
        "name\n    config\n    message\na\n    simt{block_m=16}\nlonger\n    mma{}\n    why\n");
  CHECK(
      table.text(10, "--format csv") ==
      "name\n    config\n    messa…\na\n    simt{…\nlonger\n    mma{}\n    why\n(cut to the terminal's width; --format csv has all)\n");
}

TEST_CASE("a terminal that is too narrow for a table of bests sees the device once and configs below their lines") {
  std::vector<db::JudgedBest> bests(2);
  for (db::JudgedBest& best : bests) {
    best.record.task = packed_problem({*find_type_pair("f16f32"), {}}, 64, 64, 64);
    best.record.device = device("NVIDIA H200", 90, 132);
    best.record.config = Config("simt", {{"block_m", 16}, {"block_n", 16}});
    best.trust = "valid";
  }
  const std::string wide = best_table(bests, 0);
  CHECK(wide.find("trust  device       config") != std::string::npos);
  CHECK(best_table(bests, 200) == wide);
  const std::string narrow = best_table(bests, 80);
  CHECK(narrow.rfind("on NVIDIA H200\ntype ", 0) == 0);
  CHECK(narrow.find("device") == std::string::npos);
  CHECK(narrow.find("valid\n    simt{block_m=16,block_n=16}\n") != std::string::npos);
  CHECK(narrow.find("cut to") == std::string::npos);
  bests[1].record.device.name = "NVIDIA H100";
  CHECK(best_table(bests, 80).rfind("type ", 0) == 0);
}

TEST_CASE("figures are written one way each") {
  CHECK(format_us(12.345) == "12.35");
  CHECK(format_us(0) == "-");
  CHECK(format_percent(0.4312) == "43.1%");
  CHECK(format_seconds(192) == "3m12s");
  CHECK(format_seconds(7500) == "2h05m");
  CHECK(format_count(1234567) == "1,234,567");
  CHECK(format_count(123) == "123");
  CHECK(format_bytes(62914560) == "60 MiB");
  const Problem problem = packed_problem({*find_type_pair("f16f32"), {}}, 4096, 4096, 4096);
  CHECK(near(tflops(problem, 1000), 137.44, 1e-3));
}

TEST_CASE("peaks agree with the data sheets") {
  const auto peak = [](const db::DeviceIdentity& of, const char* type, double mhz = 0) {
    return peak_tflops(of, *find_type_pair(type), mhz).value_or(0);
  };
  const db::DeviceIdentity h200 = device("NVIDIA H200", 90, 132);
  CHECK(near(peak(h200, "f16f32"), 989.4, 2e-3));
  CHECK(near(peak(h200, "tf32f32"), 494.7, 2e-3));
  CHECK(near(peak(h200, "s8s32"), 1978.9, 2e-3));
  CHECK(near(peak(h200, "f64f64"), 66.9, 2e-3));
  CHECK(near(peak(h200, "f32f32"), 66.9, 2e-3));
  CHECK(near(peak(h200, "f32x3f32"), 164.7, 2e-3));  // a third of tf32's
  const db::DeviceIdentity orin = device("Orin", 87, 16, "MAXN");
  CHECK(near(peak(orin, "f16f32"), 42.6, 2e-3));
  CHECK(near(peak(orin, "s8s32"), 85.2, 2e-3));
  CHECK(near(peak(device("Orin", 87, 8, "MODE_30W"), "f16f32"), 10.03, 2e-3));
  CHECK(near(peak(device("NVIDIA A100-SXM4-80GB", 80, 108), "bf16f32"), 311.9, 2e-3));
  CHECK(near(peak(device("NVIDIA GeForce RTX 3090", 86, 82), "f16f32", 1695), 71.2, 2e-3));
  CHECK(near(peak(device("NVIDIA GeForce RTX 3090", 86, 82), "bf16f32bf16", 1695), 71.2, 2e-3));  // as it accumulates
  CHECK(near(peak(device("NVIDIA GeForce RTX 3090", 86, 82), "f16f16", 1695), 142.3, 2e-3));
  CHECK(near(peak(device("NVIDIA RTX A6000", 86, 84), "f16f32", 1800), 154.8, 2e-3));
  CHECK_FALSE(peak_tflops(device("unheard of", 90, 100), *find_type_pair("f16f32")));
  CHECK_FALSE(peak_tflops(device("NVIDIA H200 as sm_87", 87, 132), *find_type_pair("f16f32")));
}

TEST_CASE("CSV cells with commas and quotes are quoted") {
  nlohmann::ordered_json records = nlohmann::ordered_json::array();
  records.push_back({{"a", "x,y"}, {"b", "say \"hi\""}, {"c", nullptr}});
  CHECK(to_csv(records, {"a", "b", "c"}) == "a,b,c\n\"x,y\",\"say \"\"hi\"\"\",\n");
}

TEST_CASE("problems that differ in more than their sizes say so in a column of their own, which others do without") {
  std::string error;
  std::vector<db::JudgedBest> bests(2);
  for (db::JudgedBest& best : bests) {
    best.record.task = parse_problem("f16f32 NN 64 64 64", error).value();
    best.record.config = Config("simt", {{"block_m", 16}});
  }
  CHECK(best_table(bests, 0).rfind("type    op   M   N   K  µs", 0) == 0);
  bests[1].record.task = parse_problem("f16f32 NN 64 64 64 lda=72 beta=any", error).value();
  const std::string table = best_table(bests, 0);
  CHECK(table.rfind("type    op   M   N   K  options          µs", 0) == 0);
  CHECK(table.find("f16f32  NN  64  64  64  lda=72 beta=any   -") != std::string::npos);
  CHECK(record_table({bests[1].record}, 0).find("K  options          µs") != std::string::npos);
}
