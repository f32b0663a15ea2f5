// The vendor's library in a measuring process. Driver and library are played; each launch takes as long.
#include <cuda.h>
#include <dlfcn.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "tests/catch.hpp"
#include "tests/tuner/workers/played_device.hpp"
#include "tuner/workers/measure_session.hpp"

using namespace tilesmith;
using namespace tilesmith::tuner;
namespace fake = tilesmith::runtime::fake;

namespace {

/// Set while it lives.
class Standin {
 public:
  Standin(const char* variable = nullptr, const char* value = "") : variable_(variable) {
    static void* const library = ::dlopen(TILESMITH_CUBLASLT_STANDIN, RTLD_NOW);  // found by its SONAME from then on
    REQUIRE(library != nullptr);
    if (variable_ != nullptr) ::setenv(variable_, value, 1);
  }
  ~Standin() {
    if (variable_ != nullptr) ::unsetenv(variable_);
  }
  Standin(const Standin&) = delete;
  Standin& operator=(const Standin&) = delete;

 private:
  const char* variable_;
};

struct Played {
  std::vector<db::Outcome> outcomes;
  std::optional<VendorAnswer> vendor;
};

Problem square_of(std::int64_t size = 64) { return packed_problem({*find_type_pair("f16f32"), {}}, size, size, size); }

Played play(MeasureSession& session, const runtime::Context& context, const Problem& problem, bool ask = true,
    double seconds = 0) {
  const KernelTarget target{problem, context.info().limits};
  const std::vector<MeasureSession::Job> finalists{{problem, generic_config(target), std::vector<std::byte>(64), true}};
  Played played;
  played.outcomes = session.final_benchmark(
      problem, finalists, std::nullopt, ask ? std::optional(VendorAsk{seconds}) : std::nullopt, &played.vendor);
  return played;
}

}  // namespace

TEST_CASE("the vendor's first choice and its best are timed beside a finalist, with what the library tells of them",
    "[vendor]") {
  const PlayedDevice device;
  const Standin standin;
  const runtime::Context context(0);
  MeasureSession session(context);
  const Played played = play(session, context, square_of());
  REQUIRE(played.outcomes.at(0).timing);
  REQUIRE(played.vendor);
  const db::VendorTimes& times = played.vendor->times;
  CHECK(played.vendor->unavailable == "");
  CHECK(times.message == "");
  CHECK(times.vendor_version == "13.2.5");
  CHECK(times.offered == 5);
  CHECK(times.timed == 4);  // no more where there is no time for a search
  CHECK(times.first.us > 0);
  CHECK(times.best.us > 0);
  CHECK(times.first.algorithm == "#0 id=0 tile=1 stages=6 split_k=2 reduction=3 swizzle=4 custom=5 inner=7");
  CHECK(times.samples == played.outcomes[0].timing->samples);
  CHECK(times.problem == square_of());
  CHECK(times.device == context.info().identity);
  CHECK_FALSE(db::vendor_times_error(times));
  CHECK(play(session, context, square_of(128), true, 60).vendor->times.timed == 5);
  CHECK_FALSE(play(session, context, square_of(), false).vendor);
}

TEST_CASE("an algorithm that cannot be launched is left out, be it the first choice", "[vendor]") {
  const PlayedDevice device;
  const Standin standin("TILESMITH_STANDIN_FAILS", "0");
  const runtime::Context context(0);
  MeasureSession session(context);
  const Played played = play(session, context, square_of());
  REQUIRE(played.outcomes.at(0).timing);
  REQUIRE(played.vendor);
  CHECK(played.vendor->times.first.us == 0);
  CHECK(played.vendor->times.best.us > 0);
  CHECK(played.vendor->times.timed == 3);
  CHECK_FALSE(db::vendor_times_error(played.vendor->times));
}

TEST_CASE(
    "a library that fails on all, offers nothing or makes no description says so, and the finalists have their times",
    "[vendor]") {
  const PlayedDevice device;
  for (const auto& [variable, value, message] :
      {std::tuple{"TILESMITH_STANDIN_FAILS", "all", "cublaslt#0: cublasLtMatmul failed with status 15"},
          {"TILESMITH_STANDIN_OFFERS", "0", "cuBLASLt offers no algorithm"},
          {"TILESMITH_STANDIN_DESC", "1", "cublasLtMatmulDescCreate failed with status 15"}}) {
    const Standin standin(variable, value);
    const runtime::Context context(0);
    MeasureSession session(context);
    const Played played = play(session, context, square_of());
    CHECK(played.outcomes.at(0).timing);
    REQUIRE(played.vendor);
    CHECK(played.vendor->times.message == message);
    CHECK_FALSE(played.vendor->times.has_time());
    CHECK_FALSE(db::vendor_times_error(played.vendor->times));
  }
}

TEST_CASE("the library is not timed with an epilogue that it does not compute, and that is said", "[vendor]") {
  const PlayedDevice device;
  const Standin standin;
  const runtime::Context context(0);
  MeasureSession session(context);
  Problem problem = square_of();
  for (const ActivationRow& row : kActivations) {
    problem.epilogue.activation = row.value;
    const Played played = play(session, context, problem);
    INFO(row.name);
    REQUIRE(played.vendor);
    CHECK(played.vendor->times.has_time() == row.epilogue.has_value());
    if (!row.epilogue)
      CHECK(played.vendor->times.message == "cuBLASLt does not compute f16f32 NN epilogue=" + std::string(row.name));
  }
}

TEST_CASE("what fails once the rounds are on fails the vendor alone", "[vendor]") {
  const PlayedDevice device;
  const runtime::Context context(0);
  MeasureSession session(context);
  {
    const Standin standin;
    REQUIRE(play(session, context, square_of()).vendor->times.has_time());
  }
  const Standin standin("TILESMITH_STANDIN_FAILS", "all");  // which were found to work on this problem
  const Played played = play(session, context, square_of());
  CHECK(played.outcomes.at(0).timing);
  REQUIRE(played.vendor);
  CHECK_FALSE(played.vendor->times.has_time());
  CHECK(played.vendor->times.message == "final benchmark: cublasLtMatmul failed with status 15");
}

TEST_CASE("a device without memory for the vendor's workspace says nothing of the problem", "[vendor]") {
  const PlayedDevice device;
  const Standin standin;
  const runtime::Context context(0);
  MeasureSession session(context);
  REQUIRE(play(session, context, square_of(), false).outcomes.at(0).timing);  // its own memory is there
  fake::state().failures["mem_alloc"] = CUDA_ERROR_OUT_OF_MEMORY;
  const Played played = play(session, context, square_of());
  CHECK(played.outcomes.at(0).timing);
  CHECK_FALSE(played.vendor);
}
