// Every kernel template compiles for the Orin and the H200, and agrees with its host file on what the launch must ask for.
#include <fmt/format.h>

#include <iterator>
#include <map>
#include <set>

#include "kernels/space.hpp"
#include "runtime/compile/compiler.hpp"
#include "tests/built_in.hpp"
#include "tests/catch.hpp"

using namespace tilesmith;

namespace {

/// A few configs from all over the space: a prime stride, so that every parameter varies.
std::vector<Config> spread_sample(const Family& family, const KernelTarget& target, std::size_t count) {
  const Space space = enumerate_space(family, target);
  std::vector<Config> sample;
  for (std::size_t i = 0; i < count && !space.configs.empty(); ++i) {
    sample.push_back(space.configs[(i * 7919 + 101) % space.configs.size()]);
  }
  return sample;
}

/// A problem that the config takes: of a single row or column where it takes no other; else a square one, whose alignment may
/// be refused, but changes no launch's shape.
Problem problem_for(const Family& family, const Config& config, const KernelTarget& target) {
  const auto problem = [&](std::int64_t m, std::int64_t n) {
    return packed_problem(target, m, n, 64);
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
  std::string text = fmt::format("static_assert(tilesmith::kThreads == {}, \"threads\");\n", launch.block.x);
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

/// Two transposes of a type pair and the other two of the next one, so that every family sees all four.
void compile_sample(const char* arch, std::size_t count) {
  REQUIRE(runtime::nvrtc_unavailable_because() == "");
  std::map<std::string_view, std::set<std::string_view>> transposes_of_family;
  bool mixed = false;
  for (const TypePair& type : type_pairs()) {
    mixed = !mixed;
    for (Transposes trans : kAllTransposes) {
      if ((trans.a != trans.b) != mixed) continue;
      const KernelTarget target{{type, trans}, *limits_for_arch(arch)};
      for (const auto& family : families()) {
        const bool added_by_a_test = !tests::is_built_in(*family);
        if (added_by_a_test || !family->supports(target)) continue;
        transposes_of_family[family->name()].insert(name(trans));
        for (const Config& config : spread_sample(*family, target, count)) {
          const std::string source = family->source(config, target) + launch_assertions(*family, config, target);
          const auto build = runtime::compile_source(source, "candidate.cu", "gemm", runtime::compiler_options(target));
          INFO(type.name << " " << name(trans) << " " << config.text() << "\n" << build.log);
          CHECK(build.ok);
        }
      }
    }
  }
  for (const auto& [family, transposes] : transposes_of_family) {
    INFO(family);
    CHECK(transposes.size() == std::size(kAllTransposes));
  }
}

}  // namespace

TEST_CASE("a sample of every family compiles for the Orin and launches as its template expects") {
  compile_sample("sm_87", 2);
}
TEST_CASE("a sample of every family compiles for the H200 and launches as its template expects") {
  compile_sample("sm_90a", 1);
}

TEST_CASE("what mma tries first for an Orin keeps its sums in registers, for every type pair of 16 bits") {
  REQUIRE(runtime::nvrtc_unavailable_because() == "");
  const Family& mma = *find_family("mma");
  for (const TypePair& type : type_pairs()) {
    if (size_bytes(type.a) != 2) continue;
    const KernelTarget target{{type, {}}, *limits_for_arch("sm_87")};
    std::vector<Config> seeds = mma.seeds(target, packed_problem({type, {}}, 2048, 2048, 2048));
    REQUIRE(seeds.size() >= 3);
    seeds.resize(3);
    for (const Config& config : seeds) {
      const db::KernelBuild build = runtime::compile(config, target);
      INFO(type.name << " " << config.text() << ": " << build.message);
      CHECK(build.status == db::Status::ok);
      CHECK(build.spill_bytes == 0);
    }
  }
}
