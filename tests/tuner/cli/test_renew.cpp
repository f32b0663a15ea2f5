#include <filesystem>

#include "runtime/compile/compiler.hpp"
#include "tests/catch.hpp"
#include "tests/tuner/made_recording.hpp"
#include "tests/tuner/run_binary.hpp"

using namespace tilesmith;
using namespace tilesmith::tests;

TEST_CASE("renew tells how many records stand and with which trust, and refuses what it cannot work on in a line") {
  const TempFolder folder;
  const Finished missing = run(folder, {"renew", "--db", "none.db"});
  CHECK(missing.status == 2);
  CHECK(contains(missing.err, "none.db: no such file"));
  CHECK_FALSE(std::filesystem::exists(folder / "none.db"));
  {
    db::Store store = db::Store::open(folder / "tuned.db");
    std::vector<db::Record> entries = made_record({made_problems()[0]}, 6);
    entries[0].plan_hash = "former";
    entries[1].environment.driver_version = "500";
    entries[2].environment.measuring_policy = "cold-1";
    for (const db::Record& entry : entries) store.record(entry);
  }
  const Finished nobody = run(folder, {"renew", "--db", "tuned.db", "--device", "Orin"});
  CHECK(nobody.status == 2);
  CHECK(contains(nobody.err, "holds no device whose text contains 'Orin'"));
  const Finished told = run(folder, {"renew", "--db", "tuned.db"});
  CHECK(told.status == 0);
  CHECK(contains(told.out, "simt: 5 of 6 candidates stand: 3 valid, 1 reverify, 1 remeasure; 1 retired\n"));
}

TEST_CASE("renew gives plans whose code did not change their new hashes, and refuses a table that is none") {
  const TempFolder folder;
  {
    db::Store store = db::Store::open(folder / "tuned.db");
    std::vector<db::Record> entries = made_record({made_problems()[0]}, 3);
    write_file(folder / "table", "# two plans\nplan 0123456789abcdef0123456789abcdef " + entries[0].plan_hash +
                                     "\n\nkernel " + entries[0].plan_hash + " " + entries[1].plan_hash + "\n");
    entries[0].plan_hash = "0123456789abcdef0123456789abcdef";
    for (const db::Record& entry : entries) store.record(entry);
  }
  CHECK(contains(run(folder, {"renew", "--db", "tuned.db"}).out, "2 valid, 0 reverify, 0 remeasure; 1 retired"));
  for (const auto& [table, expected] :
      {std::pair{"plan 0123 4567\n", "line 1: expected 'plan OLD NEW' or 'kernel OLD NEW'"},
          {"# x\nplans\n", "line 2: expected"},
          {"plan 0123456789abcdef0123456789abcdef 0123456789abcdef0123456789abcdee\nplan 0123456789abcdef0123456789abcdef "
           "0123456789abcdef0123456789abcded\n",
              "line 2: 0123456789abcdef0123456789abcdef has two new hashes"}}) {
    write_file(folder / "wrong", table);
    const Finished refused = run(folder, {"renew", "--db", "tuned.db", "--by", "wrong"});
    CHECK(refused.status == 2);
    CHECK(contains(refused.err, std::string("--by wrong: ") + expected));
  }
  CHECK(contains(run(folder, {"renew", "--db", "tuned.db", "--by", "none"}).err, "none: "));
  const Finished done = run(folder, {"renew", "--db", "tuned.db", "--by", "table"});
  CHECK(done.status == 0);
  CHECK(done.out == "new hashes: 1 of records, 0 stored kernels\n");
  CHECK(contains(run(folder, {"renew", "--db", "tuned.db"}).out, "3 valid, 0 reverify, 0 remeasure; 0 retired"));
}

TEST_CASE("renew writes what this program makes of each recorded candidate, once") {
  const TempFolder folder;
  {
    db::Store store = db::Store::open(folder / "tuned.db");
    for (const db::Record& entry : made_record({made_problems()[0]}, 2)) {
      store.record(entry);
      store.record(entry);
    }
  }
  const Finished done = run(folder, {"renew", "--db", "tuned.db", "--write-plans", "plans"});
  INFO(done.err);
  if (const std::string why = runtime::nvrtc_unavailable_because(); !why.empty()) {
    WARN("not tested: " << why);
    return;
  }
  CHECK(done.out == "plans: 2 plans\n");
  const std::string table = read_file(folder / "plans/plans.tsv");
  CHECK(table.starts_with("recorded\tplan\tlaunches\tkernel\tarch\tproblem\tconfig\n"));
  CHECK(lines_of(table) == 3);
  std::size_t cubins = 0;
  for (const auto& file : std::filesystem::directory_iterator(folder / "plans"))
    cubins += file.path().extension() == ".cubin";
  CHECK(cubins == 2);
  CHECK(run(folder, {"renew", "--db", "tuned.db", "--write-plans", "plans", "--by", "table"}).status == 2);
}
