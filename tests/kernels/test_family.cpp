#include "kernels/families/family.hpp"

#include <algorithm>
#include <set>

#include "kernels/families/embedded.hpp"
#include "kernels/families/render.hpp"
#include "kernels/families/space.hpp"
#include "tests/catch.hpp"

using namespace tilesmith;

namespace {

KernelTarget target(const char* type, Transposes trans, const char* arch) {
  return {{*find_type_pair(type), trans}, *limits_for_arch(arch)};
}

template <typename Visit>
void for_each_target(const char* arch, Visit visit) {
  for (const TypePair& type : type_pairs()) {
    for (Transposes trans : kAllTransposes) visit(KernelTarget{{type, trans}, *limits_for_arch(arch)});
  }
}

/// On an Orin, or where the family is for Hopper alone, there.
KernelTarget home_of(const Family& family, const char* type, Transposes trans) {
  const KernelTarget orin = target(type, trans, "sm_87");
  return family.supports(orin) ? orin : target(type, trans, "sm_90a");
}

}  // namespace

TEST_CASE("every family has a name of its own, and words for every parameter and rule") {
  std::set<std::string_view> names;
  for (const auto& family : families()) {
    CHECK(names.insert(family->name()).second);
    CHECK_FALSE(family->summary().empty());
    KernelTarget any = target("f16f32", {}, "sm_90a");
    if (!family->supports(any)) {
      any = target("f16f32f16", {false, true}, "sm_90a");
      any.weights = *parse_weights("s4_g128");
    }
    for (const Parameter& parameter : family->parameters(any)) {
      CHECK_FALSE(parameter.meaning.empty());
      CHECK_FALSE(parameter.values.empty());
    }
    for (const Rule& rule : family->rules(any)) CHECK_FALSE(rule.reason.empty());
  }
}

namespace {

void check_census(const Space& space) {
  std::int64_t total = std::int64_t(space.configs.size());
  for (const RuleCount& rule : space.removed) total += rule.removed;
  CHECK(total == space.combinations);
  CHECK_FALSE(space.configs.empty());
}

/// Of configs from all over the space, what a rule declares is kept; everything else turns to nonsense.
void check_what_rules_read(const Family& family, const KernelTarget& target, const Space& space) {
  for (const Rule& rule : family.rules(target)) {
    if (rule.reads.empty()) continue;
    for (std::size_t i = 0; i < 200; ++i) {
      const Config& legal = space.configs[(i * 7919 + 5) % space.configs.size()];
      Config disturbed = legal;
      for (const Parameter& parameter : space.parameters) {
        const bool declared = std::find(rule.reads.begin(), rule.reads.end(), parameter.name) != rule.reads.end();
        if (!declared) disturbed.set(parameter.name, parameter.values[i % parameter.values.size()]);
      }
      if (rule.holds(disturbed)) continue;
      FAIL_CHECK(family.name() << ": " << rule.name << ": " << disturbed.text());
    }
  }
}

void check_members(const Family& family, const KernelTarget& target, const Space& space) {
  const Legality legality(family, target);
  std::set<std::string> texts;
  for (std::size_t i = 0; i < space.configs.size(); ++i) {
    if (!texts.insert(space.configs[i].text()).second) FAIL_CHECK(space.configs[i].text() << " is there twice");
    if (i % 97 == 0) CHECK_FALSE(legality.illegal_because(space.configs[i]));
  }
}

}  // namespace

// One test: a space takes a second to enumerate.
TEST_CASE(
    "a census counts every combination of a space, no config is in it twice, all are legal, and rules read what they declare") {
  struct Checked {
    const char* type;
    Transposes trans;
    bool on_hopper;
  };
  for (const auto& [type, trans, on_hopper] : {Checked{"f16f32", {}, true}, Checked{"s8s32", {}, true},
           Checked{"f64f64", {}, true}, Checked{"tf32f32", {true, false}, false}}) {
    for (const auto& family : families()) {
      const KernelTarget one = on_hopper ? target(type, trans, "sm_90a") : home_of(*family, type, trans);
      if (!family->supports(one)) continue;
      INFO(family->name() << " " << type << " on " << one.limits.arch);
      const Space space = enumerate_space(*family, one);
      CHECK(count_legal(*family, one) == std::int64_t(space.configs.size()));
      check_census(space);
      check_what_rules_read(*family, one, space);
      if (!on_hopper) check_members(*family, one, space);
    }
  }
}

TEST_CASE("pruning ahead leaves what asking every combination leaves") {
  const Family& mma = *find_family("mma");
  const KernelTarget one = target("f64f64", {}, "sm_87");
  const std::vector<Rule> rules = mma.rules(one);
  const Space space = enumerate_space(mma, one);
  std::set<std::string> legal;
  for (const Config& config : space.configs) legal.insert(config.text());
  for (std::size_t i = 0; i < 400000; ++i) {
    std::vector<Config::Value> values;
    std::size_t digits = i * 2654435761u;
    for (const Parameter& parameter : space.parameters) {
      values.emplace_back(parameter.name, parameter.values[digits % parameter.values.size()]);
      digits /= parameter.values.size();
    }
    const Config config("mma", values);
    const bool holds = std::all_of(rules.begin(), rules.end(), [&](const Rule& rule) { return rule.holds(config); });
    if (holds != (legal.count(config.text()) > 0)) FAIL_CHECK(config.text());
  }
}

TEST_CASE(
    "the ladder and the initial configs of every family are legal on every architecture's smallest and largest device") {
  for (const char* arch : {"sm_86", "sm_87", "sm_90a"}) {
    for_each_target(arch, [&](const KernelTarget& one) {
      for (const auto& family : families()) {
        const Legality legality(*family, one);
        for (const NamedConfig& step : family->ladder(one)) {
          const auto reason = legality.illegal_because(step.config);
          INFO(arch << " " << one.type.name << " " << step.name << ": " << reason.value_or(""));
          CHECK_FALSE(reason);
        }
        for (const Config& seed : family->initial_configs(one, ordinary_problem(one)))
          CHECK_FALSE(legality.illegal_because(seed));
      }
    });
  }
}

TEST_CASE(
    "the known ladder has its six steps for every type pair that has fragments, and of C such as are stored as they are") {
  for_each_target("sm_87", [](const KernelTarget& one) {
    // A fragment is stored in its own type: a narrower output would need a conversion that wmma has not.
    const bool same = one.type.accumulator == one.type.output && !is_fp8(one.type.a) && !is_whole_f32(one.type.a);
    const bool has_ladder = same && size_bits(one.type.a) >= 8;
    CHECK(find_family("wmma")->supports(one) == same);
    CHECK(find_family("wmma")->ladder(one).size() == (has_ladder ? 6u : 0u));
    CHECK(find_family("wmma")->initial_configs(one, ordinary_problem(one)).empty() == !same);
  });
}

TEST_CASE("the generic config is legal everywhere and refuses no problem, however it is aligned") {
  for (const char* arch : {"sm_80", "sm_86", "sm_87", "sm_89", "sm_90", "sm_90a"}) {
    for_each_target(arch, [](const KernelTarget& one) {
      const Config config = generic_config(one);
      const Family* family = find_family(config.family());
      REQUIRE(family != nullptr);
      CHECK_FALSE(illegal_because(*family, config, one));
      for (std::int64_t size : {1, 2, 17, 1000, 30011}) {
        Problem problem = packed_problem(one, size, size + 1, size + 2);
        problem.lda += 3;
        problem.align_bytes = int(std::max(size_bytes(one.type.a), size_bytes(one.type.output)));
        CHECK_FALSE(family->refusal(config, problem));
      }
    });
  }
}

TEST_CASE("a config with a value outside the space, a missing parameter or a broken rule is illegal, and says why") {
  const Family* wmma = find_family("wmma");
  const KernelTarget one = target("f16f32", {}, "sm_87");
  Config config = wmma->ladder(one).back().config;
  config.set("frags_m", 5);
  CHECK(illegal_because(*wmma, config, one)->find("frags_m = 5") != std::string::npos);
  config = wmma->ladder(one).back().config;
  config.set("frag_m", 32);
  CHECK(illegal_because(*wmma, config, one)->find("wmma shape") != std::string::npos);
  CHECK(illegal_because(*wmma, Config("wmma", {{"frag_m", 16}}), one));
}

TEST_CASE("shared memory decides by device: what an H200 allows an sm_86 may not") {
  const Family* wmma = find_family("wmma");
  std::size_t more_on_hopper = 0;
  const Space hopper = enumerate_space(*wmma, target("f64f64", {}, "sm_90a"));
  const KernelTarget small = target("f64f64", {}, "sm_86");
  for (const Config& config : hopper.configs) more_on_hopper += illegal_because(*wmma, config, small).has_value();
  CHECK(more_on_hopper > 0);
}

TEST_CASE("wide copies are refused where rows are not aligned for them, narrow ones are not") {
  const Family* wmma = find_family("wmma");
  const KernelTarget one = target("f16f32", {}, "sm_87");
  Config config = wmma->ladder(one).back().config;
  config.set("store_direct", 0);
  const Problem odd = packed_problem(one, 1023, 1025, 1027);
  CHECK(wmma->refusal(config, odd));
  config.set("copy_bytes", 2);
  CHECK_FALSE(wmma->refusal(config, odd));
  config.set("store_direct", 1);
  CHECK(wmma->refusal(config, odd));
}

TEST_CASE("wmma reads no tf32 straight from global memory whose 16 rows span more than 32 bits count") {
  const Family& wmma = *find_family("wmma");
  const KernelTarget tf32 = target("tf32f32", {}, "sm_87"), f16 = target("f16f32", {}, "sm_87");
  const Config straight = wmma.ladder(tf32).front().config, staged = wmma.ladder(tf32).back().config;
  Problem within = packed_problem(tf32, 16, 16, 16);
  within.lda = within.ldb = (1 << 27) - 4;
  Problem beyond_a = within, beyond_b = within;
  beyond_a.lda = beyond_b.ldb = 1 << 27;
  CHECK_FALSE(refused_because(wmma, straight, within));
  for (const Problem& beyond : {beyond_a, beyond_b}) {
    CHECK(refused_because(wmma, straight, beyond)->find("134217728 elements apart") != std::string::npos);
    CHECK_FALSE(eligible(wmma, straight, beyond));
    CHECK_FALSE(refused_because(wmma, staged, beyond));
  }
  Problem halves = packed_problem(f16, 16, 16, 16);
  halves.lda = 1 << 27;
  CHECK_FALSE(refused_because(wmma, wmma.ladder(f16).front().config, halves));
}

TEST_CASE("the grid covers C: tiles times tile size reach every row and column") {
  const KernelTarget one = target("f16f32", {}, "sm_87");
  const Config config = find_family("wmma")->ladder(one).back().config;  // 128x128
  const auto blocks = [&](std::int64_t m, std::int64_t n) {
    return find_family("wmma")->launches(config, packed_problem(one, m, n, 64)).launches.at(0).grid.x;
  };
  CHECK(blocks(1, 1) == 1);
  CHECK(blocks(128, 128) == 1);
  CHECK(blocks(129, 128) == 2);
  CHECK(blocks(1000, 257) == 8 * 3);
}

TEST_CASE("sources name every tunable and include only embedded files and the toolkit's headers") {
  CHECK(constant_name("frag_m") == "kFragM");
  CHECK(constant_name("block_k") == "kBlockK");
  std::set<std::string_view> known;
  for (const EmbeddedFile& file : embedded_headers()) known.insert(file.name);
  const std::set<std::string_view> toolkit{"cuda_fp16.h", "cuda_bf16.h", "mma.h"};
  for (const EmbeddedFile& file : embedded_headers()) {
    std::string_view rest = file.text;
    for (std::size_t at; (at = rest.find("#include ")) != std::string_view::npos;) {
      rest.remove_prefix(at + 10);
      const std::string_view included = rest.substr(0, rest.find_first_of("\">"));
      INFO(file.name << " includes " << included);
      CHECK((known.count(included) == 1 || toolkit.count(included) == 1));
    }
  }
  const KernelTarget one = target("bf16f32", {false, true}, "sm_87");
  const Config config = find_family("wmma")->ladder(one).back().config;
  const std::string source = find_family("wmma")->source(config, one);
  for (const Config::Value& value : config.values()) {
    CHECK(source.find("constexpr int " + constant_name(value.first.text()) + " = " + std::to_string(value.second) +
                      ";") != std::string::npos);
  }
  CHECK(source.find("kTransB = true") != std::string::npos);
}

TEST_CASE("gemv takes problems of one row or one column, and unshifted only rows that are aligned to 16 bytes") {
  const Family& gemv = *find_family("gemv");
  const KernelTarget one = target("f16f32", {}, "sm_90a");
  Config config(
      "gemv", {{"matrix", 1}, {"shifted", 0}, {"threads", 256}, {"lanes", 8}, {"rows", 1}, {"unroll", 8},
                  {"split_k", 8}, {"cluster", 1}, {"prefetch_bytes", 0}, {"overlap", 0}, {"early_launch", 0}});
  REQUIRE_FALSE(illegal_because(gemv, config, one));
  const Problem row = packed_problem(one, 1, 4096, 4096), column = packed_problem(one, 4096, 1, 4096);
  const Problem odd = packed_problem(one, 1, 4095, 4096);
  CHECK_FALSE(gemv.refusal(config, row));
  CHECK(gemv.refusal(config, column)->find("M must be 1") != std::string::npos);
  CHECK(gemv.refusal(config, odd)->find("aligned to 2 bytes") != std::string::npos);
  config.set("shifted", 1);
  CHECK_FALSE(gemv.refusal(config, odd));
  config.set("matrix", 0);
  CHECK(gemv.refusal(config, row)->find("N must be 1") != std::string::npos);
  CHECK_FALSE(gemv.refusal(config, column));
}

TEST_CASE(
    "gemv launches whole clusters, a second launch only where slices meet in the workspace, and every shift's rows") {
  const Family& gemv = *find_family("gemv");
  const KernelTarget one = target("f16f32", {false, true}, "sm_90a");
  Config config(
      "gemv", {{"matrix", 1}, {"shifted", 1}, {"threads", 256}, {"lanes", 32}, {"rows", 2}, {"unroll", 4},
                  {"split_k", 4}, {"cluster", 1}, {"prefetch_bytes", 0}, {"overlap", 0}, {"early_launch", 0}});
  const LaunchSequence together = gemv.launches(config, packed_problem(one, 1, 4096, 4096));
  REQUIRE(together.launches.size() == 1);
  CHECK(together.workspace_bytes == 0);
  CHECK(together.launches[0].cluster.x == 4);
  CHECK(together.launches[0].grid.x == 4096 / 16 * 4);

  // Rows of 4097 elements start at 8 different shifts; a tile has 16 rows of one of them.
  const LaunchSequence shifted = gemv.launches(config, packed_problem(one, 1, 130, 4097));
  CHECK(shifted.launches[0].grid.x == 8 * 2 * 4);

  config.set("cluster", 0);
  const LaunchSequence apart = gemv.launches(config, packed_problem(one, 1, 4096, 4096));
  REQUIRE(apart.launches.size() == 2);
  CHECK(apart.launches[0].cluster.x == 1);
  CHECK(apart.launches[1].entry == "sum_slices");
  CHECK(apart.launches[1].grid.x == 16);
  CHECK_FALSE(apart.launches[1].overlaps_previous);
  config.set("overlap", 1);
  const LaunchSequence overlapping = gemv.launches(config, packed_problem(one, 1, 4096, 4096));
  CHECK_FALSE(overlapping.launches[0].overlaps_previous);
  CHECK(overlapping.launches[1].overlaps_previous);
  config.set("early_launch", 1);
  const LaunchSequence early = gemv.launches(config, packed_problem(one, 1, 4096, 4096));
  CHECK(early.launches[0].overlaps_previous);
  CHECK(early.launches[1].overlaps_previous);
  CHECK(apart.workspace_bytes == 4 * 4096 * sizeof(float));
}
