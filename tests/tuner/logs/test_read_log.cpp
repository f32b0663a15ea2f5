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
  const ReadLog log = read("hello\r\n" + std::string(kGemm) + "hipblaslt-bench -r f16_r -m 8 -n 8 -k 8\n" + kGemm);
  CHECK(log.format->name == "tunableop");
  CHECK(log.calls.count() == 2);
  CHECK(log.passed_over == 2);
  CHECK_FALSE(log.is_cut_off);
  CHECK(read("hello\nhipblaslt-bench -r f16_r -m 8 -n 8 -k 8\n" + std::string(kGemm)).format->name == "rocm");
  CHECK(read(std::string(kGemm) + "hipblaslt-bench -r f16_r -m 8 -n 8 -k 8\n", "rocm")
            .calls.problems()[0]
            .key.problem.m == 8);
}

TEST_CASE("wrong lines of a log are counted by reason and left out, each reason with its first line") {
  const std::string good = kGemm;
  const ReadLog log = read(good + "\nGemmTunableOp_Half_TN,tn_64\n" + good + good +
                           "GemmTunableOp_Half_TN,tn_6\nGemmTunableOp_Half_TN,tn_x_1_1,a,1\n");
  CHECK(log.calls.count() == 3);
  CHECK(log.wrong == 3);
  CHECK(log.passed_over == 1);
  REQUIRE(log.notes.size() == 2);
  CHECK(log.notes[0] == "x.log:7: tunableop: m is 'x', expected an integer of at least 0; 1 line was left out");
  CHECK(
      log.notes[1] ==
      "x.log:3: tunableop: 'tn_64', expected parameters such as tn_768_1024_768_ld_768_768_768; 2 such lines were left out");
}

TEST_CASE("a log of whose lines most are wrong, or none is one, is an error with file and line") {
  const std::string wrong = "GemmTunableOp_Half_TN,tn_64\n";
  CHECK(
      log_error(kGemm + wrong + wrong) ==
      "x.log:2: tunableop: 'tn_64', expected parameters such as tn_768_1024_768_ld_768_768_768; 2 of 3 lines are wrong");
  CHECK(log_error(wrong) == "x.log:1: tunableop: 'tn_64', expected parameters such as tn_768_1024_768_ld_768_768_768");
  CHECK(log_error("").starts_with(
      "x.log: no line of such a log in it, expected cuBLASLt's trace (CUBLASLT_LOG_LEVEL=2), PyTorch's "));
  CHECK(log_error(kGemm, "cublaslt") ==
        "x.log: no line of such a log in it, expected cuBLASLt's trace (CUBLASLT_LOG_LEVEL=2)");
  CHECK(log_error(std::string(70000, 'x')) == "x.log:1: a line of more than 65536 bytes, expected a log");
  CHECK(read(std::string(70000, '.') + "\n" + kGemm).notes ==
        std::vector<std::string>{"x.log:1: a line of more than 65536 bytes, expected a log; 1 line was left out"});
}

TEST_CASE("a wrong line does not decide a log's format") {
  const ReadLog log = read("hipblaslt-bench -m now\n" + std::string(kGemm));
  CHECK(log.format->name == "tunableop");
  CHECK(log.notes ==
        std::vector<std::string>{"x.log:1: rocm: m is 'now', expected an integer of at least 0; 1 line was left out"});
}

TEST_CASE("a last line without an end is left out, whole or not, as nobody can tell") {
  for (const std::string last : {"GemmTunableOp_Half_TN,tn_64", "GemmTunableOp_Half_TN,tn_50272_1024_76",
           "GemmTunableOp_Half_TN,tn_1_2_3_ld_3_3_1"}) {
    const ReadLog log = read(kGemm + last);
    CHECK(log.is_cut_off);
    CHECK(log.calls.count() == 1);
    CHECK(log.notes == std::vector<std::string>{"x.log:2: the last line has no end and was left out"});
  }
  CHECK(log_error("GemmTunableOp_Half_TN,tn_1_2_3_ld_3_3_1")
            .starts_with("x.log:1: the last line has no end and was left out; else no line of such"));
}

TEST_CASE("a line that lacks what most lines of its log have was cut, though it could be one of an older version") {
  const std::string old = "GemmTunableOp_float_NN,nn_1_2_3\n";  // PyTorch 2.6
  CHECK(read(old + old).calls.count() == 2);
  const ReadLog log = read(std::string(kGemm) + "GemmTunableOp_Half_TN,tn_50272_1024_76\n8_ld_768_768_50272\n" + kGemm);
  CHECK(log.calls.count() == 2);
  CHECK(
      log.notes ==
      std::vector<std::string>{
          "x.log:2: tunableop: a line that was cut, expected all that most lines of this log have; 1 line was left out"});
  const std::string result = "GemmTunableOp_Half_TN,tn_64_32_16_ld_16_16_64,Default,0.1\n";
  CHECK(read(result + result + "GemmTunableOp_Half_TN,tn_1_1_1_ld_1_1_1\n").calls.count() == 2);
  CHECK(read(kGemm + old + kGemm + result).calls.count() ==
        3);  // lines that have more are no reason to doubt those that most are like
}

TEST_CASE("a byte order mark and quotes lose no row") {
  CHECK(read("\xEF\xBB\xBF" + std::string(kGemm) + kGemm).calls.count() == 2);
  const ReadLog log = read(
      "\xEF\xBB\xBF\"GemmTunableOp_Half_TN\",\"tn_64_32_16_ld_16_16_64\",Default,0.1,\"BLAS_PARAMS: - { M: 64, beta: 1.0000 }\"\r\n");
  REQUIRE(log.calls.count() == 1);
  CHECK(log.calls.problems()[0].key.problem.beta_is_zero == 0);
}

TEST_CASE("a long log's problems are kept once each, with all their calls") {
  std::string text;
  for (int i = 0; i < 20000; ++i)
    text += "GemmTunableOp_Half_TN,tn_64_" + std::to_string(1 + i % 10) + "_16_ld_16_16_64\n";
  const ReadLog log = read(text);
  CHECK(log.calls.count() == 20000);
  CHECK(log.calls.problems().size() < 5000);
  std::uint64_t calls = 0;
  for (const auto& one : log.calls.problems()) calls += one.calls;
  CHECK(calls == 20000);
}
