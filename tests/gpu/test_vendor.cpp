// The vendor's library beside a finalist on a real device.
#include <vector>

#include "runtime/compile/compiler.hpp"
#include "runtime/driver/device.hpp"
#include "tests/catch.hpp"
#include "tuner/workers/measure_session.hpp"

namespace tilesmith::test_vendor {

TEST_CASE("cuBLASLt plays along in a final benchmark, again when it is asked again, and costs the finalist nothing",
    "[gpu][vendor]") {
  const runtime::Context context(0);
  tuner::MeasureSession session(context);
  for (const std::int64_t size : {512, 512, 2048}) {
    const Problem problem = packed_problem({*find_type_pair("f16f32"), {}}, size, size, size);
    const KernelTarget target{problem, context.info().limits};
    const Config config = generic_config(target);
    const std::vector<tuner::MeasureSession::Job> finalists{
        {problem, config, runtime::compile(config, target).cubin, true}};
    std::optional<tuner::VendorAnswer> vendor;
    const std::vector<db::Outcome> outcomes =
        session.final_benchmark(problem, finalists, std::nullopt, tuner::VendorAsk{0.2}, &vendor);
    REQUIRE(outcomes.at(0).timing);
    REQUIRE(vendor);
    if (!vendor->unavailable.empty()) {
      WARN(vendor->unavailable);
      return;
    }
    const db::VendorTimes& times = vendor->times;
    INFO(times.message);
    CHECK_FALSE(db::vendor_times_error(times));
    CHECK(times.offered > 0);
    CHECK(times.timed > 0);
    CHECK(times.first.us > 0);
    CHECK(times.best.us <= times.first.us);
    CHECK(times.first.algorithm.find("#0 id=") == 0);
    CHECK(times.best.us < outcomes[0].timing->median_us);  // a plain kernel is slower
  }
}

}  // namespace tilesmith::test_vendor
