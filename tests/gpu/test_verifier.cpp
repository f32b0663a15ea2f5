// The verifier on a device: its own kernels against the host, right kernels pass, and it is quick enough to run for
// every candidate.
#include <chrono>
#include <cstring>
#include <memory>
#include <vector>

#include "runtime/compile/compiler.hpp"
#include "tests/catch.hpp"
#include "tuner/verify/number_formats.hpp"
#include "tuner/verify/problem_state.hpp"
#include "tuner/verify/reference_kernels.hpp"
#include "tuner/verify/verifier.hpp"

namespace tilesmith::test_verifier {
using namespace tilesmith::tuner;

namespace {

std::shared_ptr<const runtime::Module> build(const Config& config, const KernelTarget& target) {
  const db::KernelBuild built = runtime::compile(config, target);
  INFO(config.text() << ": " << built.message);
  REQUIRE_FALSE(built.cubin.empty());
  return std::make_shared<const runtime::Module>(built.cubin);
}

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

TEST_CASE("the device fills operands as the host's rules say, for every type pair") {
  const runtime::Context context(0);
  const runtime::Stream stream;
  for (const TypePair& type : type_pairs()) {
    const ReferenceKernels kernels(type, context.info());
    for (Stage stage : {Stage::exact, Stage::wide_a, Stage::wide_c, Stage::real}) {
      if (!stage_applies(packed_problem({type, {}}, 37, 11, 21), stage)) continue;
      const StageRules rules = stage_rules(packed_problem({type, {}}, 37, 11, 21), stage, 5);
      const std::size_t bytes = size_bytes(type.a);
      const auto of_slot = std::int64_t(8 * bytes / size_bits(type.a));  // elements
      const std::int64_t rows = 37, cols = 21, stride = 24;
      const std::uint64_t slots = 1024, first = 40;
      runtime::DeviceBuffer zone(slots * bytes);
      kernels.launch(stream, "fill_operand", slots, zone.data(), slots, first, rows, cols, stride, std::int64_t{1},
          std::int64_t{0}, int{0}, cols, rules.a);
      stream.synchronize();
      std::vector<std::byte> stored(zone.size());
      zone.download(stored);
      for (std::uint64_t slot = 0; slot < slots; ++slot) {
        std::byte want[8] = {};
        store_bits(type.a, poison_bits(type.a, verify::canary_bits(slot)), want);
        for (std::int64_t e = 0; e < of_slot; ++e) {
          const std::int64_t at = (std::int64_t(slot) - std::int64_t(first)) * of_slot + e, row = at / stride,
                             col = at % stride;
          if (at >= 0 && row < rows && col < cols)
            encode_at(type.a, verify::rule_value(rules.a, row, col, cols), want, e);
        }
        INFO(type.name << " " << name(stage) << " slot " << slot);
        REQUIRE(std::memcmp(want, stored.data() + slot * bytes, bytes) == 0);
      }
    }
  }
}

TEST_CASE("the generic kernel passes the suite for every type pair and transposes") {
  const runtime::Context context(0);
  Verifier verifier(context);
  for (const TypePair& type : type_pairs()) {
    for (Transposes trans : kAllTransposes) {
      const KernelTarget target{{type, trans}, context.info().limits};
      const Config config = generic_config(target);
      const db::Outcome outcome = verifier.suite(build(config, target), config, target);
      INFO(type.name << " " << name(trans) << ": " << outcome.message);
      CHECK(outcome.status == db::Status::ok);
      CHECK_FALSE(outcome.timing.has_value());
    }
  }
}

TEST_CASE("the known ladder passes the suite for every type pair and transposes") {
  const runtime::Context context(0);
  Verifier verifier(context);
  for (const auto& family : families()) {
    for (const TypePair& type : type_pairs()) {
      for (Transposes trans : kAllTransposes) {
        const KernelTarget target{{type, trans}, context.info().limits};
        const std::vector<NamedConfig> ladder = family->ladder(target);
        // The first, a straight one with several warps, and the last: one of each way of getting operands.
        for (std::size_t step : {std::size_t{0}, std::size_t{1}, ladder.size() - 1}) {
          if (step >= ladder.size()) continue;
          const Config& config = ladder[step].config;
          const db::Outcome outcome = verifier.suite(build(config, target), config, target);
          INFO(type.name << " " << name(trans) << " " << config.text() << ": " << outcome.message);
          CHECK(outcome.status == db::Status::ok);
        }
      }
    }
  }
}

TEST_CASE("right kernels pass on tuned problems of every type pair") {
  const runtime::Context context(0);
  Verifier verifier(context);
  for (const TypePair& type : type_pairs()) {
    for (Transposes trans : kAllTransposes) {
      const KernelTarget target{{type, trans}, context.info().limits};
      const Config config = generic_config(target);
      const auto module = build(config, target);
      Problem odd = packed_problem({type, trans}, 333, 177, 555);
      odd.ldc += 3;
      odd.beta = BetaClass::any;
      for (const Problem& problem : {odd, packed_problem({type, trans}, 256, 512, 1024),
               packed_problem({type, trans}, 1, 300, 4096), packed_problem({type, trans}, 130, 70, 0)}) {
        const db::Outcome outcome = verifier.on_problem(runtime::Plan(module, config, problem));
        INFO(text(problem) << ": " << outcome.message);
        CHECK(outcome.status == db::Status::ok);
      }
    }
  }
}

TEST_CASE("a large problem is proven whole in its exact stage and by sampled rows in its real one") {
  const runtime::Context context(0);
  Verifier verifier(context);
  const KernelTarget target{{*find_type_pair("f16f32"), {false, true}}, context.info().limits};
  const Config config = generic_config(target);
  const Problem problem = packed_problem(target, 4097, 4095, 8192);
  REQUIRE_FALSE(sampled_rows(problem, 1).empty());
  const runtime::Plan plan(build(config, target), config, problem);
  const db::Outcome outcome = verifier.on_problem(plan);
  INFO(outcome.message);
  CHECK(outcome.status == db::Status::ok);
}

TEST_CASE("a suite takes little time once its operands are resident") {
  const runtime::Context context(0);
  Verifier verifier(context);
  const KernelTarget target{{*find_type_pair("f16f32"), {}}, context.info().limits};
  const Config config = generic_config(target);
  const auto module = build(config, target);
  REQUIRE(verifier.suite(module, config, target).status == db::Status::ok);
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < 10; ++i) REQUIRE(verifier.suite(module, config, target).status == db::Status::ok);
  const double each_ms = seconds_since(start) * 100;
  WARN("one suite: " << each_ms << " ms");
  CHECK(each_ms < 300);
}

}  // namespace tilesmith::test_verifier
