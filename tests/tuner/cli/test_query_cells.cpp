// What stands in the cells of a query: figures, and texts of others.
#include <nlohmann/json.hpp>

#include "tests/catch.hpp"
#include "tests/tuner/made_recording.hpp"
#include "tests/tuner/run_binary.hpp"

using namespace tilesmith;
using namespace tilesmith::tests;

TEST_CASE("a cell that a spreadsheet would run as a formula is text in CSV, and a number stays a number") {
  const TempFolder folder;
  make_database(folder / "tuned.db");
  const auto csv = [&](const std::string& cells) {
    return run(folder, {"query", "--db", "tuned.db", "--format", "csv", "--sql", "SELECT " + cells}).out;
  };
  CHECK(csv("'=1+1' AS a, '+cmd|x' AS b, '-2+3' AS c, '@SUM(A1)' AS d, char(9) || '=1' AS e") ==
        "a,b,c,d,e\n'=1+1,'+cmd|x,'-2+3,'@SUM(A1),'\t=1\n");
  CHECK(csv("'=HYPERLINK(\"x\",\"y\")' AS a") == "a\n\"'=HYPERLINK(\"\"x\"\",\"\"y\"\")\"\n");
  CHECK(csv("-1.5 AS a, '-1.5' AS b, '+3e-2' AS c, -7 AS d, 'a-b' AS e, '' AS f") ==
        "a,b,c,d,e,f\n-1.5,-1.5,+3e-2,-7,a-b,\n");
  CHECK(csv("'-inf' AS a, '-nan' AS b, '-' AS c, 1 AS \"=d\"") == "a,b,c,'=d\n'-inf,'-nan,'-,1\n");
  {
    db::Store store = db::Store::open(folder / "tuned.db");
    for (db::Record entry : made_record(made_problems(), 5)) {
      if (entry.outcome.timing) continue;
      entry.outcome.message = "=cmd|' /C calc'!A0";
      entry.origin = "@host";
      store.record(entry);
    }
  }
  const std::string all = run(folder, {"query", "--db", "tuned.db", "--all", "--format", "csv"}).out;
  CHECK(contains(all, ",'=cmd|' /C calc'!A0,"));
  CHECK(contains(all, ",'@host,"));
  CHECK_FALSE(contains(all, ",=cmd"));
}

TEST_CASE("query gives a problem that memory bounds in GB/s, and its share of that peak, as the report does") {
  const TempFolder folder;
  std::vector<Problem> problems = made_problems();
  problems.front() = packed_problem({*find_type_pair("f16f32"), {}}, 1, 4096, 4096);
  {
    db::Store store = db::Store::open(folder / "tuned.db");
    for (const db::Record& entry : made_record(problems, 8)) store.record(entry);
  }
  {
    db::Store store = db::Store::open(folder / "cubes.db");
    for (const db::Record& entry : made_record({packed_problem({*find_type_pair("f16f32"), {}}, 4096, 4096, 4096)}, 2))
      store.record(entry);
  }
  const Finished table = run(folder, {"query", "--db", "tuned.db"});
  CHECK(contains(table.out, "TFLOP/s|TOPS    GB/s          peak"));
  CHECK(contains(table.out, "3357.9  68.5% memory"));
  CHECK_FALSE(contains(run(folder, {"query", "--db", "cubes.db"}).out, "GB/s"));
  CHECK_FALSE(contains(table.out, "0.3%"));
  const auto json = nlohmann::json::parse(run(folder, {"query", "--db", "tuned.db", "--format", "json"}).out);
  REQUIRE(json.size() == 2);
  CHECK(json[0]["bound"] == "memory");
  CHECK(json[0]["peak_fraction"].get<double>() == Approx(33579008e-9 / 10e-6 / 4900).epsilon(1e-3));
  CHECK(json[0]["gbps"].get<double>() == Approx(3357.9).epsilon(1e-3));
  const std::string csv = run(folder, {"query", "--db", "tuned.db", "--format", "csv"}).out;
  CHECK(contains(csv, ",tflops,gbps,bound,peak_fraction,"));
  CHECK(contains(csv, ",memory,0.68"));
  CHECK(contains(run(folder, {"explain", "f16f32 NN 1 4096 4096", "--db", "tuned.db"}).out,
      "10.00 us, 3357.9 GB/s (68.5% of peak memory bandwidth)"));
  REQUIRE(run(folder, {"report", "--db", "tuned.db", "--out", "r.html"}).status == 0);
  CHECK(contains(read_file(folder / "r.html"), ">3357.9 GB/s<"));
  CHECK(contains(read_file(folder / "r.html"), ">68.5%<"));
}
