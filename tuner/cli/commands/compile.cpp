// tilesmith compile: everything up to the cubin, with no GPU: a fast host prepares what a slow device then only times.
#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "runtime/compile/compiler.hpp"
#include "tuner/cli/commands/command.hpp"
#include "tuner/cli/output/logging.hpp"
#include "tuner/cli/options/options.hpp"
#include "tuner/cli/output/progress.hpp"
#include "tuner/search/sample.hpp"
#include "tuner/cli/output/signals.hpp"
#include "tuner/cli/output/table.hpp"
#include "tuner/cli/options/target.hpp"
#include "tuner/cli/output/terminal.hpp"
#include "tuner/figures.hpp"
#include "tuner/warm_start/finalists.hpp"
#include "tuner/warm_start/initial_configs.hpp"
#include "tuner/measure/timing_policy.hpp"
#include "tuner/loop/tune.hpp"
#include "tuner/workers/compile_all.hpp"

namespace tilesmith::tuner {
namespace {

struct CompileCommandOptions {
  ProblemOptions problems;
  std::vector<std::string> archs;
  std::vector<std::string> families;
  std::int64_t max_configs = 32;
  std::int64_t first = 0;  // initial configs of each problem; 0: a sample of the space instead
  std::string device;      // whose initial configs; empty: chosen by what the database holds
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

/// What was asked for, checked before anything is written.
struct Asked {
  Workload workload;
  std::vector<DeviceLimits> archs;
  std::vector<const Family*> families;
  std::vector<KernelTarget> targets;  // of all problems on all architectures, each once
  bool shapes_matter = true;          // false: --type and --trans alone were given, and the problems stand for any of them
};

/// The device of the database that --device names; none if nothing is named.
std::optional<TargetDevice> named_device(const CompileCommandOptions& options) {
  if (options.device.empty()) return std::nullopt;
  const db::Store store = db::Store::open_read_only(database_path(options.db));
  TargetDevice device = require_stored_device(store, options.device);
  if (const std::string arch = db::ran_as(device.identity); !arch.empty()) {
    throw UsageError(fmt::format("--device '{}': ran the code of {} to prove it; expected a device that ran its own code",
                                 options.device, arch));
  }
  return device;
}

Asked checked(const CompileCommandOptions& options, const std::optional<TargetDevice>& device) {
  Asked asked;
  const ProblemOptions& given = options.problems;
  asked.workload = select_problems(given);
  asked.shapes_matter = !given.shapes.empty() || !given.workloads.empty() || (given.types.empty() && given.trans.empty());
  std::vector<std::string> archs = split_commas(options.archs);
  if (device && archs.empty()) archs.push_back(device->limits.arch);
  if (device && std::find(archs.begin(), archs.end(), device->limits.arch) == archs.end()) {
    throw UsageError(fmt::format("--device '{}': {} is of {}; expected that among --arch, or no --arch", options.device,
                                 short_name(device->identity), device->limits.arch));
  }
  if (archs.empty()) {
    const auto here = first_supported();
    if (!here) {
      throw UsageError(fmt::format("--arch: expected one of {} (there is no GPU here to take it from)", supported_archs()));
    }
    archs.push_back(here->limits.arch);
  }
  std::set<std::string> seen;
  for (const std::string& arch : archs) {
    if (!seen.insert(arch).second) continue;
    const DeviceLimits limits = require_arch(arch);
    asked.archs.push_back(limits);
    for (const WeightedProblem& one : asked.workload.problems) {
      if (seen.insert(fmt::format("{} {}", arch, text(one.problem.signature()))).second) {
        asked.targets.push_back({one.problem, limits});
      }
    }
  }
  asked.families = families_named(parse_families(options.families));
  require_support(asked.families, asked.targets);
  return asked;
}

GroupKey group_of(const Config& config, const KernelTarget& target) {
  return {target.limits.arch, config.family(), std::string(target.type.name), std::string(name(target.trans)) + options_text(target)};
}

/// A sample of each family's space for each target, or all of it, in turn: a run that is interrupted has something of each.
std::vector<CompileJob> sampled(const CompileCommandOptions& options, const Asked& asked, const std::atomic<bool>& stop) {
  std::vector<std::vector<CompileJob>> lists;
  CountProgress progress("spaces to choose from");
  std::size_t done = 0;
  for (const KernelTarget& target : asked.targets) {
    std::vector<Problem> problems;
    for (const WeightedProblem& one : asked.workload.problems) {
      if (one.problem.signature() == target.signature()) problems.push_back(one.problem);
    }
    for (const Family* family : asked.families) {
      progress.update(done++, asked.targets.size() * asked.families.size());
      if (stop || !family->supports(target)) continue;
      Space space = enumerate_space(*family, target);
      if (asked.shapes_matter) keep_serving(space, *family, problems);
      std::vector<CompileJob>& jobs = lists.emplace_back();
      const std::size_t most = options.all ? space.configs.size() : std::size_t(options.max_configs);
      for (const Config& config : spread_sample(space, first_choices(*family, target), most, options.seed)) {
        jobs.push_back({config, target});
      }
    }
  }
  std::vector<CompileJob> all = in_turns(lists);
  if (all.empty() && !stop) throw UsageError("--family: all configs of the families refuse every one of these problems; expected others");
  return all;
}

/// The latest entry about this device.
std::optional<db::Record> latest_about(const db::DeviceIdentity& device, const db::Store& store) {
  db::RecordFilter filter;
  filter.device_exactly = device;
  filter.limit = 1;
  std::vector<db::Record> entries = store.records(filter);
  if (entries.empty()) return std::nullopt;
  return std::move(entries.front());
}

/// The latest entry about the named device, or, where none is named, about any of this architecture that ran its own code.
std::optional<db::Record> latest_of(const DeviceLimits& arch, const std::optional<TargetDevice>& named, const db::Store& store) {
  if (named && named->limits.arch == arch.arch) return latest_about(named->identity, store);
  std::optional<db::Record> latest;
  for (const db::DeviceIdentity& device : store.devices()) {
    const auto limits = limits_for_sm(device.sm);
    if (!db::ran_as(device).empty() || !limits || limits->arch != arch.arch) continue;
    auto entry = latest_about(device, store);
    if (entry && (!latest || db::is_later(*entry, *latest))) latest = std::move(entry);
  }
  return latest;
}

/// The device that the initial configs are for, and what a tuner on it would be as an environment; where the database knows none, the
/// architecture's best-known device.
InitialConfigsFor initial_configs_for(const Asked& asked, const DeviceLimits& arch, const std::optional<TargetDevice>& named,
                         const db::Store& store) {
  InitialConfigsFor whom{asked.families, {}, arch, {}, {}};
  db::Environment environment;
  environment.compiler_options = runtime::compiler_options_text({{type_pairs().front(), {}}, arch});
  environment.nvrtc_version = runtime::nvrtc_version();
  environment.measuring_policy = kMeasuringPolicy;
  const std::optional<db::Record> latest = latest_of(arch, named, store);
  if (latest) {
    const db::DeviceIdentity& device = latest->device;
    environment.driver_version = latest->environment.driver_version;
    whom.device = device;
    if (device.sm_count > 0) whom.limits.sm_count = device.sm_count;
    if (device.smem_per_sm_bytes > 0) whom.limits.smem_per_sm_bytes = device.smem_per_sm_bytes;
  }
  whom.environment = [environment](const std::string&) { return environment; };
  spdlog::info("{}: what would be tried first on {}", arch.arch,
               latest ? short_name(whom.device)
                      : fmt::format("a device with {} SMs; the database has records of none", whom.limits.sm_count));
  return whom;
}

/// What a tuner would guess for each problem, and play off of what is known of it, each kernel once.
std::vector<CompileJob> for_first_turns(const CompileCommandOptions& options, const Asked& asked,
                                        const std::optional<TargetDevice>& named, const db::Store& store,
                                        const std::atomic<bool>& stop) {
  std::vector<CompileJob> jobs;
  std::set<std::string> seen;
  CountProgress progress("problems to guess for");
  std::size_t done = 0;
  for (const DeviceLimits& arch : asked.archs) {
    InitialConfigSource source(initial_configs_for(asked, arch, named, store), store);
    for (const WeightedProblem& one : asked.workload.problems) {
      const Problem& problem = one.problem;
      if (stop) return jobs;
      progress.update(done++, asked.archs.size() * asked.workload.problems.size());
      if (problem.m < 1 || problem.n < 1 || problem.k < 1 || problem.batch < 1) continue;
      const InitialConfigs initial_configs = source.of(problem, std::size_t(options.first));
      std::vector<Config> configs = initial_configs.to_try;
      for (Config& config : known_finalists(initial_configs.known, std::size_t(TuneOptions{}.finalists))) configs.push_back(std::move(config));
      for (const Config& config : configs) {
        if (seen.insert(fmt::format("{} {} {}", arch.arch, text(problem.signature()), config.text())).second) {
          jobs.push_back({config, {problem, arch}});
        }
      }
    }
  }
  return jobs;
}

void count(const db::KernelBuild& build, bool reused, std::map<GroupKey, GroupCounts>& groups) {
  GroupCounts& counts = groups[{build.key.arch, build.key.config.family(), std::string(build.key.signature.type.name),
                                std::string(name(build.key.signature.trans)) + options_text(build.key.signature)}];
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
  const std::optional<TargetDevice> device = named_device(options);
  const Asked asked = checked(options, device);
  const std::string missing = runtime::nvrtc_unavailable_because();
  if (!missing.empty()) throw UsageError(missing);
  for (const DeviceLimits& arch : asked.archs) {
    if (const std::string reason = runtime::nvrtc_too_old_because(arch); !reason.empty())
      throw UsageError("--arch: " + reason);
  }
  apply_log_options(options.log);
  StopOnSignal signals;
  spdlog::info("choosing kernels for {} of workload {}", count_of(asked.workload.problems.size(), "problem"), asked.workload.name);
  std::vector<CompileJob> jobs;
  if (options.first == 0) jobs = sampled(options, asked, signals.stop());  // before a database is made: it may refuse
  db::Store store = db::Store::open(database_path_for_writing(options.db));
  if (options.first > 0) jobs = for_first_turns(options, asked, device, store, signals.stop());
  if (signals.stop()) {
    spdlog::info("interrupted while choosing: nothing was compiled");
    return signals.exit_status();
  }
  std::map<GroupKey, GroupCounts> groups;
  for (const CompileJob& job : jobs) ++groups[group_of(job.config, job.target)].asked;
  spdlog::info("compiling {} for workload {} with NVRTC {}; kept in {}", count_of(jobs.size(), "kernel"), asked.workload.name,
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
  if (signals.exit_status() == 0 && progress.failed_all()) {
    throw UsageError(fmt::format("none of {} kernels compiled; all errors: tilesmith query --db {} --sql \"SELECT message FROM builds WHERE status = 'compile_failed'\"",
                                 jobs.size(), store.path().string()));
  }
  return signals.exit_status();
}

}  // namespace

Command add_compile(CLI::App& program) {
  CLI::App* app = program.add_subcommand("compile", "Compile candidates for an architecture; needs no GPU");
  const auto options = std::make_shared<CompileCommandOptions>();
  add_problem_options(*app, options->problems);
  app->add_option("--arch", options->archs,
                  fmt::format("Architectures, comma-separated or repeated: {}; default: that of --device, else of the GPU here",
                              supported_archs()))
      ->type_name("ARCH,..")->group("Kernels");
  app->add_option("--family", options->families, "Kernel families, comma-separated or repeated; default: all")
      ->type_name("NAME,..")->group("Kernels");
  CLI::Option* most = app->add_option("--max-configs", options->max_configs,
                                      "Most configs for each family, type pair, transposes and architecture: named and seed "
                                      "configs first, then an even sample of the space")
                          ->type_name("N")->capture_default_str()->check(CLI::Range(std::int64_t{1}, kMostCount).description(""))->group("Kernels");
  CLI::Option* all = app->add_flag("--all", options->all, "Every legal config (see `tilesmith space` for how many)")
                         ->excludes(most)->group("Kernels");
  CLI::Option* first = app->add_option("--first", options->first,
                  "Instead, the first N initial configs that `tune` would have for each problem, going by the records in the database, and "
                  "the fastest that are known of the problem, which it would play off")
      ->type_name("N")->check(CLI::Range(std::int64_t{1}, kMostCount).description(""))->excludes(most)->excludes(all)->group("Kernels");
  app->add_option("--device", options->device,
                  "InitialConfigs for the device of the database whose text contains this, e.g. H200 (see `tilesmith devices`), and its "
                  "architecture; default: of each architecture's devices, that which the database last heard of")
      ->type_name("TEXT")->needs(first)->group("Kernels");
  add_seed_option(*app, options->seed, "Seed of the sample: same seed, same configs")->group("Kernels");
  add_compile_jobs_option(*app, options->compile_jobs, "one a core");
  add_database_option(*app, options->db);
  add_log_options(*app, options->log);
  app->footer(
      "A compiled kernel serves every shape it is legal for, so that of the problems type pairs and transposes matter; configs\n"
      "that refuse every one of the problems, such as gemv's where no M or N is 1, are left out unless --type and --trans alone\n"
      "are given. Families, type pairs and transposes take turns, a kernel each. Kernels whose registers spill are kept as\n"
      "rejected. Kernels already in the database are not compiled again, so an interrupted run goes on where it stopped. Take\n"
      "the database to the device and run `tilesmith tune --db FILE` there.\n"
      "\nExamples:\n"
      "  tilesmith compile --arch sm_87 --workload orin-perception --db orin.db\n"
      "  tilesmith compile --arch sm_90a --workload llama3-8b --first 12 --db tuned.db\n"
      "  tilesmith compile --device H200 --workload llama3-8b --first 12 --db tuned.db\n"
      "  tilesmith compile --arch sm_90a --type f16f32 --trans NN --family wmma --all --db tuned.db");
  return {app, [options] { return run_compile(*options); }};
}

}  // namespace tilesmith::tuner
