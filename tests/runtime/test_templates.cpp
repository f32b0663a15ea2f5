// Every kernel template compiles for the Orin and the H200, and agrees with its host file on what the launch must ask
// for.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <set>

#include "kernels/families/space.hpp"
#include "runtime/compile/compiler.hpp"
#include "tests/built_in.hpp"
#include "tests/catch.hpp"
#include "tests/long_tests.hpp"
#include "tests/quick_compile.hpp"

using namespace tilesmith;

namespace {

/// Configs of one family, each with values that those before it lack. What is legal for one type pair is often so for
/// the next: a space is enumerated, which takes a second, only where it is not.
class VariedConfigs {
 public:
  /// The config from all over the space that has most parameter values that were not seen before; none if the space is
  /// empty.
  std::optional<Config> next(const Family& family, const KernelTarget& target) {
    const Legality legality(family, target);
    std::vector<Config> legal;
    for (std::size_t i = spread_.size(); i-- > 0 && legal.size() < kEnough;) {
      if (!legality.illegal_because(spread_[i])) legal.push_back(spread_[i]);
    }
    if (legal.size() < kEnough) legal = enumerated(family, target);
    if (legal.empty()) return std::nullopt;
    const auto unseen = [&](const Config& config) {
      return std::ranges::count_if(
          config.values(), [&](const Config::Value& value) { return seen_.count(value) == 0; });
    };
    const Config chosen = *std::ranges::max_element(legal, {}, unseen);
    seen_.insert(chosen.values().begin(), chosen.values().end());
    return chosen;
  }

 private:
  static constexpr std::size_t kEnough = 100, kSpread = 1000;

  /// A part of the space by a prime stride, so that every parameter varies; it is kept for other type pairs.
  std::vector<Config> enumerated(const Family& family, const KernelTarget& target) {
    const Space space = enumerate_space(family, target);
    std::vector<Config> part;
    for (std::size_t i = 0; i < std::min(kSpread, space.configs.size()); ++i) {
      part.push_back(space.configs[(i * 7919 + 101) % space.configs.size()]);
    }
    spread_.insert(spread_.end(), part.begin(), part.end());
    return part;
  }

  std::vector<Config> spread_;
  std::set<Config::Value> seen_;
};

/// A problem that the config takes: of a single row or column where it takes no other; else a square one, whose
/// alignment may be refused, but changes no launch's shape.
Problem problem_for(const Family& family, const Config& config, const KernelTarget& target) {
  const auto problem = [&](std::int64_t m, std::int64_t n) {
    return packed_problem(target, m, n, target.weights.group > 64 ? target.weights.group : 64);
  };
  for (const Problem& one : {problem(256, 256), problem(1, 256), problem(256, 1)}) {
    if (!family.refusal(config, one)) return one;
  }
  return problem(256, 256);
}

/// Statements that fail to compile unless the template's constants are what the host computed for the launch.
std::string launch_assertions(const Family& family, const Config& config, const KernelTarget& target) {
  // The grid says how large a tile is.
  const Problem problem = problem_for(family, config, target);
  const LaunchSequence sequence = family.launches(config, problem);
  Launch launch;  // the GEMM; passes before and after it have a shape of their own
  for (const Launch& one : sequence.launches) {
    if (one.entry == "gemm") launch = one;
  }
  const unsigned slices = config.has("split_k") ? unsigned(config.at("split_k")) : 1;
  std::string text = fmt::format("static_assert(tilesmith::{}kThreads == {}, \"threads\");\n",
      config.family() == "wgmma" ? "Trade::" : "", launch.block.x);
  // The tiles of C, in whole clusters where the blocks of one share operands.
  const int cluster_m = config.has("cluster_m") ? config.at("cluster_m") : 1;
  const int cluster_n = config.has("cluster_n") ? config.at("cluster_n") : 1;
  text += fmt::format(
      "static_assert((({} - 1) / (tilesmith::kBlockM * {}) + 1) * (({} - 1) / (tilesmith::kBlockN * {}) + 1) == {}, "
      "\"grid\");\n",
      problem.m, cluster_m, problem.n, cluster_n, launch.grid.x / slices / unsigned(cluster_m * cluster_n));
  if (launch.dynamic_smem_bytes > 0) {
    text +=
        fmt::format("static_assert(tilesmith::kSharedBytes == {}, \"shared memory\");\n", launch.dynamic_smem_bytes);
  }
  return text;
}

/// A config of every family and type pair, of one transposes in turn, so that every family sees all four. What both
/// architectures support is compiled for one of them. The long form takes all.
void compile_sample(const char* arch, const char* other_arch) {
  REQUIRE(runtime::nvrtc_unavailable_because() == "");
  const bool is_first = std::string_view(arch) < other_arch;
  for (const auto& family : families()) {
    if (!tests::is_built_in(*family)) continue;  // added by a test
    VariedConfigs configs;
    std::set<std::string_view> transposes;
    std::size_t turn = 0;  // counts type pairs that the family supports
    for (const TypePair& type : type_pairs()) {
      const auto target_on = [&](const char* on, Transposes trans) {
        return KernelTarget{{type, trans}, *limits_for_arch(on)};
      };
      if (std::ranges::none_of(
              kAllTransposes, [&](Transposes trans) { return family->supports(target_on(arch, trans)); }))
        continue;
      const Transposes in_turn = kAllTransposes[turn / 2 % std::size(kAllTransposes)];
      const bool is_turn_of_other = (turn++ % 2 == 0) != is_first;
      for (const Transposes trans : kAllTransposes) {
        const KernelTarget target = target_on(arch, trans);
        if (!family->supports(target)) continue;
        const bool of_one_pair = family->name() == "ffma";
        const bool is_compiled_for_other = is_turn_of_other && family->supports(target_on(other_arch, trans));
        if (!tests::long_tests() && !of_one_pair && (trans != in_turn || is_compiled_for_other)) continue;
        const std::optional<Config> config = configs.next(*family, target);
        if (!config) continue;
        transposes.insert(name(trans));
        const std::vector<std::string> options = runtime::compiler_options(target);
        const std::string source = family->source(*config, target) + launch_assertions(*family, *config, target);
        const auto build = runtime::compile_source(
            source, "candidate.cu", "gemm", tests::long_tests() ? options : tests::optimising_less(options));
        INFO(type.name << " " << name(trans) << " " << config->text() << "\n" << build.log);
        CHECK(build.ok);
      }
    }
    INFO(family->name());
    CHECK((transposes.empty() || transposes.size() == std::size(kAllTransposes)));
  }
}

}  // namespace

TEST_CASE("a sample of every family compiles for the Orin and launches as its template expects") {
  compile_sample("sm_87", "sm_90a");
}
TEST_CASE("a sample of every family compiles for the H200 and launches as its template expects") {
  compile_sample("sm_90a", "sm_87");
}

namespace {

/// Compiles what mma tries first for an Orin: the first guess, of long tests the first three.
void first_configs_fit(const KernelSignature& signature) {
  const KernelTarget target{signature, *limits_for_arch("sm_87")};
  std::vector<Config> initial_configs =
      find_family("mma")->initial_configs(target, packed_problem(signature, 2048, 2048, 2048));
  REQUIRE(initial_configs.size() >= 3);
  initial_configs.resize(tests::long_tests() ? 3 : 1);
  for (const Config& config : initial_configs) {
    const db::KernelBuild build = runtime::compile(config, target);
    INFO(text(signature) << " " << config.text() << ": " << build.message);
    CHECK(build.status == db::Status::ok);
    CHECK(build.spill_bytes == 0);
  }
}

}  // namespace

TEST_CASE("what mma tries first for an Orin keeps its sums in registers, for every type pair of 16 bits") {
  REQUIRE(runtime::nvrtc_unavailable_because() == "");
  for (const TypePair& type : type_pairs()) {
    if (size_bytes(type.a) == 2) first_configs_fit({type, {}});
  }
}

TEST_CASE("what mma tries first for an Orin keeps its sums in registers, with epilogues and for batches") {
  REQUIRE(runtime::nvrtc_unavailable_because() == "");
  for (const char* signature : {"bf16f32bf16 NT epilogue=bias_n+gelu_tanh", "f16f32f16 NN epilogue=c_apart",
           "f16f16 NN epilogue=bias_n+gelu", "f16f32f16 NT epilogue=bias_m+silu",
           "s8s32bf16 NT epilogue=scale_m+scale_n", "s8s32f16 NT epilogue=scale_m+bias_n",
           "bf16f32bf16 NT epilogue=swiglu", "f16f32f16 NN epilogue=bias_n+swiglu", "bf16f32bf16 NN batch_mode=strided",
           "bf16f32bf16 NN batch_mode=grouped", "bf16f32bf16 NT epilogue=bias_n+relu batch_mode=strided"}) {
    std::string error;
    const auto parsed = parse_signature(signature, error);
    INFO(signature << ": " << error);
    REQUIRE(parsed);
    first_configs_fit(*parsed);
  }
}

namespace {

/// The first configs for so many rows, of each family that supports the weights: their launches are what their template
/// expects, without spills.
void weights_compile(const char* arch, const char* signature, int m) {
  std::string error;
  const auto parsed = parse_signature(signature, error);
  INFO(signature << ": " << error);
  REQUIRE(parsed);
  const KernelTarget target{*parsed, *limits_for_arch(arch)};
  const std::vector<std::string> options = runtime::compiler_options(target);
  for (const char* name : {"dequant", "wgmma"}) {
    const Family& family = *find_family(name);
    if (!family.supports(target)) continue;
    std::vector<Config> initial_configs = family.initial_configs(target, packed_problem(target, m, 4096, 4096));
    REQUIRE_FALSE(initial_configs.empty());
    initial_configs.resize(std::min<std::size_t>(initial_configs.size(), tests::long_tests() ? 3 : 1));
    for (const Config& config : initial_configs) {
      const std::string source = family.source(config, target) + launch_assertions(family, config, target);
      const runtime::SourceBuild build = runtime::compile_source(source, "candidate.cu", "gemm", options);
      INFO(arch << " " << signature << " " << config.text() << ": " << build.log);
      CHECK(build.ok);
      CHECK(build.spill_bytes == 0);
    }
  }
}

}  // namespace

TEST_CASE("what is tried first for weights compiles without spills and launches as its template expects") {
  REQUIRE(runtime::nvrtc_unavailable_because() == "");
  bool has_few_rows = true;  // few and many rows in turn; the long form takes both
  for (const char* arch : {"sm_87", "sm_90a"}) {
    for (const char* signature :
        {"f16f32f16 NT weights=s4_g128", "bf16f32bf16 NT weights=u4_g32+zeros", "f16f32f16 NT weights=s8_column",
            "bf16f32bf16 NT epilogue=bias_n+silu weights=e4m3_g64", "f16f32f16 NT weights=e2m1_g32",
            "bf16f32bf16 NT weights=e2m1_column", "bf16f32bf16 NT batch_mode=grouped weights=s4_g128",
            "f16f32f16 NT epilogue=swiglu batch_mode=grouped weights=u4_g64+zeros",
            "bf16f32bf16 NT epilogue=swiglu_interleaved weights=s4_g128", "f16f32f16 NT weights=nf4_g64",
            "bf16f32bf16 NT epilogue=bias_n+silu weights=nf4_g64"}) {
      has_few_rows = !has_few_rows;
      for (const int m : {8, 1024}) {
        if (tests::long_tests() || has_few_rows == (m == 8)) weights_compile(arch, signature, m);
      }
    }
  }
}
