// Family `ffma` on the host: which launches solve a problem, what is refused, and what is tried first.
#include <algorithm>
#include <array>

#include "kernels/families/estimate.hpp"
#include "kernels/families/family.hpp"
#include "tests/catch.hpp"

using namespace tilesmith;

namespace {

const Family& ffma_family() { return *find_family("ffma"); }

KernelTarget target_of(const char* arch, Transposes trans = {}, const char* pair = "f32f32") {
  return {{*find_type_pair(pair), trans}, *limits_for_arch(arch)};
}

Config first_seed(const KernelTarget& target, const Problem& problem) {
  const std::vector<Config> initial_configs = ffma_family().initial_configs(target, problem);
  REQUIRE_FALSE(initial_configs.empty());
  return initial_configs.front();
}

}  // namespace

TEST_CASE("f32 is multiplied by FMA alone: no family with tensor cores takes it, and ffma takes nothing else") {
  const KernelTarget f32 = target_of("sm_90a");
  for (const char* name : {"wmma", "mma", "wgmma"}) CHECK_FALSE(find_family(name)->supports(f32));
  for (const char* name : {"simt", "ffma", "gemv"}) CHECK(find_family(name)->supports(f32));
  for (const char* pair : {"tf32f32", "f64f64", "f16f32"})
    CHECK_FALSE(ffma_family().supports(target_of("sm_90a", {}, pair)));
}

TEST_CASE(
    "the first initial configs of ffma are legal, run the problem and are not dominated, at any shape and alignment") {
  for (const char* arch : {"sm_80", "sm_87", "sm_90a"}) {
    for (const Transposes trans : kAllTransposes) {
      const KernelTarget target = target_of(arch, trans);
      for (const auto& [m, n, k] :
          {std::array{1, 1, 1}, std::array{16, 4096, 4096}, std::array{4096, 16, 64}, std::array{1023, 1025, 1027},
              std::array{1024, 1024, 1024}, std::array{4096, 4096, 4096}, std::array{64, 64, 65536}}) {
        const Problem problem = packed_problem(target, m, n, k);
        const std::vector<Config> initial_configs = ffma_family().initial_configs(target, problem);
        INFO(arch << " " << text(problem));
        CHECK(initial_configs.size() >= 3);
        for (const Config& seed : initial_configs) {
          INFO(seed.text());
          CHECK_FALSE(illegal_because(ffma_family(), seed, target));
          CHECK_FALSE(refused_because(ffma_family(), seed, problem));
          CHECK_FALSE(ffma_family().dominated(seed, problem));
          CHECK(estimate(seed, target, problem)->cycles > 0);
        }
      }
    }
  }
}

TEST_CASE("only rows that lie along M or N must be aligned to what ffma copies at a time") {
  const auto refusal = [](Transposes trans, std::int64_t lda, std::int64_t ldb) {
    const KernelTarget target = target_of("sm_90a", trans);
    Problem problem = packed_problem(target, 256, 256, 256);
    const Config config = first_seed(target, problem);
    problem.lda = lda;
    problem.ldb = ldb;
    return refused_because(ffma_family(), config, problem);
  };
  CHECK_FALSE(refusal({false, false}, 257, 256));
  CHECK(refusal({false, false}, 256, 257)->find("aligned to 4 bytes; copies take 16") != std::string::npos);
  CHECK_FALSE(refusal({false, true}, 257, 259));
  CHECK(refusal({true, true}, 258, 259)->find("aligned to 8 bytes") != std::string::npos);
  CHECK_FALSE(refusal({true, true}, 256, 259));
}

TEST_CASE("rows along K that lie too far apart for offsets of 32 bits are refused, rows along N are not") {
  const KernelTarget target = target_of("sm_90a");
  Problem problem = packed_problem(target, 256, 256, 256);
  const Config config = first_seed(target, problem);
  const std::int64_t far = std::int64_t{1} << 31;
  problem.ldb = far;
  CHECK_FALSE(refused_because(ffma_family(), config, problem));
  problem.lda = far / config.at("block_m") - 4;
  CHECK_FALSE(refused_because(ffma_family(), config, problem));
  problem.lda = far / config.at("block_m") + 4;
  CHECK(refused_because(ffma_family(), config, problem)->find("32 bits") != std::string::npos);
}

TEST_CASE("copies narrower than the rows' alignment are dominated, where any rows are copied so") {
  const KernelTarget nn = target_of("sm_90a"), nt = target_of("sm_90a", {false, true});
  const Problem problem = packed_problem(nn, 1024, 1024, 1024);
  Config config = first_seed(nn, problem);
  CHECK_FALSE(ffma_family().dominated(config, problem));
  config.set("copy_bytes", 8);
  CHECK(ffma_family().dominated(config, problem));
  const Problem along_k = packed_problem(nt, 1024, 1024, 1024);
  CHECK(first_seed(nt, along_k).at("copy_bytes") == 4);
  CHECK_FALSE(ffma_family().dominated(first_seed(nt, along_k), along_k));
}

TEST_CASE(
    "ffma's split K adds the slices in a second launch that overlaps on sm_90, or atomically behind one that scales C") {
  for (const char* arch : {"sm_87", "sm_90a"}) {
    const KernelTarget target = target_of(arch);
    const Problem problem = packed_problem(target, 128, 128, 65536);
    const std::vector<Config> initial_configs = ffma_family().initial_configs(target, problem);
    const auto split = std::find_if(
        initial_configs.begin(), initial_configs.end(), [](const Config& seed) { return seed.at("split_k") > 1; });
    REQUIRE(split != initial_configs.end());
    const std::int64_t slices = split->at("split_k");
    LaunchSequence sequence = ffma_family().launches(*split, problem);
    REQUIRE(sequence.launches.size() == 2);
    CHECK(sequence.launches[1].entry == "sum_slices");
    CHECK(sequence.launches[1].overlaps_previous == (target.limits.sm >= 90));
    CHECK(sequence.workspace_bytes == std::size_t(slices * 128 * 128 * 4));
    CHECK(ffma_family().deterministic(*split));
    Config atomic = *split;
    atomic.set("reduction", 1);
    REQUIRE_FALSE(illegal_because(ffma_family(), atomic, target));
    sequence = ffma_family().launches(atomic, problem);
    REQUIRE(sequence.launches.size() == 2);
    CHECK(sequence.launches[0].entry == "scale_c");
    CHECK(sequence.workspace_bytes == 0);
    CHECK_FALSE(ffma_family().deterministic(atomic));
  }
}
