// tilesmith compile: everything up to the cubin, with no GPU: a fast host prepares what a slow device then only times.
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <optional>
#include <set>
#include <utility>

#include "runtime/compile/compiler.hpp"
#include "tuner/cli/commands/command.hpp"
#include "tuner/cli/options/options.hpp"
#include "tuner/cli/options/target.hpp"
#include "tuner/cli/output/logging.hpp"
#include "tuner/cli/output/progress.hpp"
#include "tuner/cli/output/signals.hpp"
#include "tuner/cli/output/table.hpp"
#include "tuner/cli/output/terminal.hpp"
#include "tuner/figures.hpp"
#include "tuner/loop/tune.hpp"
#include "tuner/measure/timing_policy.hpp"
#include "tuner/search/sample.hpp"
#include "tuner/warm_start/finalists.hpp"
#include "tuner/warm_start/initial_configs.hpp"
#include "tuner/workers/compile_all.hpp"

namespace tilesmith::tuner {
namespace {

struct CompileCommandOptions {
  ProblemOptions problems;
  std::vector<std::string> archs, families;
  std::int64_t max_configs = 32;
  std::int64_t first = 0;  // initial configs of each problem; 0: a sample of the space instead
  std::string device;      // whose initial configs; empty: chosen by what the database holds
  bool all = false;
  std::uint64_t seed = 1;
  std::string db;
  int compile_jobs = 0;
  LogOptions log;
};

/// What was asked for, checked before anything is written.
struct Asked {
  Workload workload;
  std::vector<DeviceLimits> archs;
  std::vector<const Family*> families;
  std::vector<KernelTarget> targets;  // of all problems on all architectures, each once
  bool shapes_matter = true;  // false: --type and --trans alone were given, and the problems stand for any of them
};

/// The device of the database that --device names; none if nothing is named.
std::optional<TargetDevice> named_device(const CompileCommandOptions& options) {
  if (options.device.empty()) return std::nullopt;
  const db::Store store = db::Store::open_read_only(database_path(options.db));
  TargetDevice device = require_stored_device(store, options.device);
  if (const std::string arch = db::ran_as(device.identity); !arch.empty()) {
    throw UsageError(
        fmt::format("--device '{}': ran the code of {} to prove it; expected a device that ran its own code",
            options.device, arch));
  }
  return device;
}

Asked checked(const CompileCommandOptions& options, const std::optional<TargetDevice>& device) {
  Asked asked;
  const ProblemOptions& given = options.problems;
  asked.workload = select_problems(given);
  asked.shapes_matter =
      !given.shapes.empty() || !given.workloads.empty() || (given.types.empty() && given.trans.empty());
  std::vector<std::string> archs = split_commas(options.archs);
  if (device && archs.empty()) archs.push_back(device->limits.arch);
  if (device && std::find(archs.begin(), archs.end(), device->limits.arch) == archs.end()) {
    throw UsageError(fmt::format("--device '{}': {} is of {}; expected that among --arch, or no --arch", options.device,
        short_name(device->identity), device->limits.arch));
  }
  if (archs.empty()) {
    const auto here = first_supported();
    if (!here) {
      throw UsageError(
          fmt::format("--arch: expected one of {} (there is no GPU here to take it from)", supported_archs()));
    }
    archs.push_back(here->limits.arch);
  }
  std::set<std::string> seen;
  for (const std::string& arch : archs) {
    if (!seen.insert(arch).second) continue;
    asked.archs.push_back(require_arch(arch));
    for (const KernelTarget& target : targets_of(asked.workload, asked.archs.back())) asked.targets.push_back(target);
  }
  asked.families = families_named(parse_families(options.families));
  require_support(asked.families, asked.targets);
  return asked;
}

enum Column : std::size_t { kAsked, kOk, kSpilled, kFailed, kReused };

std::vector<std::string> group_of(const Config& config, const std::string& signature, const std::string& arch) {
  const std::size_t type = signature.find(' ');  // the first of its words
  return {arch, config.family(), signature.substr(0, type), signature.substr(std::min(type + 1, signature.size()))};
}

/// A sample of each family's space for each target, or all of it, in turn: a run that is interrupted has something of
/// each.
std::vector<CompileJob> sampled(
    const CompileCommandOptions& options, const Asked& asked, const std::atomic<bool>& stop) {
  std::vector<std::vector<CompileJob>> lists;
  CountProgress progress("spaces to choose from");
  std::size_t done = 0;
  for (const KernelTarget& target : asked.targets) {
    std::vector<Problem> problems;
    for (const WeightedTask& one : asked.workload.tasks) {
      if (one.task.problem().signature() == target.signature()) problems.push_back(one.task.problem());
    }
    for (const Family* family : asked.families) {
      progress(done++, asked.targets.size() * asked.families.size());
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
  if (all.empty() && !stop)
    throw UsageError("--family: all configs of the families refuse every one of these problems; expected others");
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

/// The latest entry about the named device, or, where none is named, about any of this architecture that ran its own
/// code.
std::optional<db::Record> latest_of(
    const DeviceLimits& arch, const std::optional<TargetDevice>& named, const db::Store& store) {
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

/// The device that the initial configs are for, and what a tuner on it would be as an environment; where the database
/// knows none, the architecture's best-known device.
InitialConfigsFor initial_configs_for(
    const Asked& asked, const DeviceLimits& arch, const std::optional<TargetDevice>& named, const db::Store& store) {
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
    const std::optional<TargetDevice>& named, const db::Store& store, const std::atomic<bool>& stop) {
  std::vector<CompileJob> jobs;
  std::set<std::string> seen;
  CountProgress progress("problems to guess for");
  std::size_t done = 0;
  for (const DeviceLimits& arch : asked.archs) {
    InitialConfigSource source(initial_configs_for(asked, arch, named, store), store);
    for (const WeightedTask& one : asked.workload.tasks) {
      const Problem& problem = one.task.problem();
      if (stop) return jobs;
      progress(done++, asked.archs.size() * asked.workload.tasks.size());
      if (problem.m < 1 || problem.n < 1 || problem.k < 1 || problem.batch < 1) continue;
      const InitialConfigs initial_configs = source.of(problem, std::size_t(options.first));
      std::vector<Config> configs = initial_configs.to_try;
      for (Config& config : known_finalists(initial_configs.known, std::size_t(TuneOptions{}.finalists)))
        configs.push_back(std::move(config));
      for (const Config& config : configs) {
        if (seen.insert(fmt::format("{} {} {}", arch.arch, text(problem.signature()), config.text())).second) {
          jobs.push_back({config, {problem, arch}});
        }
      }
    }
  }
  return jobs;
}

void log_build(const db::KernelBuild& build, bool reused, std::set<std::string>& told) {
  if (build.status == db::Status::compile_failed) tell_compile_error(told, build.key.config, build.message);
  if (reused) return;
  spdlog::debug("{} {} {}: {}{}{}, {} registers", build.key.arch, build.key.signature, build.key.config.text(),
      db::name(build.status), build.message.empty() ? "" : ": ", build.message, build.registers);
}

std::string progress_text(const CountTable& table, std::size_t done, std::size_t total, double seconds) {
  const std::size_t reused = table.sum(kReused), compiled = done - reused;
  const double left_s = compiled < 5 ? 0 : seconds / double(compiled) * double(total - done);
  return fmt::format("{}/{} kernels: {} ok, {} spilled, {} failed, {} kept from before{}", done, total, table.sum(kOk),
      table.sum(kSpilled), table.sum(kFailed), reused,
      compiled < 5 ? "" : fmt::format(", about {} left", format_seconds(left_s)));
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
  spdlog::info(
      "choosing kernels for {} of workload {}", count_of(asked.workload.tasks.size(), "problem"), asked.workload.name);
  std::vector<CompileJob> jobs;
  if (options.first == 0) jobs = sampled(options, asked, signals.stop());  // before a database is made: it may refuse
  db::Store store = db::Store::open(database_path_for_writing(options.db));
  if (options.first > 0) jobs = for_first_turns(options, asked, device, store, signals.stop());
  if (signals.stop()) {
    spdlog::info("interrupted while choosing: nothing was compiled");
    return signals.exit_status();
  }
  CountTable table({"arch", "family", "type", "op"}, {">asked", ">ok", ">spilled", ">failed", ">kept from before"});
  for (const CompileJob& job : jobs)
    ++table.at(group_of(job.config, text(job.target.signature()), job.target.limits.arch), kAsked);
  spdlog::info("compiling {} for workload {} with NVRTC {}; kept in {}", count_of(jobs.size(), "kernel"),
      asked.workload.name, runtime::nvrtc_version(), store.path().string());

  const auto began = std::chrono::steady_clock::now();
  const auto seconds = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count(); };
  std::set<std::string> told;
  ProgressLine line;
  std::size_t done = 0;
  const auto on_done = [&](const db::KernelBuild& build, bool reused) {
    const auto group = group_of(build.key.config, build.key.signature, build.key.arch);
    const bool spilled = build.status == db::Status::spilled;
    ++table.at(group, build.status == db::Status::ok ? kOk : spilled ? kSpilled : kFailed);
    if (reused) ++table.at(group, kReused);
    log_build(build, reused, told);
    ++done;
    if (line.is_due())
      line.show(progress_text(table, done, jobs.size(), seconds()), double(done) / double(jobs.size()));
  };
  const std::size_t compiled = compile_all(store, jobs, options.compile_jobs, on_done, signals.stop());
  Screen::instance().clear_status();
  fmt::print("{}", table.text(stdout_width()));
  fmt::print("\n{} compiled in {:.1f} s{}\n", count_of(compiled, "kernel"), seconds(),
      signals.stop() ? " (interrupted: start again to go on)" : "");
  std::fflush(stdout);
  if (signals.exit_status() == 0 && done > 0 && table.sum(kFailed) == done) {
    throw UsageError(fmt::format(
        "none of {} kernels compiled; all errors: tilesmith query --db {} --sql \"SELECT message FROM builds WHERE status = 'compile_failed'\"",
        jobs.size(), store.path().string()));
  }
  return signals.exit_status();
}

}  // namespace

Command add_compile(CLI::App& program) {
  const auto [app, options, add] =
      new_command<CompileCommandOptions>(program, "compile", "Compile candidates for an architecture; needs no GPU");
  add_problem_options(*app, options->problems);
  add.heading("Kernels");
  add("--arch", options->archs, "ARCH,..",
      fmt::format("Architectures, comma-separated or repeated: {}; default: that of --device, else of the GPU here",
          supported_archs()));
  add("--family", options->families, "NAME,..", "Kernel families, comma-separated or repeated; default: all");
  CLI::Option* most = add("--max-configs", options->max_configs, "N",
      "Most configs for each family, type pair, transposes and architecture: named and seed "
      "configs first, then an even sample of the space")
                          ->check(between(1, kMostCount));
  CLI::Option* all = app->add_flag("--all", options->all, "Every legal config (see `tilesmith space` for how many)");
  CLI::Option* first = add("--first", options->first, "N",
      "Instead, the first N initial configs that `tune` would have for each problem, going by the "
      "records in the database, and the fastest that are known of the problem, which it would "
      "play off")
                           ->default_str("")
                           ->check(between(1, kMostCount))
                           ->excludes(most)
                           ->excludes(all);
  all->excludes(most);
  add("--device", options->device, "TEXT",
      "InitialConfigs for the device of the database whose text contains this, e.g. H200 (see `tilesmith devices`), "
      "and its architecture; default: of each architecture's devices, that which the database last heard of")
      ->needs(first);
  add_seed_option(*app, options->seed, "Seed of the sample: same seed, same configs");
  add_compile_jobs_option(*app, options->compile_jobs, "one a core")->group("Options");
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
  return {app, [options = options] { return run_compile(*options); }};
}

}  // namespace tilesmith::tuner
