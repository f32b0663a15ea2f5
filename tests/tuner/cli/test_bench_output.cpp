// The CSV file of `tilesmith bench --out`.
#include "tuner/cli/output/bench_output.hpp"

#include <string>

#include "tests/catch.hpp"
#include "tests/tuner/run_binary.hpp"
#include "tuner/bench_csv.hpp"
#include "tuner/cli/commands/command.hpp"

using namespace tilesmith;
using namespace tilesmith::tests;
using namespace tilesmith::tuner;

namespace {

db::DeviceIdentity orin(int sm_count) { return {"Orin", 87, sm_count, 4194304, 167936, 200, "MAXN"}; }

Problem problem(const std::string& canonical) {
  std::string error;
  return parse_problem(canonical, error).value();
}

BenchReport report(const Problem& of, double us) {
  BenchReport made;
  made.problem = of;
  db::Outcome outcome{db::Status::launch_failed, "no memory", {}};
  if (us > 0) outcome = {db::Status::ok, "", db::Timing{us, 0.01, 21}};
  made.ours.push_back({{"tuned (exact)", Config("simt", {{"a", 1}})}, outcome});
  return made;
}

std::string refusal(const std::string& path) {
  try {
    BenchOutput(path, orin(14));
  } catch (const UsageError& error) {
    CHECK(lines_of(error.what()) == 0);
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("bench skips a problem that its file has a time of, by the whole problem and the whole device") {
  const TempFolder folder;
  const std::string path = folder / "bench.csv";
  const Problem packed = problem("f16f32 NN 64 64 64"), strided = problem("f16f32 NN 64 64 64 lda=128"),
                failed = problem("f16f32 NN 32 32 32");
  {
    BenchOutput out(path, orin(14));
    CHECK_FALSE(out.has(packed));
    out.add(report(packed, 10));
    out.add(report(failed, 0));
  }
  const BenchOutput again(path, orin(14));
  CHECK(again.has(packed));
  CHECK_FALSE(again.has(strided));
  CHECK_FALSE(again.has(failed));  // it was never timed
  CHECK_FALSE(BenchOutput(path, orin(16)).has(packed));
  const auto rows = load_bench_csv(path);
  REQUIRE(rows.size() == 2);
  CHECK(rows[0].problem == packed);
  CHECK(rows[0].device == db::text(orin(14)));
  CHECK_FALSE(rows[1].us);
}

TEST_CASE("a last line of bench's file that was cut short goes, and files of other kinds are refused in a line") {
  const TempFolder folder;
  const std::string path = folder / "bench.csv";
  { BenchOutput(path, orin(14)).add(report(problem("f16f32 NN 64 64 64"), 10)); }
  const std::string whole = read_file(path);
  write_file(path, whole + "f16f32 NN 32 32 32,f16f32,NN");
  { const BenchOutput out(path, orin(14)); }
  CHECK(read_file(path) == whole);
  write_file(path, "a,b\n1,2\n");
  CHECK(contains(refusal(path), "no file of `tilesmith bench --out`"));
  CHECK(read_file(path) == "a,b\n1,2\n");
}
