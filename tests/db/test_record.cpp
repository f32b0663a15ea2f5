#include "db/store/record.hpp"
#include "tests/catch.hpp"
#include "tests/db/sample.hpp"

using namespace tilesmith;
using namespace tilesmith::db;
using namespace tilesmith::db::test;

TEST_CASE("status names parse back, and no other text does") {
  for (const Status status : {Status::ok, Status::illegal, Status::compile_failed, Status::spilled,
           Status::launch_failed, Status::timed_out, Status::device_fault, Status::mismatch}) {
    CHECK(parse_status(name(status)) == status);
  }
  CHECK_FALSE(parse_status("fine"));
  CHECK_FALSE(parse_status(""));
}

TEST_CASE("times are brought to three decimals, and other forms refused") {
  CHECK(normalized_utc("2026-01-31T23:59:59Z") == "2026-01-31T23:59:59.000Z");
  CHECK(normalized_utc("2026-01-31T23:59:59.1Z") == "2026-01-31T23:59:59.100Z");
  CHECK(normalized_utc("2026-01-31T23:59:59.123456Z") == "2026-01-31T23:59:59.123Z");
  for (const char* wrong :
      {"", "Z", "2026-01-31", "2026-01-31T23:59:59", "2026-01-31 23:59:59Z", "2026-01-31T23:59:59.Z",
          "2026-01-31T23:59:59+01:00", "2026-01-31T23:59:59.12x Z", "2026-13-01T00:00:00Z", "2026-02-29T00:00:00Z",
          "2026-00-10T00:00:00Z", "2026-01-31T24:00:00Z", "2026-01-31T23:60:00Z", "2026-01-31T23:59:60Z"}) {
    INFO(wrong);
    CHECK_FALSE(normalized_utc(wrong));
  }
}

TEST_CASE("a failure of the machine is stored neither as records nor as a proof") {
  Record entry = failed(Status::launch_failed, "no memory left");
  CHECK_FALSE(record_error(entry));
  entry.outcome.by_machine = true;
  CHECK(record_error(entry) == "by_machine is set: expected a candidate's own outcome");
  Store store = Store::in_memory();
  CHECK_THROWS_AS(store.record(entry), std::logic_error);
  CHECK_THROWS_AS(
      store.record_proof({sample_key(), sample_device(), "580.1", "suite-2", entry.outcome}), std::logic_error);
  CHECK_FALSE(store.find_proof(sample_key(), sample_device(), "580.1", "suite-2"));
}
