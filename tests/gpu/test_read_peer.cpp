// A plain read of a problem's operands, beside which kernels are timed.
#include <algorithm>

#include "tests/catch.hpp"
#include "tuner/measure/random_fill.hpp"
#include "tuner/measure/read_peer.hpp"

namespace tilesmith::test_read_peer {

namespace {

struct Timed {
  double us;
  double bytes;
};

Timed fastest_read(const runtime::Context& context, tuner::Stopwatch& stopwatch, const Problem& problem) {
  tuner::RandomFill random(context);
  const tuner::OperandSets operands(random, problem);
  const tuner::ReadPeer peer(context);
  Timed fastest{1e9, 0};
  for (const tuner::Competitor& way : peer.competitors(operands)) {
    const db::Outcome outcome = stopwatch.time(way, operands.rotation());
    INFO(text(problem) << ", " << way.name << ": " << outcome.message);
    REQUIRE(outcome.timing);
    fastest.us = std::min(fastest.us, outcome.timing->median_us);
  }
  for (const OperandMatrix& matrix : tilesmith::operands(problem)) {
    if (matrix.role != OperandRole::d && (matrix.role != OperandRole::c || problem.beta != BetaClass::zero))
      fastest.bytes += matrix.element_bytes();
  }
  return fastest;
}

Problem read_from(const char* signature, std::int64_t m, std::int64_t n, std::int64_t k) {
  std::string error;
  const auto parsed = parse_signature(signature, error);
  REQUIRE(parsed);
  return packed_problem(*parsed, m, n, k);
}

}  // namespace

TEST_CASE("a plain read of operands takes the time of their bytes, whichever operands they are") {
  const runtime::Context context(0);
  tuner::Stopwatch stopwatch(context);
  const Timed dense = fastest_read(context, stopwatch, read_from("f16f32f16 NT", 16, 16384, 16384));
  const Timed half = fastest_read(context, stopwatch, read_from("f16f32f16 NT", 16, 8192, 16384));
  const Timed weights = fastest_read(context, stopwatch, read_from("f16f32f16 NT weights=s8_g128", 16, 16384, 16384));
  const auto rate = [](const Timed& read) { return read.bytes / read.us; };
  INFO(dense.us << " us, half of it " << half.us << " us, in 8 bits " << weights.us << " us");
  CHECK(dense.us > 1.6 * half.us);
  CHECK(dense.us < 2.2 * half.us);
  CHECK(rate(weights) > 0.8 * rate(dense));
  CHECK(rate(weights) < 1.2 * rate(dense));
  // Estimates take about this rate.
  const double per_us =
      context.info().limits.rates.dram_bytes * context.info().limits.sm_count * context.info().clock_mhz;
  CHECK(rate(dense) < 1.6 * per_us);
  CHECK(rate(dense) > 0.4 * per_us);
}

}  // namespace tilesmith::test_read_peer
