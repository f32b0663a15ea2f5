// Columns dealt evenly among the tiles of persistent blocks (family `wgmma`), where rows have two tiles or three and
// blocks do more than one: the suite's problems have fewer tiles than there are blocks, and so as many in each row.
#include <algorithm>
#include <future>
#include <memory>
#include <utility>
#include <vector>

#include "kernels/families/family.hpp"
#include "kernels/wgmma/even_tiles.cuh"
#include "runtime/compile/compiler.hpp"
#include "tests/catch.hpp"
#include "tests/gpu/planted_bug.hpp"
#include "tests/kernels/wgmma_configs.hpp"
#include "tuner/verify/verifier.hpp"

namespace tilesmith::test_even_tiles {

namespace {

struct Case {
  KernelTarget target;
  Config config;
  Problem problem;
};

/// Rows for one and a half rounds of two tiles each, so that some rows have room for a third. Columns are 16 fewer than
/// two wide tiles'. (Swapped operands: the other way round.) K ends within a step.
Case case_of(const KernelTarget& target, const Config& config, int sm_count) {
  const bool swap = config.at("swap") == 1;
  const int sharing = config.at("cluster_m") * config.at("cluster_n"), clusters = sm_count / sharing,
            rows = clusters * 3 / 4;
  const int width = config.at(swap ? "block_m" : "block_n");
  const int across = rows * config.at(swap ? "block_n" : "block_m") * sharing - 16, dealt = 2 * width - 16;
  const EvenTiles tiles(rows, dealt, width, config.at("group_m"), unsigned(clusters));
  unsigned narrow = 0;
  for (unsigned i = 0; i < tiles.count(); ++i) narrow += tiles.at(i).last - tiles.at(i).first <= width - kEvenStep;
  INFO(config.text());
  REQUIRE((narrow > 0 && narrow < tiles.count()));
  REQUIRE(tiles.count() > unsigned(clusters));
  const Problem problem = problem_of(target, swap ? dealt : across, swap ? across : dealt, 208);
  REQUIRE(eligible(wgmma_family(), config, problem));
  return {target, config, problem};
}

/// By each persistent schedule, the first guess for a large problem that may deal columns evenly, and the first that
/// may deal rows, where there is one; none where the device has no `wgmma`.
std::vector<Case> cases_of(const KernelTarget& target, int sm_count) {
  std::vector<Case> found;
  if (!wgmma_family().supports(target)) return found;  // f64 nowhere
  if (target.type.a == Scalar::f32x3) return found;    // has no value of `even` but 0
  for (const int swap : {0, 1}) {
    for (const int schedule : {1, 2}) {
      INFO(target.type.name << " " << name(target.trans) << ", schedule " << schedule << ", swap " << swap);
      std::vector<Config> initial_configs =
          wgmma_family().initial_configs(target, problem_of(target, 4096, 4096, 4096));
      for (Config& guess : initial_configs) guess.set("even", 1);
      const auto first = std::find_if(initial_configs.begin(), initial_configs.end(), [&](const Config& guess) {
        return guess.at("schedule") == schedule && guess.at("swap") == swap &&
               !illegal_because(wgmma_family(), guess, target);
      });
      if (first != initial_configs.end()) found.push_back(case_of(target, *first, sm_count));
      REQUIRE((swap == 1 || first != initial_configs.end()));
    }
  }
  return found;
}

/// What the verifier says of the tuned problem where the template has this bug.
db::Outcome with_bug(const runtime::Context& context, const Case& one, const planted::Edit& edit) {
  const std::string config = one.config.text();
  const planted::Bug bug{"", "wgmma", 0, "f16f32", {}, {edit}, config.c_str()};
  const runtime::SourceBuild built = runtime::compile_source(
      planted::planted_source(bug, one.target), "planted.cu", "gemm", runtime::compiler_options(one.target));
  INFO(config << ": " << built.log);
  REQUIRE(built.ok);
  const auto module = std::make_shared<const runtime::Module>(built.cubin);
  return tuner::Verifier(context).on_problem(runtime::Plan(module, one.config, one.problem));
}

}  // namespace

TEST_CASE("tiles of two widths are right side by side for every type pair") {
  const runtime::Context context(0);
  tuner::Verifier verifier(context);
  std::vector<Case> cases;
  std::size_t turn = 0;
  for (const TypePair& type : type_pairs()) {
    const KernelTarget target{{type, kAllTransposes[turn++ % 4]}, context.info().limits};
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
  const KernelTarget target{{*find_type_pair("f16f32"), {}}, context.info().limits};
  for (const Case& one : cases_of(target, context.info().limits.sm_count)) {
    const db::Outcome outcome =
        with_bug(context, one, {"work.end - (kSwap ? work.m0 : work.n0) <= kRightExtent - kEvenStep", "true"});
    INFO(one.config.text() << ": " << outcome.message);
    CHECK(outcome.status == db::Status::mismatch);
  }
}

TEST_CASE("a round that goes backwards along K and leaves out a step is caught on the tuned problem") {
  const runtime::Context context(0);
  const KernelTarget target{{*find_type_pair("f16f32"), {}}, context.info().limits};
  for (const Case& one : cases_of(target, context.info().limits.sm_count)) {
    const db::Outcome outcome = with_bug(context, one, {"step_k < 0 ? -step_k : step_k", "step_k"});
    INFO(one.config.text() << ": " << outcome.message);
    CHECK(outcome.status == db::Status::mismatch);
  }
}

}  // namespace tilesmith::test_even_tiles
