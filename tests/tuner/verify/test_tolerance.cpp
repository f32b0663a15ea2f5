#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

#include "tests/catch.hpp"
#include "tests/tuner/verify/host_kernel.hpp"
#include "tuner/verify/exact_data.hpp"
#include "tuner/verify/problem_state.hpp"
#include "tuner/verify/verifier.hpp"

using namespace tilesmith;
using namespace tilesmith::tuner;

namespace {

/// Dot products of real-valued data: by the f64 reference, by an accumulator that rounds at every step, by one of the
/// output's format, and with the last `dropped` products left out.
struct Dots {
  double reference = 0, rounded = 0, in_output = 0, dropped = 0;
};

Problem square_of(const KernelSignature& signature, std::int64_t k) { return packed_problem(signature, 64, 64, k); }

Dots dots(const TypePair& type, std::int64_t k, std::int64_t element, std::int64_t dropped) {
  const StageRules rules = stage_rules(packed_problem({type, {}}, 4096, 4096, k), Stage::real, 6);
  const auto operand = [&](const ValueRule& rule, std::int64_t i) {
    std::byte stored[8];
    encode(type.a, rule_value(rule, element, i, k), stored);
    return decode_operand(type.a, stored);
  };
  Dots result;
  for (std::int64_t i = 0; i < k; ++i) {
    const double product = operand(rules.a, i) * operand(rules.b, i);
    result.reference += product;
    result.rounded = accumulated(type.accumulator, result.rounded, product);
    result.in_output = accumulated(type.output, result.in_output, product);
    if (i < k - dropped) result.dropped += product;
  }
  return result;
}

}  // namespace

TEST_CASE("an accumulator that rounds at every step stays within the bound, with room") {
  for (const char* name : {"f16f32", "f16f16", "f16f32f16", "bf16f32", "bf16f32bf16", "tf32f32", "f32f32", "f64f64"}) {
    const TypePair& type = *find_type_pair(name);
    for (std::int64_t k : {1, 2, 17, 200, 1024, 4096}) {
      const Tolerance allowed = tolerance(square_of({type, {}}, k), Stage::real, {1, 0});
      double worst = 0;
      for (std::int64_t element = 0; element < 300; ++element) {
        const Dots d = dots(type, k, element, 0);
        const double got = rounded(type.output, d.rounded);
        REQUIRE_FALSE(verify::element_wrong(got, d.reference, allowed.absolute, allowed.relative));
        // The rounding of a narrower output takes all of the relative part; the room is the accumulator's.
        const double of_accumulator = rounds_output(type) ? d.rounded : got;
        worst = std::max(worst, std::abs(of_accumulator - d.reference) / allowed.absolute);
      }
      INFO(name << " K " << k << ": worst error is " << worst << " of the bound");
      CHECK(worst < 0.75);
    }
  }
}

TEST_CASE("s8 with scales of blocks: f32 sums are exact in the exact stage, and within the bound in the real one") {
  std::string error;
  const KernelSignature signature =
      parse_signature("s8s32bf16 NT epilogue=scale_m_1x128+scale_n_128x128", error).value();
  for (const Stage stage : {Stage::exact, Stage::real}) {
    for (const std::int64_t k : {1, 200, 4224, 300000}) {
      const Problem problem = packed_problem(signature, 300, 260, k);
      REQUIRE(stage_applies(problem, stage));
      const StageRules rules = stage_rules(problem, stage, 6);
      const verify::BlockScaleRule scales = block_scale_rule(problem, rules, 0, 0, 0);
      const Tolerance allowed = tolerance(problem, stage, {1, 0});
      double worst = 0, wrong = 0;
      for (const std::int64_t i : {0, 1, 131, 299}) {
        double want = 0, of_neighbour = 0;
        float by_parts = 0, by_elements = 0, part = 0;
        for (std::int64_t at = 0; at < k; ++at) {
          const double a = rule_value(rules.a, i, at, k), b = rule_value(rules.b, 259 - i / 2, at, k);
          const double of_a = block_scale(scales, true, i, at), of_b = block_scale(scales, false, 259 - i / 2, at);
          want += a * of_a * (b * of_b);
          of_neighbour += a * block_scale(scales, true, i == 0 ? 1 : i - 1, at) * (b * of_b);
          by_elements = float(by_elements + double(float(a * of_a)) * double(float(b * of_b)));
          part += float(a * b);
          if (at % 128 == 127 || at + 1 == k) {
            by_parts = float(by_parts + double(part) * double(float(of_a) * float(of_b)));
            part = 0;
          }
        }
        if (stage == Stage::exact) CHECK((by_parts == want && by_elements == want));
        worst = std::max({worst, std::abs(by_parts - want), std::abs(by_elements - want)});
        wrong = std::max(wrong, std::abs(of_neighbour - want));
      }
      INFO(name(stage) << ", K " << k << ": off by " << worst << ", where " << allowed.absolute << " is allowed");
      CHECK(worst <= allowed.absolute / 2);
      CHECK((k == 1 || wrong > 2 * allowed.absolute));
    }
  }
}

TEST_CASE("sums in the output's format and truncated results are outside the bound of a wider accumulator") {
  for (const auto& [name, deepest] : {std::pair{"f16f32f16", 521}, std::pair{"bf16f32bf16", 4096}}) {
    const TypePair& type = *find_type_pair(name);
    for (std::int64_t k : {33, 200, 521, 4096}) {
      const Tolerance allowed = tolerance(square_of({type, {}}, k), Stage::real, {1, 0});
      int summed = 0, cut = 0;
      for (std::int64_t element = 0; element < 300; ++element) {
        const Dots d = dots(type, k, element, 0);
        summed += verify::element_wrong(d.in_output, d.reference, allowed.absolute, allowed.relative);
        cut +=
            verify::element_wrong(truncated(type.output, d.rounded), d.reference, allowed.absolute, allowed.relative);
      }
      INFO(name << " K " << k << ": of 300 elements " << summed << " summed and " << cut << " truncated are wrong");
      CHECK(summed > 150);
      // Deeper, half an f16's unit sinks into what the accumulator may err: there the exact stages must see it.
      if (k <= deepest) CHECK(cut > 15);
    }
  }
}

TEST_CASE("one product left out is seen on real data at moderate K, in most elements") {
  for (const char* name : {"f16f32", "f16f32f16", "bf16f32", "tf32f32", "f32f32", "f64f64"}) {
    const TypePair& type = *find_type_pair(name);
    for (std::int64_t k : {1, 17, 200, 1024, 4096}) {
      const Tolerance allowed = tolerance(square_of({type, {}}, k), Stage::real, {1, 0});
      int seen = 0;
      for (std::int64_t element = 0; element < 100; ++element) {
        const Dots d = dots(type, k, element, 1);
        seen += verify::element_wrong(rounded(type.output, d.dropped), d.reference, allowed.absolute, allowed.relative);
      }
      INFO(name << " K " << k);
      CHECK(seen > 75);
    }
  }
}

TEST_CASE("the bound of a squared relu lets rounded sums through, and shows one product left out in most results") {
  for (const char* name : {"f16f32f16", "bf16f32bf16", "f16f32", "tf32f32", "f32f32", "f64f64"}) {
    KernelSignature signature{*find_type_pair(name), {}};
    const TypePair& type = signature.type;
    signature.epilogue.activation = Activation::relu_squared;
    for (std::int64_t k : {1, 17, 200, 1024, 4096}) {
      const Scales scales = fitting_scales(square_of(signature, k), Stage::real, {1, 0});
      const Tolerance allowed = tolerance(square_of(signature, k), Stage::real, scales);
      int seen = 0, positive = 0;
      for (std::int64_t element = 0; element < 100; ++element) {
        const Dots d = dots(type, k, element, 1);
        const auto squared = [&](double sum) {
          return row_of(Activation::relu_squared).reference(scales.alpha * sum, 0);
        };
        const auto is_wrong = [&](double sum) {
          return verify::element_wrong(rounded(type.output, rounded(type.scale, squared(sum))), squared(d.reference),
              allowed.absolute, allowed.relative);
        };
        REQUIRE_FALSE(is_wrong(d.rounded));
        if (d.reference > 0) ++positive, seen += is_wrong(d.dropped);
      }
      INFO(name << " K " << k << ": seen in " << seen << " of " << positive);
      CHECK(seen > (k == 4096 ? 0.4 : 0.7) * positive);
    }
  }
}

TEST_CASE("of a squared relu neither an f16 overflows nor are most bytes at their end") {
  for (const char* name : {"f16f32f16", "f16f16", "e4m3f32f16", "s8s32f16", "u8s32f16"}) {
    KernelSignature signature{*find_type_pair(name), {}};
    signature.epilogue = *parse_epilogue("bias_n+relu_squared");
    for (const Stage stage : {Stage::exact, Stage::wide_c, Stage::real}) {
      for (const std::int64_t k : {1, 64, 4096, 16384}) {
        if (!stage_applies(square_of(signature, k), stage)) continue;
        for (const Scales& scales : stage == Stage::real ? real_scales() : exact_scales(signature.type)) {
          const Scales fitting = fitting_scales(square_of(signature, k), stage, scales);
          const StageRules rules = stage_rules(square_of(signature, k), stage, 1);
          const double x = std::abs(fitting.alpha) * largest_sum(square_of(signature, k), stage) +
                           std::abs(fitting.beta) * rules.c.range + rules.bias.range;
          INFO(name << " " << tuner::name(stage) << " K " << k << " alpha " << fitting.alpha << " beta "
                    << fitting.beta);
          CHECK(x * x < 65504);
        }
      }
    }
  }
}

TEST_CASE("an f16 accumulator's bound still shows a dropped tail: one product at 200, sixteen at 4096") {
  const TypePair& type = *find_type_pair("f16f16");
  for (const auto& [k, dropped] : {std::pair{64, 1}, std::pair{200, 1}, std::pair{1024, 4}, std::pair{4096, 16}}) {
    const Tolerance allowed = tolerance(square_of({type, {}}, k), Stage::real, {1, 0});
    int seen = 0;
    for (std::int64_t element = 0; element < 4000; ++element) {
      // The tail alone decides; the rest of the sum would only cost time.
      const Dots tail = dots(type, dropped, element + 7, dropped);
      seen += verify::element_wrong(tail.dropped, tail.reference, allowed.absolute, 0);
    }
    INFO("K " << k << " dropped " << dropped << ": seen in " << seen << " of 4000 elements");
    CHECK(seen >= 1);
  }
}

TEST_CASE("the bound grows with K, with α, and is nothing for integers and exact data") {
  const TypePair& f16 = *find_type_pair("f16f16");
  const TypePair& s8 = *find_type_pair("s8s32");
  CHECK(real_bound(f16, 4096) > real_bound(f16, 64));
  CHECK(real_bound(f16, 64) > real_bound(*find_type_pair("f16f32"), 64));
  CHECK(
      real_bound(*find_type_pair("f16f32"), 64) > real_bound(*find_type_pair("f32f32"), 64));  // FMAs round to nearest
  CHECK(real_bound(*find_type_pair("f32f32"), 64) > real_bound(*find_type_pair("f64f64"), 64));
  CHECK(real_bound(*find_type_pair("f32x3f32"), 4096) >
        real_bound(*find_type_pair("f32f32"), 4096));  // a tensor core truncates
  CHECK(real_bound(*find_type_pair("f32x3f32"), 4096) < real_bound(*find_type_pair("tf32f32"), 4096) / 10);
  CHECK(real_bound(*find_type_pair("bf16f32bf16"), 64) == real_bound(*find_type_pair("bf16f32"), 64));
  CHECK(real_bound(s8, 64) == 0);
  // The output's rounding: half a unit where a wider accumulator leaves it alone.
  CHECK(
      tolerance(square_of({*find_type_pair("f16f32f16"), {}}, 64), Stage::real, {1, 0}).relative == std::ldexp(1, -11));
  CHECK(tolerance(square_of({*find_type_pair("bf16f32bf16"), {}}, 64), Stage::real, {1, 0}).relative ==
        std::ldexp(1, -8));
  CHECK(tolerance(square_of({f16, {}}, 64), Stage::real, {1, 0}).relative == std::ldexp(1, -10));
  CHECK(tolerance(square_of({f16, {}}, 64), Stage::real, {2, 0}).absolute ==
        2 * tolerance(square_of({f16, {}}, 64), Stage::real, {1, 0}).absolute);
  CHECK(tolerance(square_of({f16, {}}, 64), Stage::real, {1, 1}).absolute >
        tolerance(square_of({f16, {}}, 64), Stage::real, {1, 0}).absolute);
  CHECK(tolerance(square_of({f16, {}}, 64), Stage::exact, {1, 0}).absolute == 0);
  CHECK(tolerance(square_of({f16, {}}, 64), Stage::exact, {1, 0}).relative == 0);
}

TEST_CASE("the real-valued reference covers all rows of a moderate problem and a sample of a large one") {
  CHECK(sampled_rows(packed_problem({*find_type_pair("f16f32"), {}}, 4096, 4096, 4096), 1).empty());
  CHECK(sampled_rows(packed_problem({*find_type_pair("f16f32"), {}}, 1, 16384, 16384), 1).empty());
  const std::vector<std::int64_t> rows =
      sampled_rows(packed_problem({*find_type_pair("f16f32"), {}}, 16384, 16384, 16384), 1);
  REQUIRE(rows.size() == 256);
  CHECK(rows.front() == 0);
  CHECK(rows.back() == 16383);
  CHECK(std::set<std::int64_t>(rows.begin(), rows.end()).size() == rows.size());
  CHECK(std::is_sorted(rows.begin(), rows.end()));
  CHECK(sampled_rows(packed_problem({*find_type_pair("f16f32"), {}}, 16384, 268435456, 1024), 1).size() == 64);
}
