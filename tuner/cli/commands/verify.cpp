// tilesmith verify: proves kernels of whole families on the GPU and times none.
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <chrono>
#include <optional>

#include "db/files/bundle.hpp"
#include "runtime/compile/compiler.hpp"
#include "tuner/cli/commands/command.hpp"
#include "tuner/cli/commands/own_kernel_runs.hpp"
#include "tuner/cli/options/options.hpp"
#include "tuner/cli/options/target.hpp"
#include "tuner/cli/output/logging.hpp"
#include "tuner/cli/output/signals.hpp"
#include "tuner/cli/output/table.hpp"
#include "tuner/cli/output/terminal.hpp"
#include "tuner/figures.hpp"
#include "tuner/search/sample.hpp"
#include "tuner/warm_start/initial_configs.hpp"
#include "tuner/workers/verify_all.hpp"

namespace tilesmith::tuner {
namespace {

struct VerifyCommandOptions {
  OwnKernelOptions own;
  ProblemOptions problems;
  std::vector<std::string> families;
  std::string bundle, results, db, as;
  std::int64_t max_configs = 8;
  bool spread = false, all = false, brief = false, tuned = false;
  std::uint64_t seed = 1;
  int device = 0, compile_jobs = 0;
  LogOptions log;
};

enum Proof : std::size_t { kWanted, kRight, kNotBuilt, kWrong };

std::vector<std::string> group_of(const CompileJob& job) {
  return {job.config.family(), std::string(job.target.type.name),
      std::string(name(job.target.trans)) + options_text(job.target)};
}

std::vector<CompileJob> jobs_of(
    const VerifyCommandOptions& options, const std::vector<KernelTarget>& targets, CountTable& table) {
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
        ++table.at(group_of(jobs.back()), kWanted);
      }
    }
  }
  return jobs;
}

/// The kernels of a bundle, compiled anew for the device or for --as: a cubin of another architecture does not load.
std::vector<CompileJob> jobs_of_bundle(
    const db::Bundle& bundle, const std::string& path, const DeviceLimits& limits, CountTable& table) {
  std::vector<CompileJob> jobs;
  for (const db::KernelBuild& build : bundle.builds) {
    if (const auto made_for = limits_for_arch(build.key.arch); !made_for || made_for->sm != limits.sm)
      throw UsageError(fmt::format(
          "--bundle {}: its kernels are for {}; expected sm_{} (see --as)", path, build.key.arch, limits.sm));
    std::string error;
    const auto signature = parse_signature(build.key.signature, error);  // which loading has checked
    jobs.push_back({build.key.config, {signature.value(), limits}});
    ++table.at(group_of(jobs.back()), kWanted);
  }
  return jobs;
}

/// A kernel that the compiler refuses or that spills is no wrong one: the tuner does not run it either.
Proof proof_of(db::Status status) {
  if (status == db::Status::ok) return kRight;
  return status == db::Status::compile_failed || status == db::Status::spilled ? kNotBuilt : kWrong;
}

/// Fields without a shape are of one that every signature can have.
ProblemOptions with_some_shape(ProblemOptions problems) {
  if (!problems.with.empty() && problems.shapes.empty() && problems.workloads.empty()) problems.shapes = {"1024"};
  return problems;
}

int run_verify(const VerifyCommandOptions& options) {
  if (!options.own.folder.empty()) {
    if (!options.problems.empty() || !options.families.empty() || !options.bundle.empty())
      throw UsageError("--kernel: expected no problems, families or bundle beside it");
    apply_log_options(options.log);
    StopOnSignal signals;
    std::optional<db::Store> tuned;
    if (options.tuned) tuned.emplace(db::Store::open_read_only(database_path(options.db)));
    const OwnConfigs which{
        options.all ? std::size_t(-1) : std::size_t(options.max_configs), options.seed, tuned ? &*tuned : nullptr};
    const int status =
        verify_own_kernel(options.own, which, options.results, options.device, options.as, signals.stop());
    return signals.exit_status() != 0 ? signals.exit_status() : status;
  }
  const bool of_bundle = !options.bundle.empty();
  if (of_bundle && !options.problems.empty())
    throw UsageError("--bundle: its kernels say for which type pairs and transposes; expected no problems beside it");
  const db::Bundle bundle = of_bundle ? db::load_bundle(options.bundle) : db::Bundle{};
  const Workload workload = of_bundle ? Workload{} : select_problems(with_some_shape(options.problems));
  if (!options.as.empty()) require_arch(options.as, "--as");
  parse_families(options.families);
  const auto info = require_device_as(
      require_device(options.device, "verify runs kernels, and so needs one; `tilesmith compile` needs none"),
      options.as);
  if (const std::string missing = runtime::nvrtc_unfit_because(info.limits); !missing.empty())
    throw UsageError(missing);
  CountTable table({"family", "type", "op"}, {">asked", ">right", ">not built", ">failed"});
  const std::vector<CompileJob> jobs = of_bundle ? jobs_of_bundle(bundle, options.bundle, info.limits, table)
                                                 : jobs_of(options, targets_of(workload, info.limits), table);
  apply_log_options(options.log);
  StopOnSignal signals;
  spdlog::info("verifying {} on {}", count_of(jobs.size(), "kernel"), short_name(info.identity));

  const auto began = std::chrono::steady_clock::now();
  const runtime::Context context(options.device, options.as);
  std::size_t done = 0;
  const auto note = [&](const CompileJob& job, const db::Outcome& outcome) {
    ++table.at(group_of(job), proof_of(outcome.status));
    Screen::instance().set_status({fmt::format("verified {}/{}, {} failed", ++done, jobs.size(), table.sum(kWrong))});
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

  fmt::print("{}", table.text(stdout_width()));
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
  fmt::print("{}: {} right, {} not built, {} failed, in {}{}\n", short_name(info.identity), table.sum(kRight),
      table.sum(kNotBuilt), table.sum(kWrong), format_seconds(took.count()), signals.stop() ? " (interrupted)" : "");
  std::fflush(stdout);
  if (signals.exit_status() != 0) return signals.exit_status();
  return table.sum(kWrong) == 0 && table.sum(kRight) > 0 ? kExitOk : kExitInternal;
}

}  // namespace

Command add_verify(CLI::App& program) {
  const auto [app, options, add] =
      new_command<VerifyCommandOptions>(program, "verify", "Prove kernels right on a GPU, without timing them");
  add_problem_options(*app, options->problems);
  add.heading("Kernels");
  CLI::Option* family =
      add("--family", options->families, "NAME,..", "Kernel families, comma-separated or repeated; default: all");
  CLI::Option* kernel = add_own_kernel_options(*app, options->own);
  app->add_flag("--tuned", options->tuned, "Of --kernel: the configs that the database has a time of at these sizes")
      ->needs(kernel);
  add("--results", options->results, "DIR",
      "Write what each right config of --kernel computes here: N.ARGUMENT.bin, and in configs.txt which config N is")
      ->needs(kernel)
      ->check(CLI::ExistingDirectory);
  CLI::Option* bundle = add("--bundle", options->bundle, "FILE",
      "The configs of all kernels in this bundle (see `tilesmith export`) instead of a sample; "
      "they are compiled anew");
  CLI::Option* most = add("--max-configs", options->max_configs, "N",
      "Most configs for each family, type pair and transposes: named and seed configs first, then "
      "a sample that covers the space")
                          ->check(between(1, kMostCount));
  CLI::Option* spread = app->add_flag("--spread", options->spread,
      "No named and seed configs: a sample that has every value of every parameter as "
      "soon as it can");
  CLI::Option* all =
      app->add_flag("--all", options->all, "Every legal config (see `tilesmith space` for how many)")->excludes(most);
  bundle->excludes(family)->excludes(most)->excludes(spread)->excludes(all);
  add_seed_option(*app, options->seed, "Seed of the sample: same seed, same configs");
  app->add_flag("--brief", options->brief,
      "Of the suite every shape once, by exact sums: half of its launches or fewer, for tools under which each "
      "takes long (compute-sanitizer)");
  add_database_option(*app, options->db);
  add.heading("Device");
  add("--device", options->device, "N", "Ordinal of the GPU (see `tilesmith devices`)")->check(between(0, 1024));
  add_as_option(*app, options->as);
  add_compile_jobs_option(*app, options->compile_jobs,
      "one a core but one; where the GPU shares the memory (Jetson), one for two cores, and half "
      "of the memory");
  add_log_options(*app, options->log);
  app->footer(
      "Of the problems only type pairs, transposes and what kernels are made for of --with matter, which needs no "
      "--shape here: each kernel must pass\nthe suite of small awkward problems that `tilesmith tune` begins with, or "
      "with --brief a part of it. Nothing is stored. Exit status 0 only if some kernel was run\nand none failed.\n"
      "\nExamples:\n"
      "  tilesmith verify --as sm_87 --workload acceptance\n"
      "  tilesmith verify --as sm_87 --bundle any-orin.tsb\n"
      "  tilesmith verify --family mma --type s8s32 --trans all --with sparsity=a_2to4\n"
      "  tilesmith verify --kernel softmax/ --all\n"
      "  tilesmith verify --family wmma --type f16f32 --trans NN --shape 64 --all");
  return {app, [options = options] { return run_verify(*options); }};
}

}  // namespace tilesmith::tuner
