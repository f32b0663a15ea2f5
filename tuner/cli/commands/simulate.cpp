// tilesmith simulate: replays recordings to compare search strategies. Needs no GPU and no database.
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <functional>
#include <iterator>

#include "db/exchange/export.hpp"
#include "db/files/files.hpp"
#include "tuner/cli/commands/command.hpp"
#include "tuner/cli/commands/kernel_tuner.hpp"
#include "tuner/cli/options/options.hpp"
#include "tuner/cli/output/logging.hpp"
#include "tuner/cli/output/output.hpp"
#include "tuner/cli/output/progress.hpp"
#include "tuner/cli/output/signals.hpp"
#include "tuner/cli/output/simulation_report.hpp"
#include "tuner/cli/output/terminal.hpp"
#include "tuner/figures.hpp"
#include "tuner/recordings/outcome_tables.hpp"

namespace tilesmith::tuner {
namespace {

constexpr std::string_view kBaseline = "random";

struct SimulateCommandOptions {
  std::vector<std::string> recordings, strategies;
  SimulationOptions simulation;
  std::int64_t min_configs = 50;
  std::string plot, format = "table", beside, python = "python3";
  bool choose = false;
  LogOptions log;
};

/// Each once, in the order given.
std::vector<std::string> strategies_named(const std::vector<std::string>& given) {
  std::vector<std::string> names = split_commas(given), result;
  if (names.empty()) names.emplace_back(kDefaultStrategy);
  const auto add = [&](std::string_view name) {
    if (std::ranges::find(result, name) == result.end()) result.emplace_back(name);
  };
  for (const std::string& name : names) {
    if (name == "all") {
      for (const StrategyInfo& info : strategies()) add(info.name);
    } else {
      require_strategy(name);
      add(name);
    }
  }
  return result;
}

std::vector<OutcomeTable> load_tables(const SimulateCommandOptions& options, const std::atomic<bool>& stop) {
  std::vector<OutcomeTable> tables;
  for (const std::string& path : options.recordings) {
    if (stop) return {};
    LoadedTables loaded = load_outcome_tables(path, std::size_t(options.min_configs));
    if (loaded.too_small > 0) {
      spdlog::info("{}: {} simulated; {} left out: fewer than {} recorded, or none with a time", path,
          count_of(loaded.tables.size(), "problem"), format_count(loaded.too_small),
          count_of(std::size_t(options.min_configs), "config"));
    }
    std::move(loaded.tables.begin(), loaded.tables.end(), std::back_inserter(tables));
  }
  if (!tables.empty()) return tables;
  throw UsageError(
      fmt::format("--recording: no problem has {} or more recorded and one with a time; expected a larger "
                  "recording, or a smaller --min-configs",
          count_of(std::size_t(options.min_configs), "config")));
}

/// nullopt if it was stopped. `theirs` are Kernel Tuner's. `on_run`: after each, with its strategy and recording.
std::optional<SimulatedRecording> simulate_all(const OutcomeTable& table, const std::vector<std::string>& names,
    const std::vector<std::string>& theirs, const SimulateCommandOptions& given,
    const std::function<void(std::string_view, const std::string&)>& on_run, const std::atomic<bool>& stop) {
  const SimulationOptions& options = given.simulation;
  const auto on_run_here = [&](std::string_view name) { on_run(name, table.name); };
  const auto curve_of = [&](std::string_view name) {
    return simulate(table, name, options, stop, [&] { on_run_here(name); });
  };
  std::optional<Curve> random = curve_of(kBaseline);
  if (!random) return std::nullopt;
  SimulatedRecording result{
      table.name, table.space.size(), table.ok, table.optimum_us, table.objective, {}, std::move(*random)};
  for (const std::string& name : names) {
    std::optional<Curve> curve = name == kBaseline ? result.random : curve_of(name);
    if (!curve) return std::nullopt;
    result.strategies.push_back({name, std::move(*curve)});
  }
  if (!theirs.empty()) {
    auto simulated = simulate_kernel_tuner(table, theirs, given.python, options, stop, on_run_here);
    if (stop) return std::nullopt;
    std::move(simulated.begin(), simulated.end(), std::back_inserter(result.strategies));
  }
  for (SimulatedStrategy& one : result.strategies) one.score = score_against_random(one.curve, result.random);
  return result;
}

void require_svg(const std::string& path) {
  if (std::filesystem::path(path).extension() != ".svg" && !db::own_descriptor(path)) {
    throw UsageError(fmt::format("--plot '{}': SVG is all that is drawn; expected a file named .svg", path));
  }
  require_writable(path, "--plot");
}

/// Each recording's problems, chosen for without the records of their shapes, and without any; and those that have
/// sisters by these.
int run_choose(const SimulateCommandOptions& options, TextFormat format) {
  StopOnSignal signals;
  std::vector<SimulatedChoices> all;
  for (const std::string& path : options.recordings) {
    const db::Recording recording = db::load_recording(path);
    for (const ChoosingBy by : {ChoosingBy::other_shapes, ChoosingBy::no_records, ChoosingBy::sisters}) {
      std::atomic<std::size_t> done{0};
      std::vector<SimulatedChoice> choices = simulate_choices(recording, by, signals.stop(), [&] {
        if (const std::size_t count = ++done; count % 100 == 0)
          spdlog::info("{}: {} chosen", path, count_of(count, "problem"));
      });
      if (signals.stop()) {
        spdlog::info("interrupted: nothing is printed of an unfinished comparison");
        return signals.exit_status();
      }
      if (by != ChoosingBy::sisters || !choices.empty()) all.push_back({path, by, std::move(choices)});
    }
  }
  write_result(choice_report(all, format, stdout_width()));
  return signals.exit_status();
}

int run_simulate(const SimulateCommandOptions& options) {
  const std::vector<std::string> names = strategies_named(options.strategies);
  const TextFormat format = parse_text_format(options.format);
  if (!options.plot.empty()) require_svg(options.plot);
  apply_log_options(options.log);
  if (options.choose) return run_choose(options, format);
  StopOnSignal signals;
  std::vector<std::string> theirs;
  if (!options.beside.empty()) theirs = kernel_tuner_strategies(options.python, options.beside);
  const std::vector<OutcomeTable> tables = load_tables(options, signals.stop());
  for (const OutcomeTable& table : tables) {
    if (!theirs.empty() && table.space.family_count() != 1)
      throw UsageError(fmt::format(
          "--beside-kernel-tuner: {}: has several families; expected one, as in a cache of Kernel Tuner", table.name));
  }
  const std::size_t simulated =
      names.size() + theirs.size() + (std::ranges::find(names, kBaseline) == names.end() ? 1 : 0);
  spdlog::info("simulating {} on {}: {} each, from seed {}", fmt::join(names, ", "),
      count_of(tables.size(), "recording"), count_of(options.simulation.runs, "run"), options.simulation.seed);
  std::vector<SimulatedRecording> recordings;
  {
    ProgressLine line;
    const std::size_t runs = tables.size() * simulated * options.simulation.runs;
    std::size_t done = 0;
    const auto on_run = [&](std::string_view strategy, const std::string& recording) {
      ++done;
      if (line.is_due())
        line.show(fmt::format("{}/{} runs; {} on {}", format_count(done), format_count(runs), strategy, recording));
    };
    for (const OutcomeTable& table : tables) {
      auto recording = simulate_all(table, names, theirs, options, on_run, signals.stop());
      if (!recording) break;
      recordings.push_back(std::move(*recording));
    }
  }
  if (signals.stop()) {
    spdlog::info("interrupted: nothing is printed of an unfinished comparison");
    return signals.exit_status();
  }
  if (!options.plot.empty()) db::write_file_atomically(options.plot, simulation_plot(recordings, options.simulation));
  const bool one_table = !theirs.empty() && format == TextFormat::table;
  write_result(one_table ? beside_report(recordings, options.simulation, stdout_width())
                         : simulation_report(recordings, options.simulation, format, stdout_width()));
  return signals.exit_status();
}

}  // namespace

Command add_simulate(CLI::App& program) {
  const auto [app, options, add] =
      new_command<SimulateCommandOptions>(program, "simulate", "Compare search strategies on recordings; needs no GPU");
  SimulationOptions& simulation = options->simulation;
  add.heading("Recordings");
  add("--recording", options->recordings, "FILE",
      "A recording that `tune --record` or `export` made, or a cache (of a finished run or not) or T4 results file of "
      "Kernel Tuner; plain, .gz or .zst; repeatable")
      ->required()
      ->allow_extra_args(false);
  add("--min-configs", options->min_configs, "N",
      "Of a recording, take the problems with at least so many recorded configs")
      ->check(between(1, kMostCount));
  add.heading("Search");
  add("--strategy", options->strategies, "NAME,..",
      fmt::format("Strategies, comma-separated or repeated (see `tilesmith strategies`), or all; default: {}",
          kDefaultStrategy))
      ->allow_extra_args(false);
  add("--beside-kernel-tuner", options->beside, "[NAME,..]",
      "Also simulate these strategies of Kernel Tuner (without a value or all: those worth comparing), and print one "
      "table of all recordings. Needs the Python package kernel-tuner")
      ->expected(0, 1)
      ->default_str("all");
  add("--python", options->python, "PROGRAM",
      "The Python that has kernel-tuner, such as that of a virtual environment");
  const auto most = between(1, 1'000'000);
  add("--runs", simulation.runs, "N", "Runs of each strategy on each recording, each from nothing")->check(most);
  add("--evaluations", simulation.evaluations, "N", "Most configs that a run tries; failed ones count")->check(most);
  add("--width", simulation.width, "N",
      "Ask for so many configs at a time, and tell of all of them before the next are asked for")
      ->check(most);
  add_seed_option(*app, simulation.seed, "Seed of the first run, the next has the next: same seed, same figures");
  app->add_flag("--choose", options->choose,
      "Instead of searches: what the library would choose for each recorded problem if no problem of its M, "
      "N, K and batch had been measured, and if nothing had; where it was recorded with several epilogues "
      "also if all others had (sisters); held against the best recorded");
  add.heading("Output");
  add("--plot", options->plot, "FILE.svg",
      "Draw the mean fractions of the optimum over evaluations, a panel a recording");
  add("--format", options->format, "FORMAT", "table, csv or json");
  add_log_options(*app, options->log);
  app->footer(
      "Outcomes are looked up, nothing is measured: 400 evaluations on 600 configs take random search less than a millisecond,\n"
      "genetic and annealing up to 0.2 s, forest some 0.2 s of a core. Runs are shared among all cores. Figures are\n"
      "fractions of the optimum, the fastest recorded config's time over that of the best so far (of another objective, such as\n"
      "GFLOP/s, what is as much better). The score is the share of what\n"
      "random search leaves to be gained, over all evaluations: 0 is random search, 1 the optimum at once. Of a recording that a\n"
      "search made scores may be far below 0: it holds what that search looked at, so that random search is near the optimum at\n"
      "once, and it says less of strategies than one of a whole space does.\n"
      "\nWith --choose the first config of a choice's ranking that was recorded on the problem is judged: \"first recorded\" says how\n"
      "often that is the one that would have run.\n"
      "\nExamples:\n"
      "  tilesmith simulate --recording db/recorded/h200.jsonl.zst --choose\n"
      "  tilesmith simulate --recording gemm_RTX_3090.json.gz --strategy random,local --runs 100\n"
      "  tilesmith simulate --recording db/recorded/h200.jsonl.zst --strategy all --min-configs 1500 --runs 2 "
      "--plot strategies.svg\n"
      "  tilesmith simulate --recording a.json.gz --recording b.json.gz --strategy all --width 8 --format csv\n"
      "  tilesmith simulate --recording a.json.gz --recording b.json.gz --runs 20 --beside-kernel-tuner");
  return {app, [options = options] { return run_simulate(*options); }};
}

}  // namespace tilesmith::tuner
