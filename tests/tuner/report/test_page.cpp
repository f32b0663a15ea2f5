// tilesmith report: the page, its options and its refusals.
#include <fmt/format.h>

#include <regex>

#include "tests/catch.hpp"
#include "tests/problem_of_text.hpp"
#include "tests/tuner/bench_file.hpp"
#include "tests/tuner/report/made_night.hpp"
#include "tests/tuner/run_binary.hpp"
#include "tuner/report/page.hpp"

using namespace tilesmith;
using namespace tilesmith::tests;

namespace {

constexpr const char* kHostile =
    "</td><script>alert(1)</script><img src=\"http://example.com/x\" onerror='x'>\x1b[31m&";

std::size_t count_in(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

/// Two problems on an Orin, one failure each, one run that ended.
MadeNight ordinary_night() {
  MadeNight night;
  night.recorded(kNight, 0, 60, "budget");
  for (const std::int64_t m : {512, 1024}) {
    night.problem = packed_problem({*find_type_pair("f16f32"), {}}, m, 1024, 1024);
    for (int i = 0; i < 12; ++i) night.passed(i, 40 - i);
    night.failed(99, db::Status::spilled, "spills 16 bytes");
  }
  return night;
}

/// Of a night, by the program; the exit status must be 0.
std::string page_of(const MadeNight& night, std::vector<std::string> more = {}) {
  const TempFolder folder;
  night.store_to(folder / "tuned.db");
  std::vector<std::string> arguments{"report", "--db", "tuned.db", "--out", "report.html"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  const Finished result = run(folder, arguments);
  INFO(result.err);
  REQUIRE(result.status == 0);
  CHECK(result.err.empty());
  CHECK(lines_of(result.out) == 1);
  return read_file(folder / "report.html");
}

void check_refused(const std::vector<std::string>& more, const std::vector<std::string>& parts) {
  const TempFolder folder;
  ordinary_night().store_to(folder / "tuned.db");
  write_file(
      folder / "bad.csv", bench_file({bench_row("f16f32 NN 1 1 1", db::text(made_device()), "simt{a=1}", "fast", "")}));
  std::vector<std::string> arguments{"report", "--db", "tuned.db", "--out", "report.html"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  const Finished result = run(folder, arguments);
  INFO(result.err);
  CHECK(result.status == 2);
  CHECK(result.out.empty());
  CHECK(lines_of(result.err) == 1);
  for (const std::string& part : parts) CHECK(contains(result.err, part));
  CHECK_FALSE(std::filesystem::exists(folder / "report.html"));
}

}  // namespace

TEST_CASE("the roofline has a dot a problem, which leads to its row, and the device's roofs") {
  const std::string page = page_of(ordinary_night());
  CHECK(count_in(page, "<svg class=\"scatter\"") == 1);
  CHECK(count_in(page, "<circle class=\"dot ours\"") == 2);
  CHECK(count_in(page, "<circle class=\"dot vendor\"") == 0);
  for (const char* part :
      {"<a href=\"#roofline\">Roofline</a>", "<a href=\"#r0\"", "<a href=\"#r1\"", "<tr id=\"r0\">", "<tr id=\"r1\">",
          "memory 4900 GB/s", "f16f32 989.4",
          "TFLOP/s at 256 operations a byte"}) {  // 2·512·1024·1024 over 2·512·1024 + 2·1024·1024 + 4·512·1024 bytes is 204.8, of 1024 rows 256
    INFO(part);
    CHECK(contains(page, part));
  }
  MadeNight nothing;
  nothing.recorded(kNight, 0, 60, "budget");
  nothing.failed(1, db::Status::spilled, "spills 16 bytes");
  CHECK_FALSE(contains(page_of(nothing), "roofline"));
  MadeNight unknown;
  unknown.device.name = "Unheard-of";
  unknown.device.sm = 70;
  unknown.device.bandwidth_class_gbps = 0;
  unknown.recorded(kNight, 0, 60, "budget");
  unknown.passed(1, 20);
  CHECK(contains(page_of(unknown), "it has no roof here"));
}

TEST_CASE("the report's page has a row a problem, charts, failures and an outlook") {
  const std::string page = page_of(ordinary_night());
  CHECK(page.rfind("<!DOCTYPE html>", 0) == 0);
  CHECK(count_in(page, "<th scope=\"row\"><a href=\"#p") >= 2);
  CHECK(count_in(page, "<svg class=\"small\"") == 2);
  CHECK(count_in(page, "<svg class=\"large\"") == 2);
  CHECK(count_in(page, "<svg class=\"series\"") == 3);
  CHECK(count_in(page, "<svg") + count_in(page, "<circle") ==
        count_in(page, "<title>") - 1);  // each has a title, and so has the page
  for (const char* part :
      {"2 problems tuned on NVIDIA H200 in 1m00s", "1.38× as fast as the baseline", "spills 16 bytes", "budget",
          "Another hour", "prefers-color-scheme: dark", "@media print", "29.00", "simt{x=11}"}) {
    INFO(part);
    CHECK(contains(page, part));
  }
  CHECK_FALSE(contains(page, ">nan"));
  CHECK_FALSE(contains(page, "inf<"));
}

TEST_CASE("problems that differ in batch, epilogue or strides alone are told apart in the report's table") {
  CHECK_FALSE(contains(page_of(ordinary_night()), ">options</th>"));  // no problem has any
  MadeNight night;
  night.recorded(kNight, 0, 60, "done");
  const std::vector<std::string> options{"", "lda=1040", "beta=any", "batch=8 batch_mode=strided",
      "batch=8 stride_b=0 batch_mode=strided", "batch=8 batch_mode=grouped", "epilogue=bias_n+gelu",
      "beta=any scalars=device"};
  for (const std::string& words : options) {
    night.problem = problem_of_text("f16f32 NN 512 1024 1024 " + words);
    night.passed(1, 40);
  }
  const std::string page = page_of(night);
  const std::string table = page.substr(page.find("id=\"problem-table\""));
  CHECK(contains(table, ">options</th>"));
  for (const std::string& words : options) {
    INFO(words);
    CHECK(count_in(table.substr(0, table.find("</table>")), fmt::format("<td class=\"options\">{}</td>", words)) == 1);
  }
}

TEST_CASE("the report's page needs nothing besides itself") {
  const std::string page = page_of(ordinary_night());
  for (const char* part : {"http://", "https://", "<link", "<iframe", "@import", "url(", "fetch(", "src="}) {
    INFO(part);
    CHECK_FALSE(contains(page, part));
  }
  const std::regex outside("(href|action|data|poster)=\"(?!#)");
  CHECK_FALSE(std::regex_search(page, outside));
  CHECK(contains(page, "Content-Security-Policy\" content=\"default-src 'none'"));
}

TEST_CASE("whatever stands in messages, commands and hosts is text on the report's page") {
  MadeNight night;
  night.recorded(kNight, 0, 60, std::string("failed: ") + kHostile).command = kHostile;
  night.runs[0].host = night.runs[0].workload = kHostile;
  night.passed(1, 40);
  night.failed(2, db::Status::compile_failed, kHostile);
  const std::string page = page_of(night);
  CHECK(count_in(page, "<script>") == 1);
  CHECK_FALSE(contains(page, "<img"));
  CHECK_FALSE(contains(page, "\x1b"));
  CHECK(count_in(page, "&lt;script&gt;alert(1)&lt;/script&gt;") >= 4);
}

TEST_CASE("the report says plainly that nothing was tuned, or that nothing passed") {
  CHECK(contains(page_of(MadeNight()), "Nothing was tuned: the database knows no run."));
  MadeNight begun;
  begun.recorded(kNight, 0, {}, "");
  const std::string without = page_of(begun);
  CHECK(contains(without, "No outcome was recorded by this run (it has no end: it is still at work, or was killed)"));
  MadeNight failing;
  failing.recorded(kNight, 0, 60, "done");
  for (int i = 0; i < 12; ++i) failing.failed(i, db::Status::timed_out, "took 20 s");
  const std::string failures = page_of(failing);
  for (const char* part : {"No candidate passed: there is no best time.", "100% of the candidates failed", "timed_out",
           "1 problem had no candidate that passed"}) {
    INFO(part);
    CHECK(contains(failures, part));
  }
}

TEST_CASE("a report of nothing says so on the terminal too") {
  const TempFolder folder;
  MadeNight begun;
  begun.recorded(kNight, 0, 60, "done");
  begun.store_to(folder / "tuned.db");
  const Finished result = run(folder, {"report", "--db", "tuned.db", "--out", "report.html"});
  CHECK(result.status == 0);
  CHECK(
      result.out ==
      "report.html: No outcome was recorded by this run (it ended: done). What is known already is not tried again.\n");
}

TEST_CASE("the report's page calls short launches disturbed, not long ones timed beside a control") {
  MadeNight night;
  night.recorded(kNight, 0, 60, "done");
  night.passed(1, 800).outcome.timing->drift = 1.3;
  const std::string disturbed =
      "1 of 2 readings are more than 10% either way by the clock probe: taken although disturbed";
  CHECK_FALSE(contains(page_of(night), "taken although disturbed"));
  night.passed(2, 20).outcome.timing->drift = 1.3;
  CHECK(contains(page_of(night), disturbed));
}

TEST_CASE("the report takes cuBLASLt's times from bench's CSV, and weights from a workload") {
  const TempFolder folder;
  write_file(folder / "bench.csv",
      bench_file({bench_row("f16f32 NN 512 1024 1024", db::text(made_device()), "simt{x=11}", "29", "58")}));
  write_file(folder / "night.txt", "f16f32 NN 512 1024 1024 3\nf16f32 NN 64 64 64\n");
  const std::string page =
      page_of(ordinary_night(), {"--bench", folder / "bench.csv", "--workload", folder / "night.txt"});
  CHECK(contains(page, "and 2.00× as fast as cuBLASLt"));
  CHECK(count_in(page, "<circle class=\"dot vendor\"") == 1);
  CHECK(contains(page, "Hollow dots are cuBLASLt"));
  CHECK(contains(page, "1 problem of workload night not reached"));
  CHECK(contains(page, "f16f32 NN 64×64×64"));
}

TEST_CASE("the report refuses bad options in one line, and then writes nothing") {
  check_refused({"--run", "cccc"}, {"--run 'cccc': not one run of tuned.db begins so", "1 run there", kNight});
  check_refused({"--since", "soon"}, {"--since 'soon': expected a time in UTC such as"});
  check_refused(
      {"--since", "2999-01-01"}, {"--since '2999-01-01': lies ahead of now", "expected a time that has passed"});
  check_refused(
      {"--device", "Orin"}, {"--device 'Orin': no such device in tuned.db; expected part of one of: NVIDIA H200"});
  check_refused({"--bench", "bad.csv"}, {"--bench bad.csv:2: median_us is 'fast', expected a number above 0"});
  check_refused({"--bench", "none.csv"}, {"--bench none.csv: cannot be read"});
  check_refused({"--workload", "none"}, {"--workload 'none': no such file"});
  check_refused({"--out", "none/report.html"}, {"--out"});
}

TEST_CASE("the report goes to stdout, and is cut by device and time") {
  const TempFolder folder;
  ordinary_night().store_to(folder / "tuned.db");
  const Finished result =
      run(folder, {"report", "--db", "tuned.db", "--out", "-", "--device", "H200", "--since", "2026-01-31T22:00:14"});
  CHECK(result.status == 0);
  CHECK(result.out.rfind("<!DOCTYPE html>", 0) == 0);
  CHECK(contains(result.out, "1 problem tuned"));
  CHECK(contains(result.out, "since 2026-01-31 22:00 UTC"));
}
