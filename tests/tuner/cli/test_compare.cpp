// tilesmith compare, and the picture of it in the report.
#include <nlohmann/json.hpp>

#include "tests/catch.hpp"
#include "tests/tuner/made_recording.hpp"
#include "tests/tuner/run_binary.hpp"

using namespace tilesmith;
using namespace tilesmith::tests;

namespace {

/// Two problems on Monday; on Tuesday the first takes half as long, the second is another one.
void make_two_nights(const TempFolder& folder) {
  make_database(folder / "monday.db");
  db::Store tuesday = db::Store::open(folder / "tuesday.db");
  std::vector<Problem> problems = made_problems();
  problems.back() = packed_problem({*find_type_pair("f16f32"), {}}, 512, 512, 512);
  for (db::Record entry : made_record(problems, 8)) {
    if (entry.outcome.timing) entry.outcome.timing->median_us /= 2;
    tuesday.record(entry);
  }
}

}  // namespace

TEST_CASE("no message begins with the name of the command, which stands before it") {
  const TempFolder folder;
  const Finished one = run(folder, {"compare", "a.db"});
  CHECK(one.status == 2);
  CHECK(one.err == "tilesmith compare: DB: expected two databases, A and B, and not 1\n");
}

TEST_CASE("compare tells what became of two nights as table, json and csv") {
  const TempFolder folder;
  make_two_nights(folder);
  const Finished table = run(folder, {"compare", "monday.db", "tuesday.db"});
  INFO(table.err);
  REQUIRE(table.status == 0);
  for (const char* part : {"A: monday.db, NVIDIA H200", "faster  f16f32 NN 256 256 256", "10.00  5.00  2.000",
           "gone    s8s32 NT 128 256 512", "new     f16f32 NN 512 512 512",
           "1 gone, 1 faster, 1 new; of 1 that compare B is 2.000 times as fast"}) {
    INFO(part);
    CHECK(contains(table.out, part));
  }
  const Finished json = run(folder, {"compare", "monday.db", "tuesday.db", "--json"});
  CHECK(json.out == run(folder, {"compare", "monday.db", "tuesday.db", "--format", "json"}).out);
  const auto parsed = nlohmann::json::parse(json.out);
  CHECK(parsed["counts"]["faster"] == 1);
  CHECK(parsed["counts"]["slower"] == 0);
  CHECK(parsed["mean_speedup"] == 2.0);
  REQUIRE(parsed["problems"].size() == 3);
  CHECK(parsed["problems"][0]["change"] == "gone");
  CHECK(parsed["problems"][0]["b"].is_null());
  CHECK(parsed["problems"][1]["a"]["median_us"] == 10.0);
  CHECK(parsed["problems"][1]["b"]["trust"] == "valid");

  const Finished csv =
      run(folder, {"compare", "monday.db", "tuesday.db", "--format", "csv", "--change", "faster,new", "-o", "out.csv"});
  CHECK(csv.status == 0);
  CHECK(lines_of(read_file(folder / "out.csv")) == 3);
  CHECK(read_file(folder / "out.csv").rfind("change,problem,type,trans,m,n,k,weight,speedup,noise,a_device,", 0) == 0);
}

TEST_CASE("compare says in every format why times do not compare") {
  const TempFolder folder;
  make_two_nights(folder);
  {
    db::Store store = db::Store::open(folder / "former.db");
    for (db::Record entry : made_record(made_problems(), 8)) {
      entry.environment.measuring_policy = "cold-1";
      store.record(entry);
    }
  }
  const std::string because = std::string("timed by policy cold-1 in A, ") + tuner::kMeasuringPolicy + " in B";
  CHECK(contains(run(folder, {"compare", "former.db", "monday.db"}).out, "2 unlike (" + because + ")\n"));
  const auto json = nlohmann::json::parse(run(folder, {"compare", "former.db", "monday.db", "--json"}).out);
  CHECK(json["problems"][0]["because"] == because);
  CHECK(contains(run(folder, {"compare", "former.db", "monday.db", "--format", "csv"}).out, ",\"" + because + "\"\n"));
  CHECK(
      nlohmann::json::parse(run(folder, {"compare", "monday.db", "monday.db", "--json"}).out)["problems"][0]["because"]
          .is_null());
}

TEST_CASE("compare leaves out what is the same unless asked, and takes a workload") {
  const TempFolder folder;
  make_two_nights(folder);
  CHECK_FALSE(contains(run(folder, {"compare", "monday.db", "monday.db"}).out, "s8s32"));
  CHECK(contains(run(folder, {"compare", "monday.db", "monday.db"}).out, "2 same"));
  CHECK(contains(run(folder, {"compare", "monday.db", "monday.db", "--all"}).out, "same    s8s32"));
  write_file(folder / "w.txt", "f16f32 NN 256 256 256 3\nf16f32 NN 8 8 8\n");
  const Finished of_workload = run(folder, {"compare", "monday.db", "tuesday.db", "--workload", "w.txt"});
  CHECK(contains(of_workload.out, "1 faster; 1 of the workload in neither; of 1 that compare"));
}

TEST_CASE("compare refuses what it cannot mean in one line") {
  const TempFolder folder;
  make_two_nights(folder);
  const auto refused = [&](std::vector<std::string> arguments, const char* part) {
    arguments.insert(arguments.begin(), "compare");
    const Finished result = run(folder, arguments);
    INFO(result.err);
    CHECK(result.status == 2);
    CHECK(result.out.empty());
    CHECK(lines_of(result.err) == 1);
    CHECK(contains(result.err, part));
  };
  refused({"monday.db", "none.db"}, "none.db");
  refused({"monday.db"}, "expected two databases, A and B, and not 1");
  refused({"monday.db", "tuesday.db", "monday.db"}, "and not 3");
  refused({"monday.db", "tuesday.db", "--within", "x"}, "--within 'x': expected percent");
  refused({"monday.db", "tuesday.db", "--within", "nan"}, "--within 'nan'");
  refused({"monday.db", "tuesday.db", "--change", "better"}, "--change 'better': expected slower");
  refused({"monday.db", "tuesday.db", "--device", "Orin"}, "--device 'Orin'");
  refused({"monday.db", "tuesday.db", "--device", "H", "--device", "H", "--device", "H"}, "once, or twice");
  refused({"monday.db", "tuesday.db", "--format", "yaml"}, "--format");
}

TEST_CASE("the report draws what became of another database's bests") {
  const TempFolder folder;
  make_two_nights(folder);
  const Finished result =
      run(folder, {"report", "--db", "tuesday.db", "--run", "all", "--against", "monday.db", "--out", "report.html"});
  INFO(result.err);
  REQUIRE(result.status == 0);
  const std::string page = read_file(folder / "report.html");
  for (const char* part : {"<a href=\"#compared\">Compared</a>", "A is <code>monday.db</code>", "<a href=\"#c1\"",
           "<tr id=\"c1\">", "dot good", "1 gone, 1 faster, 1 new"}) {
    INFO(part);
    CHECK(contains(page, part));
  }
  REQUIRE(run(folder, {"report", "--db", "tuesday.db", "--run", "all", "--out", "report.html"}).status == 0);
  CHECK_FALSE(contains(read_file(folder / "report.html"), "id=\"compared\""));
  CHECK(run(folder, {"report", "--db", "tuesday.db", "--against", "none.db", "--out", "x.html"}).status == 2);
}
