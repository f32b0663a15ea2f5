// tilesmith compile: everything up to the cubin, with no GPU: a fast host prepares what a slow device then only times.
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>

#include "runtime/compiler.hpp"
#include "tuner/commands/command.hpp"
#include "tuner/commands/figures.hpp"
#include "tuner/commands/logging.hpp"
#include "tuner/commands/options.hpp"
#include "tuner/commands/progress.hpp"
#include "tuner/commands/sample.hpp"
#include "tuner/commands/signals.hpp"
#include "tuner/commands/table.hpp"
#include "tuner/commands/target.hpp"
#include "tuner/commands/terminal.hpp"
#include "tuner/device_evaluator.hpp"

namespace tilesmith::tuner {
namespace {

struct CompileCommandOptions {
  ProblemOptions problems;
  std::vector<std::string> archs;
  std::vector<std::string> families;
  std::int64_t max_configs = 32;
  bool all = false;
  std::uint64_t seed = 1;
  std::string db;
  int compile_jobs = 0;
  LogOptions log;
};

/// One line of the table at the end.
struct GroupKey {
  std::string arch, family, type, trans;
  auto operator<=>(const GroupKey&) const = default;
};
struct GroupCounts {
  std::size_t asked = 0, ok = 0, spilled = 0, failed = 0, reused = 0;
};

std::vector<KernelTarget> targets_of(const CompileCommandOptions& options, const Workload& workload) {
  std::vector<std::string> archs = split_commas(options.archs);
  if (archs.empty()) {
    const auto here = runtime::list_devices();
    if (here.empty()) {
      throw UsageError(fmt::format("--arch: expected one of {} (there is no GPU here to take it from)", supported_archs()));
    }
    archs.push_back(here.front().limits.arch);
  }
  std::vector<KernelTarget> targets;
  std::set<std::string> seen;
  for (const std::string& arch : archs) {
    const DeviceLimits limits = require_arch(arch);
    for (const WeightedProblem& one : workload.problems) {
      if (seen.insert(fmt::format("{} {} {}", arch, one.problem.type.name, name(one.problem.trans))).second) {
        targets.push_back({one.problem.type, one.problem.trans, limits});
      }
    }
  }
  return targets;
}

std::vector<CompileJob> jobs_of(const CompileCommandOptions& options, const Workload& workload,
                                std::map<GroupKey, GroupCounts>& groups) {
  const std::vector<std::string> names = parse_families(options.families);
  std::vector<CompileJob> jobs;
  for (const KernelTarget& target : targets_of(options, workload)) {
    for (const auto& family : families()) {
      const bool wanted = names.empty() || std::find(names.begin(), names.end(), family->name()) != names.end();
      if (!wanted || !family->supports(target)) continue;
      const Space space = enumerate_space(*family, target);
      const std::size_t most = options.all ? space.configs.size() : std::size_t(options.max_configs);
      const std::vector<Config> configs = spread_sample(space, first_choices(*family, target), most, options.seed);
      groups[{target.limits.arch, std::string(family->name()), std::string(target.type.name),
              std::string(name(target.trans))}].asked = configs.size();
      for (const Config& config : configs) jobs.push_back({config, target});
    }
  }
  if (jobs.empty()) throw UsageError("--family: none of the families has a kernel for these type pairs on this architecture");
  return jobs;
}

void count(const db::KernelBuild& build, bool reused, std::map<GroupKey, GroupCounts>& groups) {
  GroupCounts& counts = groups[{build.key.arch, build.key.config.family(), std::string(build.key.type.name),
                                std::string(name(build.key.trans))}];
  if (reused) ++counts.reused;
  if (build.status == db::Status::ok) ++counts.ok;
  else if (build.status == db::Status::spilled) ++counts.spilled;
  else ++counts.failed;
}

void print_table(const std::map<GroupKey, GroupCounts>& groups) {
  using Align = TextTable::Align;
  TextTable table({{"arch"}, {"family"}, {"type"}, {"op"}, {"asked", Align::right}, {"ok", Align::right},
                   {"spilled", Align::right}, {"failed", Align::right}, {"kept from before", Align::right}});
  for (const auto& [key, counts] : groups) {
    table.add({key.arch, key.family, key.type, key.trans, std::to_string(counts.asked), std::to_string(counts.ok),
               std::to_string(counts.spilled), std::to_string(counts.failed), std::to_string(counts.reused)});
  }
  fmt::print("{}", table.text(stdout_width()));
}

int run_compile(const CompileCommandOptions& options) {
  const Workload workload = select_problems(options.problems);
  std::map<GroupKey, GroupCounts> groups;
  const std::vector<CompileJob> jobs = jobs_of(options, workload, groups);
  const std::string missing = runtime::nvrtc_unavailable_because();
  if (!missing.empty()) throw UsageError(missing);
  apply_log_options(options.log);
  StopOnSignal signals;
  db::Store store = db::Store::open(database_path_for_writing(options.db));
  spdlog::info("compiling {} for workload {} with NVRTC {}; kept in {}", count_of(jobs.size(), "kernel"), workload.name,
               runtime::nvrtc_version(), store.path().string());

  CompileProgress progress(jobs.size());
  const auto on_done = [&](const db::KernelBuild& build, bool reused) {
    count(build, reused, groups);
    progress.update(build, reused);
  };
  const std::size_t compiled = compile_all(store, jobs, options.compile_jobs, on_done, signals.stop());
  Screen::instance().clear_status();
  print_table(groups);
  fmt::print("\n{} compiled in {:.1f} s{}\n", count_of(compiled, "kernel"), progress.seconds(),
             signals.stop() ? " (interrupted: start again to go on)" : "");
  std::fflush(stdout);
  return signals.exit_status();
}

}  // namespace

Command add_compile(CLI::App& program) {
  CLI::App* app = program.add_subcommand("compile", "Compile candidates for an architecture; needs no GPU");
  const auto options = std::make_shared<CompileCommandOptions>();
  add_problem_options(*app, options->problems);
  app->add_option("--arch", options->archs,
                  fmt::format("Architectures, comma-separated or repeated: {}; default: that of the GPU here", supported_archs()))
      ->type_name("ARCH,..")->group("Kernels");
  app->add_option("--family", options->families, "Kernel families, comma-separated or repeated; default: all")
      ->type_name("NAME,..")->group("Kernels");
  CLI::Option* most = app->add_option("--max-configs", options->max_configs,
                                      "Most configs for each family, type pair, transposes and architecture: named and seed "
                                      "configs first, then an even sample of the space")
                          ->type_name("N")->capture_default_str()->check(CLI::Range(std::int64_t{1}, kMostCount).description(""))->group("Kernels");
  app->add_flag("--all", options->all, "Every legal config (see `tilesmith space` for how many)")->excludes(most)->group("Kernels");
  app->add_option("--seed", options->seed, "Seed of the sample: same seed, same configs")
      ->type_name("N")->capture_default_str()->group("Kernels");
  app->add_option("--compile-jobs", options->compile_jobs, "Compiling processes; 0: one a core")
      ->type_name("N")->capture_default_str()->check(CLI::Range(0, 1024).description(""));
  add_database_option(*app, options->db);
  add_log_options(*app, options->log);
  app->footer(
      "Of the problems only type pairs and transposes matter: a compiled kernel serves every shape it is legal for. Kernels\n"
      "whose registers spill are kept as rejected. Kernels already in the database are not compiled again, so an interrupted\n"
      "run goes on where it stopped. Take the database to the device and run `tilesmith tune --db FILE` there.\n"
      "\nExamples:\n"
      "  tilesmith compile --arch sm_87 --workload orin-perception --db orin.db\n"
      "  tilesmith compile --arch sm_90a --type f16f32 --trans NN --family wmma --all --db tuned.db");
  return {app, [options] { return run_compile(*options); }};
}

}  // namespace tilesmith::tuner
