#include <cmath>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "kernels/problem/weights.hpp"
#include "runtime/compile/compiler.hpp"
#include "tests/catch.hpp"
#include "tests/tuner/verify/weights_kernel.hpp"
#include "tuner/verify/exact_data.hpp"
#include "tuner/verify/freivalds.hpp"
#include "tuner/verify/reference_kernels.hpp"

using namespace tilesmith;
using namespace tilesmith::tuner;

namespace {

KernelSignature weighted(const std::string& type, const std::string& weights, const std::string& more = "") {
  std::string error;
  const auto signature =
      parse_signature(type + " NT " + more + (more.empty() ? "" : " ") + "weights=" + weights, error);
  INFO(error);
  REQUIRE(signature);
  return *signature;
}

const SuiteImage& image_of_weights(const std::string& type, const std::string& weights, const std::string& more = "") {
  static std::map<std::string, std::unique_ptr<SuiteImage>> made;
  auto& image = made[type + weights + more];
  if (!image) image = std::make_unique<SuiteImage>(make_suite_image(weighted(type, weights, more)));
  return *image;
}

/// One of the two types for each kind of weights, in turn.
const char* type_for(const char* weights) { return std::string(weights).size() % 2 == 0 ? "f16f32f16" : "bf16f32bf16"; }

/// Beside an A of 8 bits.
constexpr std::pair<const char*, const char*> kWeightsForBytes[] = {{"e4m3f32bf16", "s4_g128"},
    {"e4m3f32f16", "u4_g64+zeros"}, {"e4m3f32", "e2m1_g32+f32"}, {"e4m3f32bf16", "s4_column+zeros"},
    {"s8s32bf16", "s4_g32"}, {"s8s32f16", "u4_g128+zeros+f32"}, {"s8s32bf16", "e2m1_column"}};

constexpr const char* kAllWeights[] = {"s4_g128", "s4_g32+zeros", "u4_g128+zeros", "u4_g64+f32", "u4_column+zeros+f32",
    "s8_column", "s8_g64+zeros", "e4m3_g128+f32", "e4m3_column+zeros", "e2m1_g32", "e2m1_column+f32", "nf4_g64",
    "nf4_column", "nf4_g128+f32", "q4_k", "q6_k"};

}  // namespace

TEST_CASE("the verifier's place of a code is that of the layout that kernels read, both ways") {
  struct Kind {
    WeightType type;
    int kind, for_bytes = 0;
  };
  for (const auto& [type, kind, for_bytes] : {Kind{WeightType::s4, 1}, {WeightType::u4, 2}, {WeightType::s8, 3},
           {WeightType::e4m3, 4}, {WeightType::e2m1, 5}, {WeightType::nf4, 6}, {WeightType::nf4, 7},
           {WeightType::q4_k, 8}, {WeightType::s4, 1, 1}, {WeightType::e2m1, 5, 1}}) {
    for (const std::int64_t depth : {1, 31, 64, 65, 200}) {
      std::vector<int> used(
          std::size_t(kCodeBlockBytes * weight_block_rows(40) * weight_blocks_along_k(type, depth)) * 2);
      for (std::int64_t n = 0; n < 40; ++n) {
        for (std::int64_t k = 0; k < depth; ++k) {
          const verify::CodeSlot slot = verify::slot_of_code(kind, for_bytes, n, k, depth);
          const int bits = int(size_bits(weight_element(type)));
          const CodePlace place = for_bytes != 0 ? code_place8(n, k, depth) : code_place(bits, n, k, depth);
          const CodeAt at =
              for_bytes != 0 ? code_at8(place.byte, place.shift, depth) : code_at(bits, place.byte, place.shift, depth);
          REQUIRE((at.n == n && at.k == k));
          REQUIRE((slot.byte == place.byte && slot.shift == place.shift));
          REQUIRE(verify::row_of_byte(kind, for_bytes, slot.byte, slot.shift, depth) == n);
          REQUIRE(verify::column_of_byte(kind, for_bytes, slot.byte, slot.shift, depth) == k);
          REQUIRE(used.at(std::size_t(slot.byte * 2 + slot.shift / 4))++ == 0);
        }
      }
    }
  }
}

TEST_CASE(
    "exact weights are integers, never 0 unless sparse, of codebooks seldom, and no larger than what sums are laid out for") {
  for (const char* weights : kAllWeights) {
    for (const std::int64_t k : {128, 4096, 28672}) {
      for (const bool wide : {false, true}) {
        Problem p = packed_problem(weighted("f16f32f16", weights), wide ? 8 : 64, wide ? 64 : 40, k);
        const StageRules rules = stage_rules(p, Stage::exact, 5);
        const verify::WeightsRule rule = weights_rule(p, Stage::exact, rules);
        double largest = 0;
        for (std::int64_t n = 0; n < 2; ++n) {
          double sum = 0;
          std::int64_t zeros = 0;
          for (std::int64_t at = 0; at < k; ++at) {
            const std::int64_t group = at / rule.group;
            const double w = verify::weight_scale(rule, group, n) *
                             (verify::code_value(rule.kind, verify::weight_code(rule, n, at, k)) -
                                 verify::weight_zero(rule, group, n));
            INFO(weights << " K=" << k << " at " << at << ": " << w);
            REQUIRE(w == std::trunc(w));
            REQUIRE((w != 0 || rules.b.group > 1 || is_codebook(p.weights.type)));
            zeros += w == 0 ? 1 : 0;
            largest = std::max(largest, std::abs(w));
            if (verify::rule_value(rules.a, 0, at, k) != 0) sum += std::abs(w) * rules.a.range;
          }
          CHECK(sum <= 2097152);
          if (rules.b.group == 1) CHECK(zeros <= k / 8);
        }
        CHECK(largest <= largest_weight(p));
      }
    }
  }
}

TEST_CASE("real weights stay below 1, are as large on average as their bound supposes, and none is NaN") {
  for (const char* weights : kAllWeights) {
    const Problem p = packed_problem(weighted("bf16f32bf16", weights), 64, 64, 1024);
    const verify::WeightsRule rule = weights_rule(p, Stage::real, stage_rules(p, Stage::real, 3));
    double squares = 0, largest = 0;
    for (std::int64_t n = 0; n < p.n; ++n) {
      for (std::int64_t k = 0; k < p.k; ++k) {
        const double w = verify::weight_scale(rule, k / rule.group, n) *
                         (verify::code_value(rule.kind, verify::weight_code(rule, n, k, p.k)) -
                             verify::weight_zero(rule, k / rule.group, n));
        squares += w * w;
        if (!(std::abs(w) <= largest)) largest = std::abs(w);
      }
    }
    const double rms = std::sqrt(squares / double(p.n * p.k));
    INFO(weights << ": " << rms << ", at most " << largest);
    CHECK(largest <= 1);
    CHECK(rms <= rms_weight(p));
    CHECK(rms >= 0.6 * rms_weight(p));
  }
}

TEST_CASE("the suite of weights has K that groups divide, whole columns of any K, and both stages") {
  for (const char* weights : kAllWeights) {
    bool odd_k = false, real = false, deep = false;
    for (const SuiteCase& of : suite_cases(weighted("f16f32f16", weights))) {
      INFO(text(of));
      CHECK_FALSE(problem_error(of.problem));
      odd_k = odd_k || of.problem.k % 2 == 1;
      real = real || of.stage == Stage::real;
      deep = deep || of.problem.k > 2000;
    }
    CHECK((odd_k == (weighted("f16f32f16", weights).weights.group == 0)));
    CHECK(real);
    CHECK(deep);
  }
}

TEST_CASE("a right product with weights passes the suite, also where weights are rounded or sums are scaled") {
  for (const char* weights : kAllWeights) {
    for (const WeightsBug right : {WeightsBug::none, WeightsBug::rounds_weights, WeightsBug::scales_sums}) {
      if (right == WeightsBug::rounds_weights && is_k_quant(parse_weights(weights)->type)) continue;  // a bug there
      INFO(type_for(weights) << " " << weights << " " << int(right));
      CHECK(host_weights_suite(image_of_weights(type_for(weights), weights), right).value_or("") == "");
    }
  }
}

TEST_CASE("beside an A of 8 bits a right product with weights passes the suite, and bugs are caught") {
  for (const auto& [type, name] : kWeightsForBytes) {
    const Weights weights = *parse_weights(name);
    const SuiteImage& image = image_of_weights(type, name);
    INFO(type << " " << name);
    for (const SuiteCase& of : image.cases) CHECK_FALSE(problem_error(of.problem));
    for (const WeightsBug right : {WeightsBug::none, WeightsBug::scales_sums})
      CHECK(host_weights_suite(image, right).value_or("") == "");
    for (const WeightsBug bug : {WeightsBug::swaps_nibbles, WeightsBug::swaps_pairs, WeightsBug::swaps_halves,
             WeightsBug::group_too_early, WeightsBug::group_too_late, WeightsBug::last_group, WeightsBug::adds_zero,
             WeightsBug::ignores_zero, WeightsBug::neighbours_scale, WeightsBug::neighbours_zero,
             WeightsBug::ignores_offset, WeightsBug::ignores_sign, WeightsBug::largest_too_large}) {
      const bool of_zeros =
          bug == WeightsBug::adds_zero || bug == WeightsBug::ignores_zero || bug == WeightsBug::neighbours_zero;
      const bool of_groups =
          bug == WeightsBug::group_too_early || bug == WeightsBug::group_too_late || bug == WeightsBug::last_group;
      const bool of_e2m1 = bug == WeightsBug::ignores_sign || bug == WeightsBug::largest_too_large;
      if ((of_zeros && !weights.zeros) || (of_groups && weights.group == 0) ||
          (of_e2m1 && weights.type != WeightType::e2m1) ||
          (bug == WeightsBug::ignores_offset && weights.type != WeightType::s4))
        continue;
      INFO("bug " << int(bug));
      CHECK(host_weights_suite(image, bug));
    }
  }
}

TEST_CASE("each bug that weights invite is caught by the suite, in each kind of weights that can have it") {
  for (const WeightsBug bug : {WeightsBug::swaps_nibbles, WeightsBug::swaps_pairs, WeightsBug::swaps_halves,
           WeightsBug::group_too_early, WeightsBug::group_too_late, WeightsBug::last_group, WeightsBug::adds_zero,
           WeightsBug::ignores_zero, WeightsBug::neighbours_scale, WeightsBug::neighbours_zero,
           WeightsBug::ignores_offset, WeightsBug::counts_padding, WeightsBug::sums_in_output,
           WeightsBug::neighbours_entry, WeightsBug::entry_off_by_a_unit, WeightsBug::mirrored_table,
           WeightsBug::unrounded_table, WeightsBug::ignores_sign, WeightsBug::loses_half, WeightsBug::loses_factor,
           WeightsBug::largest_too_large, WeightsBug::ignores_fraction}) {
    for (const char* name : kAllWeights) {
      const Weights weights = *parse_weights(name);
      if (is_k_quant(weights.type)) continue;  // below
      const bool of_zeros =
          bug == WeightsBug::adds_zero || bug == WeightsBug::ignores_zero || bug == WeightsBug::neighbours_zero;
      const bool of_groups =
          bug == WeightsBug::group_too_early || bug == WeightsBug::group_too_late || bug == WeightsBug::last_group;
      const bool four_bits = weight_block_columns(weights.type) == 64;
      const bool of_nf4 = bug >= WeightsBug::neighbours_entry && bug <= WeightsBug::unrounded_table,
                 of_e2m1 = bug >= WeightsBug::ignores_sign;
      const std::int64_t columns = four_bits ? 64 : 32;
      const bool can =
          (!of_nf4 || weights.type == WeightType::nf4) && (!of_e2m1 || weights.type == WeightType::e2m1) &&
          (!of_zeros || weights.zeros) && (!of_groups || weights.group != 0) &&
          (bug != WeightsBug::swaps_nibbles || four_bits) &&
          (bug != WeightsBug::ignores_offset || weights.type == WeightType::s4 || weights.type == WeightType::s8) &&
          (bug != WeightsBug::counts_padding || weights.group % columns != 0 || weights.group == 0);
      if (!can) continue;
      INFO(name << " " << int(bug));
      CHECK(host_weights_suite(image_of_weights(type_for(name), name), bug));
    }
  }
}

TEST_CASE("the verifier's place of a code of 6 bits is that of the layout that kernels read") {
  const std::int64_t n = 40, k = 512;
  Problem p = packed_problem(weighted("f16f32f16", "q6_k"), 8, n, k);
  const verify::WeightsRule rule = weights_rule(p, Stage::real, stage_rules(p, Stage::real, 5));
  std::vector<std::byte> stored(std::size_t(operand(p, OperandRole::b).bytes()));
  put_weights(p, OperandRole::b, rule, stored.data());
  for (std::int64_t at = 0; at < 48 * k; ++at) {
    const std::int64_t row = at / k, column = at % k;
    const auto [lower, upper] = six_bit_place(row, column, k);
    const int code = (int(stored.at(std::size_t(lower.byte))) >> lower.shift & 15) +
                     16 * (int(stored.at(std::size_t(upper.byte))) >> upper.shift & 3);
    REQUIRE(code == (row < n ? verify::weight_code(rule, row, column, k) : 32));
  }
}

TEST_CASE("each bug that weights of K-quants invite is caught by the suite, beside an A of either type") {
  constexpr WeightsBug kOfBoth[] = {WeightsBug::rounds_weights, WeightsBug::swaps_nibbles, WeightsBug::swaps_pairs,
      WeightsBug::swaps_halves, WeightsBug::neighbours_scale, WeightsBug::sums_in_output, WeightsBug::late_scale,
      WeightsBug::next_super, WeightsBug::first_super, WeightsBug::super_of_step, WeightsBug::neighbours_super};
  constexpr WeightsBug kOfQ4k[] = {WeightsBug::adds_minimum, WeightsBug::ignores_minimum, WeightsBug::early_minimum,
      WeightsBug::late_minimum, WeightsBug::swaps_factors, WeightsBug::swaps_pair, WeightsBug::drops_high_bits,
      WeightsBug::minimum_without_dmin, WeightsBug::minimum_once};
  constexpr WeightsBug kOfQ6k[] = {WeightsBug::ignores_offset, WeightsBug::neighbours_upper_bits,
      WeightsBug::drops_upper_bits, WeightsBug::unsigned_scale, WeightsBug::scale_of_pair};
  for (const auto& [type, weights, own] : {std::tuple{"f16f32f16", "q4_k", std::span<const WeightsBug>(kOfQ4k)},
           {"bf16f32bf16", "q4_k", kOfQ4k}, {"f16f32f16", "q6_k", kOfQ6k}, {"bf16f32bf16", "q6_k", kOfQ6k}}) {
    const SuiteImage& image = image_of_weights(type, weights);
    for (const SuiteCase& of : image.cases) CHECK_FALSE(problem_error(of.problem));
    for (const WeightsBug right : {WeightsBug::none, WeightsBug::scales_sums})
      CHECK(host_weights_suite(image, right).value_or("") == "");
    for (const auto bugs : {std::span<const WeightsBug>(kOfBoth), own}) {
      for (const WeightsBug bug : bugs) {
        INFO(type << " " << weights << " bug " << int(bug));
        CHECK(host_weights_suite(image, bug));
      }
    }
  }
}

TEST_CASE("what rounding weights may cost shows at its full size, and not ten times over") {
  // 10^4 sums of weights rounded to A's type, of the real-valued stage's data: none beyond the bound, the worst within
  // a few times of it.
  for (const char* type : {"f16f32f16", "bf16f32bf16"}) {
    for (const char* weights : {"s4_g128", "u4_g64+zeros", "s8_g128", "e4m3_g32", "e2m1_g32", "nf4_g64"}) {
      const Problem p = packed_problem(weighted(type, weights), 25, 400, 512);
      const StageRules rules = stage_rules(p, Stage::real, 9);
      const verify::WeightsRule rule = weights_rule(p, Stage::real, rules);
      const Scalar element = weight_scale_element(p);
      const double allowed = tolerance(p, Stage::real, {1, 0}).absolute;
      double worst = 0;
      for (std::int64_t n = 0; n < p.n; ++n) {
        std::vector<double> off;
        for (std::int64_t k = 0; k < p.k; ++k) {
          const double w = rounded(element, verify::weight_scale(rule, k / rule.group, n)) *
                           (verify::code_value(rule.kind, verify::weight_code(rule, n, k, p.k)) -
                               verify::weight_zero(rule, k / rule.group, n));
          off.push_back(rounded(p.type.a, w) - w);
        }
        for (std::int64_t i = 0; i < p.m; ++i) {
          double sum = 0;
          for (std::int64_t k = 0; k < p.k; ++k)
            sum += rounded(p.type.a, verify::rule_value(rules.a, i, k, p.k)) * off[std::size_t(k)];
          worst = std::max(worst, std::abs(sum));
        }
      }
      INFO(type << " " << weights << ": " << worst << " of " << allowed);
      CHECK(worst <= allowed);
      CHECK(worst >= allowed / 20);
    }
  }
}

TEST_CASE("the reference kernels for weights compile for Ampere and Hopper without spills") {
  if (const std::string why = runtime::nvrtc_unavailable_because(); !why.empty()) {
    WARN("not compiled: " << why);
    return;
  }
  for (const char* pair : {"f16f32f16", "bf16f32bf16"}) {
    const TypePair& type = *find_type_pair(pair);
    const std::string source = reference_source(type, true);
    for (const std::string& entry : reference_entries(true))
      CHECK(source.find("__global__ void " + entry + "(") != std::string::npos);
    const KernelTarget target{{type, {}}, *limits_for_arch("sm_87")};
    const runtime::SourceBuild built =
        runtime::compile_source(source, "verify.cu", "multiply_weights_real", runtime::compiler_options(target));
    INFO(built.log);
    CHECK(built.ok);
    CHECK(built.spill_bytes == 0);
  }
}

TEST_CASE(
    "a right product with the weights of experts passes the suite of groups, and each bug that experts invite is caught") {
  for (const char* name : {"s4_g128", "u4_g64+zeros", "s8_column+zeros", "e2m1_g32", "q4_k", "q6_k"}) {
    const SuiteImage& image = image_of_weights(type_for(name), name, "batch_mode=grouped");
    INFO(name);
    for (const SuiteCase& of : image.cases) CHECK_FALSE(problem_error(of.problem));
    const bool k_quant = is_k_quant(parse_weights(name)->type);
    for (const WeightsBug right : {WeightsBug::none, WeightsBug::rounds_weights, WeightsBug::scales_sums}) {
      if (right != WeightsBug::rounds_weights || !k_quant) CHECK(host_weights_suite(image, right).value_or("") == "");
    }
    for (const WeightsBug bug : {WeightsBug::neighbours_codes, WeightsBug::experts_scale,
             WeightsBug::first_experts_zeros, WeightsBug::packed_experts, WeightsBug::scales_as_codes,
             WeightsBug::rows_of_expert_before, WeightsBug::counts_empty_experts, WeightsBug::neighbours_scale}) {
      if (bug == WeightsBug::first_experts_zeros && !parse_weights(name)->zeros) continue;
      if (bug == WeightsBug::scales_as_codes && k_quant) continue;
      INFO("bug " << int(bug));
      CHECK(host_weights_suite(image, bug));
    }
  }
}

TEST_CASE("no two experts have the same codes, scales or zeros") {
  for (const char* weights : {"u4_g32+zeros", "q4_k", "q6_k"}) {
    std::string error;
    const Problem p =
        *parse_problem(std::string("bf16f32bf16 NT 12 40 256 batch=3 batch_mode=grouped weights=") + weights, error);
    const verify::WeightsRule rule = weights_rule(p, Stage::exact, stage_rules(p, Stage::exact, 5));
    for (const OperandRole role : {OperandRole::b, OperandRole::weight_scales, OperandRole::weight_zeros}) {
      const OperandMatrix matrix = operand(p, role);
      std::vector<std::byte> stored(std::size_t(matrix.bytes()));
      put_weights(p, role, rule, stored.data());
      const auto each = std::ptrdiff_t(stored.size() / 3);
      CHECK(std::vector<std::byte>(stored.begin(), stored.begin() + each) !=
            std::vector<std::byte>(stored.begin() + each, stored.begin() + 2 * each));
      CHECK(std::vector<std::byte>(stored.begin(), stored.begin() + each) !=
            std::vector<std::byte>(stored.begin() + 2 * each, stored.end()));
    }
  }
}
