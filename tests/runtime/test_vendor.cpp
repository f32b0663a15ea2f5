// The vendor's times in a plan's explanation, without a device.
#include "db/files/bundle.hpp"
#include "tests/catch.hpp"
#include "tests/runtime/library_fixture.hpp"

using namespace tilesmith;

namespace {

using runtime::fake::open_stored_in_c;
using runtime::fake::stored_only;
using VendorFixture = runtime::fake::LibraryFixture;

constexpr const char* kOfVendor = "f16f32 NN 512 512 512";

db::VendorTimes vendor_of(const db::Record& entry) {
  db::VendorTimes times;
  times.problem = entry.task.problem();
  times.device = entry.device;
  times.vendor_version = "13.1.0";
  times.driver_version = entry.environment.driver_version;
  times.measuring_policy = entry.environment.measuring_policy;
  times.first = {12.5, 0.01, "#0"};
  times.best = {11.5, 0.01, "#2"};
  times.offered = times.timed = 4;
  times.samples = 15;
  times.beside.push_back({entry.config, entry.plan_hash, entry.outcome.timing->median_us});
  times.created_at = entry.created_at;
  return times;
}

Explanation explained(
    const std::filesystem::path& path, const VendorFixture& fixture, const std::string& problem = kOfVendor) {
  return Library::open(path, stored_only()).plan(fixture.problem(problem)).explain();
}

}  // namespace

TEST_CASE("a plan by an exact entry tells what the vendor took beside it, in C++ and in C", "[api][vendor]") {
  const VendorFixture fixture;
  const auto path = fixture.small_database();
  CHECK(explained(path, fixture).vendor_us == 0);
  db::Store::open(path).record_vendor(vendor_of(fixture.record(kOfVendor, VendorFixture::simt(32), 9.5)));
  const Explanation why = explained(path, fixture);
  CHECK(why.level == "exact");
  CHECK(why.median_us == 9.5);
  CHECK(why.vendor_us == 12.5);
  CHECK(why.vendor_best_us == 11.5);

  tilesmith_library* const library = open_stored_in_c(path);
  const tilesmith_problem problem = TILESMITH_PROBLEM_OF("f16f32", "NN", 512, 512, 512);
  tilesmith_plan* plan = nullptr;
  REQUIRE(tilesmith_plan_create(library, &problem, &plan) == TILESMITH_OK);
  tilesmith_explanation in_c;
  REQUIRE(tilesmith_plan_explain(plan, &in_c) == TILESMITH_OK);
  CHECK(in_c.vendor_us == 12.5);
  CHECK(in_c.vendor_best_us == 11.5);
  CHECK(in_c.reserved[0] == 0);
  CHECK(tilesmith_plan_explain(nullptr, &in_c) == TILESMITH_BAD_ARGUMENT);
  CHECK(in_c.vendor_us == 0);
  tilesmith_plan_destroy(plan);
  tilesmith_close(library);
}

TEST_CASE("times that the vendor took beside another entry, on another device or of another problem are not told",
    "[api][vendor]") {
  const VendorFixture fixture;
  const auto path = fixture.small_database();
  const db::Record entry = fixture.record(kOfVendor, VendorFixture::simt(32), 9.5);
  db::VendorTimes other_benchmark = vendor_of(entry), other_device = vendor_of(entry), other_problem = vendor_of(entry);
  other_benchmark.beside[0].median_us = 9.4;
  other_device.device.power_mode = "quiet";
  other_problem.problem = fixture.problem("f16f32 NN 512 512 1024");
  {
    db::Store store = db::Store::open(path);
    store.record_vendor(other_benchmark);
    store.record_vendor(other_device);
    store.record_vendor(other_problem);
  }
  CHECK(explained(path, fixture).level == "exact");
  CHECK(explained(path, fixture).vendor_us == 0);
  CHECK(explained(path, fixture).vendor_best_us == 0);
}

TEST_CASE("on the model level nothing is told of the vendor, and a newer entry of the config is beside no times",
    "[api][vendor]") {
  const VendorFixture fixture;
  const auto path = fixture.small_database();
  const db::Record entry = fixture.record(kOfVendor, VendorFixture::simt(32), 9.5);
  db::Store::open(path).record_vendor(vendor_of(entry));
  const Explanation predicted = explained(path, fixture, "f16f32 NN 512 512 1024");
  CHECK(predicted.level == "model");
  CHECK(predicted.vendor_us == 0);
  db::Store::open(path).record(fixture.record(kOfVendor, VendorFixture::simt(32), 9.25));
  CHECK(explained(path, fixture).median_us == 9.25);
  CHECK(explained(path, fixture).vendor_us == 0);
}

TEST_CASE("a bundle tells what the vendor took as the database does", "[api][vendor]") {
  const VendorFixture fixture;
  db::Bundle bundle;
  bundle.device = fixture.info.identity;
  bundle.arch = fixture.info.limits.arch;
  bundle.bests.push_back(fixture.record(kOfVendor, VendorFixture::simt(32), 9.5));
  bundle.builds.push_back(fixture.build(kOfVendor, VendorFixture::simt(32)));
  bundle.vendor.push_back(vendor_of(bundle.bests[0]));
  db::save_bundle(bundle, fixture.path("a.tsb"));
  const Explanation why = explained(fixture.path("a.tsb"), fixture);
  CHECK(why.level == "exact");
  CHECK(why.vendor_us == 12.5);
  CHECK(why.vendor_best_us == 11.5);
}
