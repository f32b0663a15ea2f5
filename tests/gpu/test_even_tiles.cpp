// Columns dealt evenly among the tiles of persistent blocks (family `wgmma`), where rows have two tiles or three and blocks do more
// than one: the battery's problems have fewer tiles than there are blocks, and so as many in each row.
#include <algorithm>
#include <future>
#include <memory>
#include <utility>
#include <vector>

#include "kernels/eligible.hpp"
#include "kernels/wgmma/even_tiles.cuh"
#include "runtime/compiler.hpp"
#include "tests/catch.hpp"
#include "tests/gpu/planted_bug.hpp"
#include "tests/kernels/wgmma_configs.hpp"
#include "tuner/verify/verifier.hpp"

using namespace tilesmith;

namespace {

struct Case {
  KernelTarget target;
  Config config;
  Problem problem;
};

/// Rows for one and a half rounds of two tiles each, so that some rows have room for a third. Columns are 16 fewer than two wide tiles'.
Case case_of(const KernelTarget& target, const Config& config, int sm_count) {
  const int clusters = sm_count / config.at("cluster_m"), rows = clusters * 3 / 4, width = config.at("block_n");
  const int m = rows * config.at("block_m") * config.at("cluster_m") - 16, n = 2 * width - 16;
  const EvenTiles tiles(rows, n, width, config.at("group_m"), unsigned(clusters));
  unsigned narrow = 0;
  for (unsigned i = 0; i < tiles.count(); ++i) narrow += tiles.at(i).last - tiles.at(i).first <= width - kEvenStep;
  INFO(config.text());
  REQUIRE((narrow > 0 && narrow < tiles.count()));
  const Problem problem = problem_of(target, m, n, 208);
  REQUIRE(eligible(wgmma_family(), config, problem));
  return {target, config, problem};
}

/// By each persistent schedule, the first guess for a large problem that may deal columns evenly; none where the device has no `wgmma`.
std::vector<Case> cases_of(const KernelTarget& target, int sm_count) {
  std::vector<Case> found;
  if (!wgmma_family().supports(target)) return found;  // f64 nowhere
  for (const int schedule : {1, 2}) {
    INFO(target.type.name << " " << name(target.trans) << ", schedule " << schedule);
    std::vector<Config> guesses = wgmma_family().seeds(target, problem_of(target, 4096, 4096, 4096));
    for (Config& guess : guesses) guess.set("even", 1);
    const auto first = std::find_if(guesses.begin(), guesses.end(), [&](const Config& guess) {
      return guess.at("schedule") == schedule && !illegal_because(wgmma_family(), guess, target);
    });
    REQUIRE(first != guesses.end());
    found.push_back(case_of(target, *first, sm_count));
  }
  return found;
}

}  // namespace

TEST_CASE("tiles of two widths are right side by side for every type pair") {
  const runtime::Context context(0);
  tuner::Verifier verifier(context);
  std::vector<Case> cases;
  std::size_t turn = 0;
  for (const TypePair& type : type_pairs()) {
    const KernelTarget target{type, kAllTransposes[turn++ % 4], context.info().limits};
    for (Case& one : cases_of(target, context.info().limits.sm_count)) cases.push_back(std::move(one));
  }
  if (cases.empty()) WARN("this device has no wgmma: nothing was verified");
  std::vector<std::future<db::KernelBuild>> builds;
  for (const Case& one : cases)
    builds.push_back(std::async(std::launch::async, [&] { return runtime::compile(one.config, one.target); }));
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const db::KernelBuild built = builds[i].get();
    INFO(text(cases[i].problem) << " " << cases[i].config.text() << ": " << built.message);
    REQUIRE_FALSE(built.cubin.empty());
    const auto module = std::make_shared<const runtime::Module>(built.cubin);
    const db::Outcome outcome = verifier.on_problem(runtime::Plan(module, cases[i].config, cases[i].problem));
    INFO(outcome.message);
    CHECK(outcome.status == db::Status::ok);
  }
}

TEST_CASE("a wide tile that is multiplied as a narrow one is caught on the tuned problem") {
  const runtime::Context context(0);
  tuner::Verifier verifier(context);
  const KernelTarget target{*find_type_pair("f16f32"), {}, context.info().limits};
  for (const Case& one : cases_of(target, context.info().limits.sm_count)) {
    const std::string config = one.config.text();
    const planted::Bug bug{"a wide tile is taken for a narrow one",
                           "wgmma",
                           0,
                           "f16f32",
                           {},
                           {{"work.n_end - work.n0 <= kBlockN - kEvenStep", "true"}},
                           config.c_str()};
    const runtime::SourceBuild built = runtime::compile_source(planted::planted_source(bug, target), "planted.cu",
                                                               "gemm", runtime::compiler_options(target));
    INFO(config << ": " << built.log);
    REQUIRE(built.ok);
    const auto module = std::make_shared<const runtime::Module>(built.cubin);
    const db::Outcome outcome = verifier.on_problem(runtime::Plan(module, one.config, one.problem));
    INFO(outcome.message);
    CHECK(outcome.status == db::Status::mismatch);
  }
}
