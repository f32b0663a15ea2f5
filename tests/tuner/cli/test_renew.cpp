#include <filesystem>

#include "tests/catch.hpp"
#include "tests/tuner/made_landscape.hpp"
#include "tests/tuner/run_binary.hpp"

using namespace tilesmith;
using namespace tilesmith::tests;

TEST_CASE("renew tells how much of the evidence stands and with which trust, and refuses what it cannot work on in a line") {
  const TempFolder folder;
  const Finished missing = run(folder, {"renew", "--db", "none.db"});
  CHECK(missing.status == 2);
  CHECK(contains(missing.err, "none.db: no such file"));
  CHECK_FALSE(std::filesystem::exists(folder / "none.db"));
  {
    db::Store store = db::Store::open(folder / "tuned.db");
    std::vector<db::Evidence> entries = made_evidence({made_problems()[0]}, 6);
    entries[0].plan_hash = "former";
    entries[1].producer.driver_version = "500";
    entries[2].producer.measuring_policy = "cold-1";
    for (const db::Evidence& entry : entries) store.record(entry);
  }
  const Finished nobody = run(folder, {"renew", "--db", "tuned.db", "--device", "Orin"});
  CHECK(nobody.status == 2);
  CHECK(contains(nobody.err, "holds no device whose text contains 'Orin'"));
  const Finished told = run(folder, {"renew", "--db", "tuned.db"});
  CHECK(told.status == 0);
  CHECK(contains(told.out, "simt: 5 of 6 candidates stand: 3 valid, 1 reverify, 1 remeasure; 1 retired\n"));
}
