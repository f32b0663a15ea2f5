// `tilesmith import -o`: logs in, a workload out.
#include "tests/catch.hpp"
#include "tests/tuner/run_binary.hpp"
#include "tuner/workload.hpp"

using namespace tilesmith;
using namespace tilesmith::tests;

namespace {

std::string fixture(const std::string& name) { return std::string(TILESMITH_SOURCE_DIR) + "/tests/tuner/logs/" + name; }

void refused(const TempFolder& folder, std::vector<std::string> arguments, const std::string& part) {
  arguments.insert(arguments.begin(), "import");
  const Finished finished = run(folder, arguments);
  INFO(finished.err);
  CHECK(finished.status == 2);
  CHECK(finished.out.empty());
  CHECK(contains(finished.err, part));
  CHECK_FALSE(std::filesystem::exists(folder / "app.workload"));
}

}  // namespace

TEST_CASE("logs of every kind become one workload, weighted by calls") {
  const TempFolder folder;
  const Finished finished = run(folder,
      {"import", fixture("cublaslt12.log"), fixture("cublaslt13.log"), fixture("tunableop_untuned0.csv"),
          fixture("tunableop_results0.csv"), fixture("hipblaslt.log"), fixture("rocblas.log"), "-o", "app.workload"});
  INFO(finished.err);
  REQUIRE(finished.status == 0);
  CHECK(contains(finished.out, "cublaslt12.log: cublaslt, 4 calls, 3 other lines\n"));
  CHECK(contains(finished.out, "tunableop_results0.csv: tunableop, 3 calls, 0 other lines\n"));
  CHECK(contains(finished.out, "rocblas.log: rocm, 52 calls, 0 other lines\n"));
  CHECK(contains(finished.out, "\napp.workload: 20 problems of 68 calls; 1 family of several M, 3 sizes added\n"));
  CHECK(read_file(folder / "app.workload") ==
        "# calls that `tilesmith import` read in logs\n"
        "weights calls\n"
        "# M of 2 sizes, 1 to 16, 4 calls:\n"
        "bf16f32bf16 NT 1 3072 768 epilogue=bias_n+gelu_tanh 1\n"
        "bf16f32bf16 NT 2 3072 768 epilogue=bias_n+gelu_tanh 1  # not seen\n"
        "bf16f32bf16 NT 4 3072 768 epilogue=bias_n+gelu_tanh 1  # not seen\n"
        "bf16f32bf16 NT 8 3072 768 epilogue=bias_n+gelu_tanh 1  # not seen\n"
        "bf16f32bf16 NT 16 3072 768 epilogue=bias_n+gelu_tanh 3\n"
        "tf32f32 NN 200 1000 500 1\n"
        "bf16f32bf16 NN 32 2048 1024 1\n"
        "e4m3f32bf16 NT 32 2048 1024 epilogue=scale_m+scale_n 1\n"
        "f16f32f16 NT 1024 768 768 epilogue=bias_n 1\n"
        "f32f32 NT 127 128 64 batch=96 batch_mode=strided 1\n"
        "bf16f32bf16 NN 128 64 127 beta=any batch=96 stride_a=0 batch_mode=strided 1\n"
        "f16f32f16 NT 1024 50272 768 1\n"
        "e4m3f32bf16 NT 12288 64 2048 epilogue=scale_m+scale_n 1\n"
        "f32f32 TN 4096 25088 64 1\n"
        "tf32f32 TN 4096 25088 64 1\n"
        "f16f32f16 NN 512 1024 1024 beta=any 1\n"
        "e4m3f32bf16 NT 1 10240 8192 epilogue=scale_m+scale_n+bias_n 1\n"
        "f16f32f16 NN 96 1024 512 50\n"
        "f16f32 TN 2048 1024 512 beta=any batch=5 batch_mode=strided 1\n"
        "f32f32 TN 30 40 20 1\n");
  // A line for each reason.
  CHECK(contains(finished.err, "1 call left out: an epilogue that has no kernel here\n"));
  CHECK(contains(finished.err, "1 call left out: 8-bit floats without fast accumulation\n"));
  CHECK(contains(finished.err, "1 call left out: a combination of types that has no kernel here\n"));
  CHECK(contains(finished.err, "1 call left out: a function of rocBLAS that is no such product\n"));
  const tuner::Workload read = tuner::load_workload(folder / "app.workload");
  CHECK(read.tasks.size() == 20);
  CHECK(read.weights_are_calls);
}

TEST_CASE("a log comes from standard input and a workload goes to standard output; buckets are asked for") {
  const TempFolder folder;
  const std::string log = fixture("cublaslt12.log");
  REQUIRE(shell(folder, "tilesmith import - --format cublaslt --buckets 15-17 -o - < '" + log +
                            "' > app.workload 2>/dev/null") == 0);
  const std::string made = read_file(folder / "app.workload");
  CHECK(contains(made, "weights calls\n"));
  CHECK(contains(made, " NT 15 3072 768 epilogue=bias_n+gelu_tanh 1  # not seen\n"));
  CHECK(contains(made, " NT 17 3072 768 epilogue=bias_n+gelu_tanh 1  # not seen\n"));
  CHECK_FALSE(contains(made, "NT 2 3072"));
  CHECK_FALSE(contains(made, "app.workload"));
}

TEST_CASE(
    "lines of a log that are wrong, cut off or not served are left out, each reason in one line with its place and count") {
  const TempFolder folder;
  const std::string good =
      "hipblaslt-bench -m 64 -n 64 -k 64 --a_type bf16_r --b_type bf16_r --c_type bf16_r --d_type bf16_r --compute_type f32_r";
  write_file(folder / "glued.log", good + "\n" + good + "  " + good + "\n" + good +
                                       " --activation_type swish\nhipblaslt-bench -m 64 -n 64 -k 6\n" + good + "\n" +
                                       good);
  const Finished finished = run(folder, {"import", "glued.log", "-o", "app.workload"});
  INFO(finished.err);
  CHECK(finished.status == 0);
  CHECK(contains(finished.out, "glued.log: rocm, 2 calls, 0 other lines, 2 wrong lines\n"));
  CHECK(contains(finished.err,
      "glued.log:2: rocm: 'hipblaslt-bench', expected an option such as -m or --transA; 1 line was left out\n"));
  CHECK(
      contains(finished.err, "glued.log:4: rocm: no --a_type in the line, expected one, or -r; 1 line was left out\n"));
  CHECK(contains(finished.err, "glued.log:6: the last line has no end and was left out\n"));
  CHECK(contains(finished.err, "1 call left out: an epilogue that has no kernel here\n"));
  CHECK(read_file(folder / "app.workload") ==
        "# calls that `tilesmith import` read in logs\nweights calls\nbf16f32bf16 NN 64 64 64 2\n");
}

TEST_CASE("what import cannot read as logs is one line, and no workload is written") {
  const TempFolder folder;
  write_file(folder / "bad.csv",
      "GemmTunableOp_Half_TN,tn_64_32_16_ld_16_16_64\nGemmTunableOp_Half_TN,tn_64\nGemmTunableOp_Half_TN,tn_x_1_1\n");
  write_file(folder / "none.csv", "GemmTunableOp_c10::complex<float>_NN,nn_64_64_64_ld_64_64_64\n");
  write_file(folder / "other.txt", "a file\n");
  refused(folder, {"bad.csv", "-o", "app.workload"},
      "bad.csv:2: tunableop: 'tn_64', expected parameters such as tn_768_1024_768_ld_768_768_768; 2 of 3 lines are wrong");
  refused(folder, {"none.csv", "-o", "app.workload"}, "no call that can be served; app.workload was not written");
  refused(
      folder, {"other.txt", "-o", "app.workload"}, "other.txt: no line of such a log in it, expected cuBLASLt's trace");
  refused(folder, {"missing.log", "-o", "app.workload"}, "missing.log: cannot be read, expected a log");
  refused(folder, {"bad.csv", "--format", "nsys", "-o", "app.workload"},
      "--format 'nsys': unknown format; expected cublaslt, tunableop or rocm");
  refused(folder, {"bad.csv", "--buckets", "4-1", "-o", "app.workload"},
      "--buckets '4-1': expected powers, none, or sizes and ranges such as 1-64,128");
  refused(folder, {"none.csv", "-o", "none.csv"}, "-o none.csv: is one of the logs; expected another file");
  refused(folder, {fixture("cublaslt12.log")},
      "is cuBLASLt's trace (CUBLASLT_LOG_LEVEL=2); expected -o FILE, the workload to write");
  refused(folder, {"none.csv", "--buckets", "none"}, "--buckets");
  refused(folder, {"none.csv", "-o", "app.workload", "--db", "x.db"}, "--db");
}
