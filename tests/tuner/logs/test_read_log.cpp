// Whole logs: their format, what is passed over, where an error is.
#include "tests/tuner/logs/lines.hpp"

using namespace tilesmith;
using namespace tilesmith::tuner;
using namespace tilesmith::tuner::toy;

namespace {

ReadLog read(const std::string& text, const char* format = nullptr) {
  std::istringstream in(text);
  return read_log(in, "x.log", format == nullptr ? nullptr : find_log_format(format));
}

std::string log_error(const std::string& text, const char* format = nullptr) {
  try {
    read(text, format);
  } catch (const LogError& error) {
    return error.what();
  }
  return "";
}

constexpr const char* kGemm = "GemmTunableOp_Half_TN,tn_64_32_16_ld_16_16_64\n";

}  // namespace

TEST_CASE("a log's format is that of its first line which is of any, and lines of none are passed over") {
  const ReadLog log = read("hello\r\n" + std::string(kGemm) + "hipblaslt-bench -m 8 -n 8 -k 8\n" + kGemm);
  CHECK(log.format->name == "tunableop");
  CHECK(log.calls.count() == 2);
  CHECK(log.passed_over == 2);
  CHECK_FALSE(log.is_cut_off);
  CHECK(read("hello\nhipblaslt-bench -m 8 -n 8 -k 8\n" + std::string(kGemm)).format->name == "rocm");
  CHECK(read(std::string(kGemm) + "hipblaslt-bench -m 8 -n 8 -k 8\n", "rocm").calls.problems()[0].key.m == 8);
}

TEST_CASE("a wrong line of a log is an error with file and line") {
  CHECK(log_error(std::string(kGemm) + "\nGemmTunableOp_Half_TN,tn_64\n") ==
        "x.log:3: tunableop: 'tn_64', expected parameters such as tn_768_1024_768_ld_768_768_768");
  CHECK(log_error("GemmTunableOp_Half_TN,tn_64\n").starts_with("x.log:1: tunableop: 'tn_64'"));
  CHECK(log_error("").starts_with("x.log: no line of such a log in it, expected cuBLASLt's trace (CUBLASLT_LOG_LEVEL=2), PyTorch's "));
  CHECK(log_error(kGemm, "cublaslt") == "x.log: no line of such a log in it, expected cuBLASLt's trace (CUBLASLT_LOG_LEVEL=2)");
  CHECK(log_error(std::string(70000, 'x')) == "x.log:1: a line of more than 65536 bytes, expected a log");
}

TEST_CASE("a last line that is cut off is passed over, as a program that was killed leaves one") {
  const ReadLog log = read(std::string(kGemm) + "GemmTunableOp_Half_TN,tn_64");
  CHECK(log.is_cut_off);
  CHECK(log.calls.count() == 1);
  CHECK_FALSE(log_error("GemmTunableOp_Half_TN,tn_64").empty());
}

TEST_CASE("a long log's problems are kept once each, with all their calls") {
  std::string text;
  for (int i = 0; i < 20000; ++i) text += "GemmTunableOp_Half_TN,tn_64_" + std::to_string(1 + i % 10) + "_16_ld_16_16_64\n";
  const ReadLog log = read(text);
  CHECK(log.calls.count() == 20000);
  CHECK(log.calls.problems().size() < 5000);
  std::uint64_t calls = 0;
  for (const auto& one : log.calls.problems()) calls += one.calls;
  CHECK(calls == 20000);
}
