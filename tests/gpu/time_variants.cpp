// time_variants FILE [--cubins FOLDER]
//
// Times kernels whose text was altered beside those of the tree, for whoever looks for what a kernel waits for. A line of
// FILE names one; kernels up to an empty line are timed in turns, on one set of operands:
//
//   label | folder | problem | config
//
// Files of the tree's kernels that are in the folder (kernels/wgmma/copy.cuh, ...) take the place of those; - means the
// tree's own text. Registers, spills and whether wgmma products wait for each other are printed first, which needs no
// GPU. Then the time is printed, measured as `bench` does, and what the suite says of the kernel. Configs that break a rule
// are timed too, and named. --cubins keeps what was compiled.
#include <fmt/format.h>

#include <cstdlib>
#include <fstream>
#include <iostream>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "kernels/base/on_all_cores.hpp"
#include "runtime/compile/compiler.hpp"
#include "runtime/plan/plan.hpp"
#include "tests/gpu/planted_bug.hpp"
#include "tuner/measure/operand_sets.hpp"
#include "tuner/measure/stopwatch.hpp"
#include "tuner/verify/verifier.hpp"

namespace tilesmith {
namespace {

[[noreturn]] void fail(const std::string& why) {
  std::cerr << "time_variants: " << why << '\n';
  std::exit(1);
}

struct Variant {
  std::string label, folder;
  Problem problem;
  Config config;
  runtime::SourceBuild build;
  std::string verdict;
};

std::vector<std::vector<Variant>> read(const char* path) {
  std::ifstream file(path);
  if (!file) fail(std::string(path) + ": cannot be read");
  std::vector<std::vector<Variant>> groups(1);
  for (std::string line; std::getline(file, line);) {
    if (line.empty()) groups.emplace_back();
    if (line.empty() || line[0] == '#') continue;
    std::stringstream fields(line);
    std::string text[4], error;
    for (std::string& field : text) {
      std::getline(fields, field, '|');
      field.erase(0, field.find_first_not_of(' '));
      field.erase(field.find_last_not_of(' ') + 1);
    }
    const std::optional<Problem> problem = parse_problem(text[2], error);
    const std::optional<Config> config = Config::parse(text[3]);
    if (!problem || !config) fail(line + ": expected label | folder | problem | config");
    if (!groups.back().empty() && groups.back().front().problem != *problem)
      fail(line + ": expected the problem of the line before, or an empty line between");
    groups.back().push_back({text[0], text[1] == "-" ? "" : text[1], *problem, *config, {}, {}});
  }
  std::erase_if(groups, [](const auto& group) { return group.empty(); });
  return groups;
}

void build(Variant& variant, const DeviceLimits& limits) {
  const KernelTarget target{variant.problem, limits};
  const Family* const family = find_family(variant.config.family());
  if (family == nullptr) fail(variant.label + ": there is no family " + std::string(variant.config.family()));
  if (const auto why = illegal_because(*family, variant.config, target)) variant.verdict = "illegal: " + *why + "; ";
  std::vector<std::string> seen;
  variant.build =
      runtime::compile_source(planted::spliced(family->source(variant.config, target), seen, variant.folder),
          variant.label, "gemm", runtime::compiler_options(target));
}

void time_group(std::vector<Variant>& group, const runtime::Context& context, tuner::Verifier& verifier,
    tuner::RandomFill& random, tuner::Stopwatch& stopwatch) {
  const Problem& problem = group.front().problem;
  const tuner::OperandSets operands(random, problem);
  std::vector<const Variant*> timed;
  std::vector<std::unique_ptr<runtime::Plan>> plans;
  std::vector<runtime::DeviceBuffer> workspaces;
  std::vector<tuner::Competitor> competitors;
  for (Variant& variant : group) {
    if (!variant.build.ok) continue;
    const auto module = std::make_shared<const runtime::Module>(variant.build.cubin);
    const KernelTarget target{problem, context.info().limits};
    const db::Outcome outcome = verifier.suite(module, variant.config, target, tuner::Suite::each_shape_once);
    variant.verdict += std::string(db::name(outcome.status)) + " " + outcome.message;
    plans.push_back(std::make_unique<runtime::Plan>(module, variant.config, problem));
    workspaces.emplace_back(std::max<std::size_t>(256, plans.back()->workspace_bytes()));
    competitors.push_back(tuner::Stopwatch::competitor(*plans.back(), operands, workspaces.back().data()));
    timed.push_back(&variant);
  }
  if (timed.empty()) return;
  const std::vector<db::Outcome> outcomes = stopwatch.final_benchmark(competitors, operands.rotation());
  for (std::size_t i = 0; i < timed.size(); ++i) {
    const std::string us = outcomes[i].timing ? fmt::format("{:.2f} us", outcomes[i].timing->median_us) : "-";
    fmt::print("{:30} {:>12}  {}\n", timed[i]->label, us, timed[i]->verdict);
  }
  fmt::print("\n");
}

int run(int argc, char** argv) {
  if (argc != 2 && (argc != 4 || std::string(argv[2]) != "--cubins")) fail("expected FILE [--cubins FOLDER]");
  std::vector<std::vector<Variant>> groups = read(argv[1]);
  std::vector<Variant*> all;
  for (auto& group : groups) {
    for (Variant& variant : group) all.push_back(&variant);
  }
  const bool there = runtime::device_unavailable_because().empty();
  const DeviceLimits limits = there ? runtime::device_info(0).limits : limits_for_arch("sm_90a").value();
  on_all_cores(all.size(), [&](std::size_t i) { build(*all[i], limits); });
  for (const Variant* variant : all) {
    const runtime::SourceBuild& built = variant->build;
    fmt::print("{:30} {}, {} registers, {} bytes spilled{}\n", variant->label, built.ok ? "compiled" : built.log,
        built.registers, built.spill_bytes,
        built.log.find("(C751") != std::string::npos ? ", its products wait for each other" : "");
    if (argc == 4)
      std::ofstream(std::string(argv[3]) + "/" + variant->label + ".cubin", std::ios::binary)
          .write(reinterpret_cast<const char*>(built.cubin.data()), std::streamsize(built.cubin.size()));
  }
  if (!there) return 0;
  const runtime::Context context(0);
  tuner::Verifier verifier{context};
  tuner::RandomFill random(context);
  tuner::Stopwatch stopwatch(context);
  for (auto& group : groups) time_group(group, context, verifier, random, stopwatch);
  return 0;
}

}  // namespace
}  // namespace tilesmith

int main(int argc, char** argv) { return tilesmith::run(argc, argv); }
