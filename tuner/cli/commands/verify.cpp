// tilesmith verify: proves kernels of whole families on the GPU and times none.
#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <tuple>

#include "db/files/bundle.hpp"
#include "runtime/compile/compiler.hpp"
#include "tuner/cli/commands/command.hpp"
#include "tuner/cli/output/logging.hpp"
#include "tuner/cli/options/options.hpp"
#include "tuner/cli/output/signals.hpp"
#include "tuner/cli/output/table.hpp"
#include "tuner/cli/options/target.hpp"
#include "tuner/cli/output/terminal.hpp"
#include "tuner/figures.hpp"
#include "tuner/search/sample.hpp"
#include "tuner/warm_start/initial_configs.hpp"
#include "tuner/workers/verify_all.hpp"

namespace tilesmith::tuner {
namespace {

struct VerifyCommandOptions {
  ProblemOptions problems;
  std::vector<std::string> families;
  std::string bundle;
  std::int64_t max_configs = 8;
  bool spread = false;
  bool all = false;
  bool brief = false;
  std::uint64_t seed = 1;
  int device = 0;
  std::string as;
  int compile_jobs = 0;
  LogOptions log;
};

/// One line of the table: family, type pair, transposes.
using GroupKey = std::tuple<std::string, std::string, std::string>;
struct GroupCounts {
  std::size_t asked = 0, ok = 0, not_built = 0, failed = 0;
};
using Groups = std::map<GroupKey, GroupCounts>;

GroupKey group_of(const CompileJob& job) {
  return {job.config.family(), std::string(job.target.type.name), std::string(name(job.target.trans)) + options_text(job.target)};
}

std::vector<KernelTarget> targets_of(const Workload& workload, const DeviceLimits& limits) {
  std::vector<KernelTarget> targets;
  std::set<std::string> seen;
  for (const WeightedProblem& one : workload.problems) {
    const KernelTarget target{one.problem, limits};
    if (seen.insert(text(target.signature())).second) targets.push_back(target);
  }
  return targets;
}

std::vector<CompileJob> jobs_of(const VerifyCommandOptions& options, const std::vector<KernelTarget>& targets,
                                Groups& groups) {
  const std::vector<const Family*> families = families_named(parse_families(options.families));
  require_support(families, targets);
  std::vector<CompileJob> jobs;
  for (const KernelTarget& target : targets) {
    for (const Family* family : families) {
      if (!family->supports(target)) continue;
      const Space space = enumerate_space(*family, target);
      const std::size_t most = options.all ? space.configs.size() : std::size_t(options.max_configs);
      const std::vector<Config> first = options.spread ? std::vector<Config>{} : first_choices(*family, target);
      for (const Config& config : spread_sample(space, first, most, options.seed)) {
        jobs.push_back({config, target});
        ++groups[group_of(jobs.back())].asked;
      }
    }
  }
  return jobs;
}

/// The kernels of a bundle, compiled anew for the device or for --as: a cubin of another architecture does not load.
std::vector<CompileJob> jobs_of_bundle(const db::Bundle& bundle, const std::string& path, const DeviceLimits& limits, Groups& groups) {
  std::vector<CompileJob> jobs;
  for (const db::KernelBuild& build : bundle.builds) {
    if (const auto made_for = limits_for_arch(build.key.arch); !made_for || made_for->sm != limits.sm)
      throw UsageError(fmt::format("--bundle {}: its kernels are for {}; expected sm_{} (see --as)", path, build.key.arch, limits.sm));
    jobs.push_back({build.key.config, {build.key.signature, limits}});
    ++groups[group_of(jobs.back())].asked;
  }
  return jobs;
}

/// A kernel that the compiler refuses or that spills is no wrong one: the tuner does not run it either.
void count(const db::Outcome& outcome, GroupCounts& counts) {
  if (outcome.status == db::Status::ok)
    ++counts.ok;
  else if (outcome.status == db::Status::compile_failed || outcome.status == db::Status::spilled)
    ++counts.not_built;
  else
    ++counts.failed;
}

void print_table(const Groups& groups) {
  using Align = TextTable::Align;
  TextTable table({{"family"},
                   {"type"},
                   {"op"},
                   {"asked", Align::right},
                   {"right", Align::right},
                   {"not built", Align::right},
                   {"failed", Align::right}});
  for (const auto& [key, counts] : groups) {
    const auto& [family, type, trans] = key;
    table.add({family, type, trans, std::to_string(counts.asked), std::to_string(counts.ok),
               std::to_string(counts.not_built), std::to_string(counts.failed)});
  }
  fmt::print("{}", table.text(stdout_width()));
}

/// Fields without a shape are of one that every signature can have.
ProblemOptions with_some_shape(ProblemOptions problems) {
  if (!problems.with.empty() && problems.shapes.empty() && problems.workloads.empty()) problems.shapes = {"1024"};
  return problems;
}

int run_verify(const VerifyCommandOptions& options) {
  const bool of_bundle = !options.bundle.empty();
  const ProblemOptions& asked = options.problems;
  if (of_bundle && !(asked.types.empty() && asked.trans.empty() && asked.shapes.empty() && asked.with.empty() && asked.workloads.empty()))
    throw UsageError("--bundle: its kernels say for which type pairs and transposes; expected no problems beside it");
  const db::Bundle bundle = of_bundle ? db::load_bundle(options.bundle) : db::Bundle{};
  const Workload workload = of_bundle ? Workload{} : select_problems(with_some_shape(options.problems));
  if (!options.as.empty()) require_arch(options.as, "--as");
  parse_families(options.families);
  const auto info = require_device_as(
      require_device(options.device, "verify runs kernels, and so needs one; `tilesmith compile` needs none"),
      options.as);
  if (const std::string missing = runtime::nvrtc_unfit_because(info.limits); !missing.empty()) throw UsageError(missing);
  Groups groups;
  const std::vector<CompileJob> jobs =
      of_bundle ? jobs_of_bundle(bundle, options.bundle, info.limits, groups) : jobs_of(options, targets_of(workload, info.limits), groups);
  apply_log_options(options.log);
  StopOnSignal signals;
  spdlog::info("verifying {} on {}", count_of(jobs.size(), "kernel"), short_name(info.identity));

  const auto began = std::chrono::steady_clock::now();
  const runtime::Context context(options.device, options.as);
  GroupCounts sum;
  std::size_t done = 0;
  const auto note = [&](const CompileJob& job, const db::Outcome& outcome) {
    count(outcome, groups.at(group_of(job)));
    count(outcome, sum);
    Screen::instance().set_status({fmt::format("verified {}/{}, {} failed", ++done, jobs.size(), sum.failed)});
    if (outcome.status != db::Status::ok) {
      spdlog::warn("{} {} {}: {}: {}", job.target.type.name, name(job.target.trans), job.config.text(),
                   db::name(outcome.status), outcome.message);
    }
  };
  std::size_t next = 0;
  const auto next_job = [&] { return next < jobs.size() ? std::optional(jobs[next++]) : std::nullopt; };
  verify_all(context, next_job, options.compile_jobs, note, signals.stop(), {},
             options.brief ? Suite::each_shape_once : Suite::whole);
  Screen::instance().clear_status();

  print_table(groups);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
  fmt::print("{}: {} right, {} not built, {} failed, in {}{}\n", short_name(info.identity), sum.ok, sum.not_built,
             sum.failed, format_seconds(took.count()), signals.stop() ? " (interrupted)" : "");
  std::fflush(stdout);
  if (signals.exit_status() != 0) return signals.exit_status();
  return sum.failed == 0 && sum.ok > 0 ? kExitOk : kExitInternal;
}

}  // namespace

Command add_verify(CLI::App& program) {
  CLI::App* app = program.add_subcommand("verify", "Prove kernels right on a GPU, without timing them");
  const auto options = std::make_shared<VerifyCommandOptions>();
  add_problem_options(*app, options->problems);
  CLI::Option* family = app->add_option("--family", options->families, "Kernel families, comma-separated or repeated; default: all")
                            ->type_name("NAME,..")
                            ->group("Kernels");
  CLI::Option* bundle = app->add_option("--bundle", options->bundle,
                                        "The configs of all kernels in this bundle (see `tilesmith export`) instead of a sample; they are compiled anew")
                            ->type_name("FILE")
                            ->group("Kernels");
  CLI::Option* most =
      app->add_option("--max-configs", options->max_configs,
                      "Most configs for each family, type pair and transposes: named and seed configs first, "
                      "then a sample that covers the space")
          ->type_name("N")
          ->capture_default_str()
          ->check(CLI::Range(std::int64_t{1}, kMostCount).description(""))
          ->group("Kernels");
  CLI::Option* spread = app->add_flag("--spread", options->spread,
                                      "No named and seed configs: a sample that has every value of every parameter as soon as it can")
                            ->group("Kernels");
  CLI::Option* all = app->add_flag("--all", options->all, "Every legal config (see `tilesmith space` for how many)")
                         ->excludes(most)
                         ->group("Kernels");
  bundle->excludes(family)->excludes(most)->excludes(spread)->excludes(all);
  add_seed_option(*app, options->seed, "Seed of the sample: same seed, same configs")->group("Kernels");
  app->add_flag("--brief", options->brief,
                "Of the suite every shape once, by exact sums: half of its launches or fewer, for tools under which each "
                "takes long (compute-sanitizer)")
      ->group("Kernels");
  app->add_option("--device", options->device, "Ordinal of the GPU (see `tilesmith devices`)")
      ->type_name("N")
      ->capture_default_str()
      ->check(CLI::Range(0, 1024).description(""))
      ->group("Device");
  add_as_option(*app, options->as)->group("Device");
  add_compile_jobs_option(*app, options->compile_jobs,
                          "one a core but one; where the GPU shares the memory (Jetson), one for two cores, and half of the memory")->group("Device");
  add_log_options(*app, options->log);
  app->footer(
      "Of the problems only type pairs, transposes and what kernels are made for of --with matter, which needs no --shape here: each "
      "kernel must pass\nthe suite of small awkward problems that "
      "`tilesmith tune` begins with, or with --brief a part of it. Nothing is stored. Exit status 0 only if some kernel was "
      "run\nand none failed.\n"
      "\nExamples:\n"
      "  tilesmith verify --as sm_87 --workload acceptance\n"
      "  tilesmith verify --as sm_87 --bundle any-orin.tsb\n"
      "  tilesmith verify --family mma --type s8s32 --trans all --with sparsity=a_2to4\n"
      "  tilesmith verify --family wmma --type f16f32 --trans NN --shape 64 --all");
  return {app, [options] { return run_verify(*options); }};
}

}  // namespace tilesmith::tuner
