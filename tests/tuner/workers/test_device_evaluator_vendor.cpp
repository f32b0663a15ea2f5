// The vendor's library beside finalists: whatever it does to the measuring process, the finalists have their times and
// the run goes on.
#include <vector>

#include "tests/tuner/workers/drilled_evaluator.hpp"

using namespace tilesmith;
using namespace tilesmith::tuner;
using namespace tilesmith::tests;

namespace {

std::unique_ptr<Evaluator> evaluator_on(db::Store& store, bool vendor = true) {
  DeviceEvaluatorOptions options = options_for();
  options.vendor = vendor;
  return make_device_evaluator(store, options, fictional_device());
}

Evaluator::BesideVendor play(Evaluator& evaluator, std::int64_t m, test::DrillKind kind = test::kDrillOk) {
  return evaluator.final_benchmark_beside_vendor(
      drill_problem(m), std::vector<Config>{test::drill_config(test::kDrillOkToo), test::drill_config(kind)}, {0.2});
}

}  // namespace

TEST_CASE("the vendor's times come with the finalists', of this problem, device, driver and policy", "[vendor]") {
  const test::DrillEnabled drill;
  db::Store store = db::Store::in_memory();
  const auto evaluator = evaluator_on(store);
  CHECK(evaluator->has_vendor());
  const Evaluator::BesideVendor played = play(*evaluator, 32);
  REQUIRE(played.outcomes.size() == 2);
  CHECK(played.outcomes[0].timing);
  REQUIRE(played.vendor);
  CHECK(played.vendor->first.us == 70);
  CHECK(played.vendor->best.us == 60);
  CHECK(played.vendor->best.algorithm == "#1");
  CHECK(played.vendor->vendor_version == "13.1.0");
  CHECK(played.vendor->problem == drill_problem(32));
  CHECK(played.vendor->device == fictional_device().identity);
  CHECK(played.vendor->driver_version == "1.0");
  CHECK_FALSE(played.vendor->measuring_policy.empty());
  CHECK_FALSE(db::vendor_times_error(*played.vendor));

  const Evaluator::BesideVendor refused = play(*evaluator, kVendorRefusesM);
  REQUIRE(refused.vendor);
  CHECK(refused.vendor->message == "cuBLASLt offers no algorithm");
  CHECK(refused.outcomes[0].timing);
  CHECK(evaluator->has_vendor());
}

TEST_CASE("an evaluator without the option asks for no vendor", "[vendor]") {
  const test::DrillEnabled drill;
  db::Store store = db::Store::in_memory();
  const auto evaluator = evaluator_on(store, false);
  CHECK_FALSE(evaluator->has_vendor());
  const Evaluator::BesideVendor played = play(*evaluator, kVendorCrashM);
  CHECK(played.outcomes.at(1).timing);
  CHECK_FALSE(played.vendor);
}

TEST_CASE(
    "a vendor's library that ends or blocks the process costs its own time alone, and on two problems is left out",
    "[vendor]") {
  const test::DrillEnabled drill;
  db::Store store = db::Store::in_memory();
  const auto evaluator = evaluator_on(store);
  const Evaluator::BesideVendor crashed = play(*evaluator, kVendorCrashM);
  CHECK(crashed.outcomes.at(0).timing);
  CHECK(crashed.outcomes.at(1).timing);
  REQUIRE(crashed.vendor);
  CHECK_FALSE(crashed.vendor->has_time());
  CHECK(crashed.vendor->message.find("the measuring process ended") != std::string::npos);
  CHECK_FALSE(db::vendor_times_error(*crashed.vendor));
  CHECK(evaluator->has_vendor());
  const Evaluator::BesideVendor hung = play(*evaluator, kVendorHangM);
  CHECK(hung.outcomes.at(0).timing);
  REQUIRE(hung.vendor);
  CHECK(hung.vendor->message.find("did not end within") != std::string::npos);
  CHECK_FALSE(evaluator->has_vendor());
  const Evaluator::BesideVendor without = play(*evaluator, kVendorCrashM);
  CHECK(without.outcomes.at(0).timing);
  CHECK_FALSE(without.vendor);
}

TEST_CASE("a finalist that may not play leaves the vendor to the others", "[vendor]") {
  const test::DrillEnabled drill;
  db::Store store = db::Store::in_memory();
  const auto evaluator = evaluator_on(store);
  const Evaluator::BesideVendor played = play(*evaluator, 32, test::kDrillWrong);
  CHECK(played.outcomes.at(0).timing);
  CHECK(played.outcomes.at(1).status == db::Status::mismatch);
  CHECK(played.vendor);
}

TEST_CASE("a library that is not here, or answers nonsense, is asked no more", "[vendor]") {
  const test::DrillEnabled drill;
  for (const int m : {kVendorMissingM, kVendorNonsenseM}) {
    db::Store store = db::Store::in_memory();
    const auto evaluator = evaluator_on(store);
    const Evaluator::BesideVendor played = play(*evaluator, m);
    CHECK(played.outcomes.at(0).timing);
    CHECK(played.outcomes.at(1).timing);
    CHECK_FALSE(played.vendor);
    CHECK_FALSE(evaluator->has_vendor());
    CHECK_FALSE(play(*evaluator, 32).vendor);
  }
}
