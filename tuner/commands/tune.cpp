// tilesmith tune: the overnight loop, on a device or against a recording.
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <memory>

#include "db/landscape.hpp"
#include "kernels/eligible.hpp"
#include "runtime/compiler.hpp"
#include "tuner/commands/command.hpp"
#include "tuner/commands/command_line.hpp"
#include "tuner/commands/figures.hpp"
#include "tuner/commands/logging.hpp"
#include "tuner/commands/options.hpp"
#include "tuner/commands/progress.hpp"
#include "tuner/commands/signals.hpp"
#include "tuner/commands/summary.hpp"
#include "tuner/commands/table.hpp"
#include "tuner/commands/target.hpp"
#include "tuner/commands/terminal.hpp"
#include "tuner/device_evaluator.hpp"
#include "tuner/peaks.hpp"
#include "tuner/replay_evaluator.hpp"
#include "tuner/search/strategy.hpp"
#include "tuner/tune.hpp"

namespace tilesmith::tuner {
namespace {

constexpr const char* kNoDeviceAdvice =
    "use --replay FILE to run against a recording, or `tilesmith compile --arch sm_87` to prepare";

struct TuneCommandOptions {
  ProblemOptions problems;
  std::string strategy{kDefaultStrategy};
  std::vector<std::string> families;
  std::string budget;
  std::int64_t max_candidates = 0;
  std::uint64_t seed = 1;
  int finalists = 5;
  int device = 0;
  std::string as;
  std::string db;
  int compile_jobs = 0;
  std::string time_limit = "20s";
  std::string replay, record, arch;
  bool dry_run = false;
  LogOptions log;
};

/// What the run works on, known before anything is written.
struct Prepared {
  Workload workload;
  TuneOptions tune;
  std::optional<db::Landscape> landscape;     // of --replay
  std::optional<runtime::DeviceInfo> device;  // without --replay
  std::chrono::duration<double> time_limit{0};
  DeviceLimits limits;
};

void choose_target(const TuneCommandOptions& options, Prepared& prepared) {
  if (!options.arch.empty() && !options.dry_run) throw UsageError("--arch: expected only together with --dry-run");
  if (!options.as.empty()) {
    require_arch(options.as, "--as");
    if (!options.replay.empty()) throw UsageError("--as: expected only without --replay, which runs no kernel");
    if (!options.arch.empty()) throw UsageError("--as: expected only without --arch");
  }
  if (!options.replay.empty()) {
    prepared.landscape = db::load_landscape(options.replay);
    const auto limits = limits_for_arch(prepared.landscape->arch);
    if (!limits) {
      throw UsageError(fmt::format("--replay '{}': recorded for {}; expected one of {}", options.replay,
                                   prepared.landscape->arch, supported_archs()));
    }
    prepared.limits = *limits;
  } else if (!options.arch.empty()) {
    prepared.limits = require_arch(options.arch);
  } else {
    const auto advice = options.dry_run ? "use --arch ARCH to count for one" : kNoDeviceAdvice;
    prepared.device = require_device_as(require_device(options.device, advice), options.as);
    prepared.limits = prepared.device->limits;
  }
}

Prepared prepare(const TuneCommandOptions& options) {
  Prepared prepared;
  prepared.workload = select_problems(options.problems);
  require_strategy(options.strategy);
  TuneOptions& tune = prepared.tune;
  tune.strategy = options.strategy;
  tune.families = parse_families(options.families);
  tune.seed = options.seed;
  if (!options.budget.empty()) tune.budget = parse_duration(options.budget, "--budget");
  tune.max_candidates = options.max_candidates;
  tune.finalists = options.finalists;
  tune.command = command_line();
  tune.workload_name = prepared.workload.name;
  prepared.time_limit = parse_duration(options.time_limit, "--time-limit");
  if (!options.record.empty()) require_writable(options.record, "--record");
  choose_target(options, prepared);
  if (prepared.device && !options.dry_run) {
    const std::string missing = runtime::nvrtc_unavailable_because();
    if (!missing.empty()) throw UsageError(missing);
  }
  return prepared;
}

std::vector<const Family*> chosen_families(const std::vector<std::string>& names) {
  std::vector<const Family*> chosen;
  for (const auto& family : families()) {
    if (names.empty() || std::find(names.begin(), names.end(), family->name()) != names.end()) chosen.push_back(family.get());
  }
  return chosen;
}

/// How many legal configs of a family do not refuse each problem. A space has many configs: one is held at a time.
std::vector<long long> count_configs(const Family& family, const Prepared& prepared) {
  const std::vector<WeightedProblem>& problems = prepared.workload.problems;
  std::vector<long long> counts(problems.size(), -1);
  for (std::size_t first = 0; first < problems.size(); ++first) {
    if (counts[first] >= 0) continue;
    const KernelTarget target{problems[first].problem.type, problems[first].problem.trans, prepared.limits};
    const Space space = enumerate_space(family, target);
    for (std::size_t i = first; i < problems.size(); ++i) {
      const Problem& problem = problems[i].problem;
      if (!(problem.type == target.type && problem.trans == target.trans)) continue;
      counts[i] = std::count_if(space.configs.begin(), space.configs.end(),
                                [&](const Config& config) { return eligible(family, config, problem); });
    }
  }
  return counts;
}

/// What an exhaustive run would try.
void print_dry_run(const Prepared& prepared) {
  const std::vector<const Family*> chosen = chosen_families(prepared.tune.families);
  std::vector<TextTable::Column> columns{{"problem"}, {"weight", TextTable::Align::right}};
  std::vector<std::vector<long long>> counts;
  for (const Family* family : chosen) {
    columns.push_back({std::string(family->name()), TextTable::Align::right});
    counts.push_back(count_configs(*family, prepared));
  }
  columns.push_back({"configs", TextTable::Align::right});
  TextTable table(columns);
  long long all = 0;
  for (std::size_t i = 0; i < prepared.workload.problems.size(); ++i) {
    const WeightedProblem& weighted = prepared.workload.problems[i];
    std::vector<std::string> cells{text(weighted.problem), fmt::format("{:g}", weighted.weight)};
    long long sum = 0;
    for (const std::vector<long long>& of_family : counts) {
      cells.push_back(format_count(of_family[i]));
      sum += of_family[i];
    }
    cells.push_back(format_count(sum));
    all += sum;
    table.add(std::move(cells));
  }
  const TuneOptions& tune = prepared.tune;
  fmt::print("{}\n{}, {} candidates on {}; strategy {}{}{}\n", table.text(stdout_width()),
             count_of(prepared.workload.problems.size(), "problem"), format_count(all), prepared.limits.arch, tune.strategy,
             tune.max_candidates > 0 ? fmt::format(", at most {} a problem", tune.max_candidates) : "",
             tune.budget.count() > 0 ? fmt::format(", budget {}", format_seconds(tune.budget.count())) : "");
}

db::Store open_store(const TuneCommandOptions& options) {
  // A replay measures nothing: it is kept only where the user says so.
  if (!options.replay.empty() && options.db.empty()) return db::Store::in_memory();
  return db::Store::open(database_path_for_writing(options.db));
}

std::unique_ptr<Evaluator> make_evaluator(const TuneCommandOptions& options, Prepared& prepared, db::Store& store) {
  if (prepared.landscape) return make_replay_evaluator(std::move(*prepared.landscape));
  DeviceEvaluatorOptions device;
  device.device = options.device;
  device.as = options.as;
  device.compile_jobs = options.compile_jobs;
  device.time_limit = prepared.time_limit;
  return make_device_evaluator(store, device);
}

void announce(const TuneCommandOptions& options, const Prepared& prepared, const Evaluator& evaluator, const db::Store& store) {
  spdlog::info("tuning {} of workload {} on {}{}; strategy {}, seed {}{}", count_of(prepared.workload.problems.size(), "problem"),
               prepared.workload.name, short_name(evaluator.device()), options.replay.empty() ? "" : " (replayed)",
               options.strategy, options.seed,
               prepared.tune.budget.count() > 0 ? fmt::format(", budget {}", format_seconds(prepared.tune.budget.count())) : "");
  const bool kept = options.replay.empty() || !options.db.empty();
  spdlog::info("evidence goes to {}", kept ? store.path().string() : "memory only (a replay without --db keeps nothing)");
}

int run_tune(const TuneCommandOptions& options) {
  Prepared prepared = prepare(options);
  if (options.dry_run) {
    print_dry_run(prepared);
    return kExitOk;
  }
  apply_log_options(options.log);
  StopOnSignal signals;
  db::Store store = open_store(options);
  const double clock_mhz = prepared.device ? prepared.device->clock_mhz : 0;
  const std::unique_ptr<Evaluator> evaluator = make_evaluator(options, prepared, store);
  announce(options, prepared, *evaluator, store);

  const db::DeviceIdentity device = evaluator->device();
  TuneProgress progress([&](const TypePair& type) { return peak_tflops(device, type, clock_mhz); });
  const TuneResult result = tune(
      prepared.workload, prepared.tune, *evaluator, store, [&](const Progress& now) { progress.update(now); }, signals.stop());
  progress.finish();

  spdlog::info("ended: {}; {} candidates tried, {} known before, {} failed", result.ended_how, result.evaluated,
               result.reused, result.failed);
  if (!options.record.empty()) {
    db::EvidenceFilter filter;
    filter.device_exactly = device;
    db::save_landscape(store, filter, options.record);
    spdlog::info("recorded the landscape in {}", options.record);
  }
  fmt::print("{}", summary_of_bests(prepared.workload, store, *evaluator, clock_mhz, stdout_width()));
  std::fflush(stdout);
  return signals.exit_status();
}

}  // namespace

Command add_tune(CLI::App& program) {
  CLI::App* app = program.add_subcommand("tune", "Search, verify and time configs for problems on a GPU; keep the evidence");
  const auto options = std::make_shared<TuneCommandOptions>();
  add_problem_options(*app, options->problems);
  app->add_option("--strategy", options->strategy, "How to search (see `tilesmith strategies`)")
      ->type_name("NAME")->capture_default_str()->group("Search");
  app->add_option("--family", options->families, "Kernel families to search, comma-separated or repeated; default: all")
      ->type_name("NAME,..")->group("Search");
  app->add_option("--budget", options->budget, "End after this time, e.g. 90s, 10m, 2h30m; default: none, until the search is done")
      ->type_name("TIME")->group("Search");
  app->add_option("--max-candidates", options->max_candidates, "Most candidates a problem; 0: no limit")
      ->type_name("N")->capture_default_str()->check(CLI::Range(std::int64_t{0}, kMostCount).description(""))->group("Search");
  app->add_option("--seed", options->seed, "Seed of the search: same seed, same proposals")
      ->type_name("N")->capture_default_str()->group("Search");
  app->add_option("--finalists", options->finalists, "How many of the best are timed again, interleaved")
      ->type_name("N")->capture_default_str()->check(CLI::Range(1, 64).description(""))->group("Search");
  app->add_option("--device", options->device, "Ordinal of the GPU (see `tilesmith devices`)")
      ->type_name("N")->capture_default_str()->check(CLI::Range(0, 1024).description(""))->group("Device");
  add_as_option(*app, options->as)->group("Device");
  add_compile_jobs_option(*app, options->compile_jobs,
                          "one a core but one; where the GPU shares the memory (Jetson), one for two cores, and half of the memory")->group("Device");
  app->add_option("--time-limit", options->time_limit, "Longest a candidate may take on the device, verification included")
      ->type_name("TIME")->capture_default_str()->group("Device");
  app->add_option("--replay", options->replay,
                  "Take outcomes from this recorded landscape instead of a GPU. Without --db nothing is kept")
      ->type_name("FILE")->group("Device");
  add_database_option(*app, options->db);
  app->add_option("--record", options->record, "Save the device's landscape here at the end (.zst: compressed)")
      ->type_name("FILE")->group("Output");
  app->add_flag("--dry-run", options->dry_run, "List the problems and how many configs each family has for them, and end")
      ->group("Output");
  app->add_option("--arch", options->arch, "With --dry-run: count for this architecture instead of the GPU's")
      ->type_name("ARCH")->group("Output");
  add_log_options(*app, options->log);
  app->footer(
      "Every outcome is committed as it comes: a run that is ended or killed goes on where it stopped when started again.\n"
      "Ctrl-C once ends cleanly with what was found (exit status 130), twice ends at once.\n"
      "Without problems given, the built-in workload `quick` is tuned.\n"
      "\nExamples:\n"
      "  tilesmith tune --shape 4096 --type f16f32,bf16f32 --trans all --budget 10m\n"
      "  tilesmith tune --workload llama3-8b --budget 8h --log tune.log\n"
      "  tilesmith tune --as sm_87 --workload orin-perception --max-candidates 20 --db proof.db\n"
      "  tilesmith tune --workload quick --replay db/recorded/h200_quick.jsonl.zst --strategy exhaustive");
  return {app, [options] { return run_tune(*options); }};
}

}  // namespace tilesmith::tuner
