// tilesmith report: what a tuning run did, as one page for the morning after.
#include <fmt/format.h>

#include <algorithm>

#include "db/exchange/export.hpp"
#include "kernels/own/kernel.hpp"
#include "tuner/bests/bests_today.hpp"
#include "tuner/cli/commands/command.hpp"
#include "tuner/cli/options/options.hpp"
#include "tuner/cli/options/target.hpp"
#include "tuner/cli/output/output.hpp"
#include "tuner/figures.hpp"
#include "tuner/report/page.hpp"
#include "tuner/report/report.hpp"

namespace tilesmith::tuner {
namespace {

struct ReportCommandOptions {
  std::string db, run, device, since, bench, output, against;
  std::vector<std::string> workloads;
};

double parse_since(const std::string& text) {
  const double now = *report::utc_seconds(db::now_utc());
  if (const auto moment = report::parse_moment(text)) {
    if (*moment <= now) return *moment;
    throw UsageError(fmt::format(
        "--since '{}': lies ahead of now, {} UTC; expected a time that has passed", text, report::utc_minutes(now)));
  }
  try {
    return now - parse_duration(text, "--since").count();
  } catch (const UsageError&) {
    throw UsageError(fmt::format(
        "--since '{}': expected a time in UTC such as 2026-01-31T22:00, or how long ago, such as 12h", text));
  }
}

std::vector<BenchRow> bench_rows(const std::string& path) {
  try {
    return load_bench_csv(path);
  } catch (const BenchCsvError& error) {
    throw UsageError(fmt::format("--bench {}", error.what()));
  }
}

std::vector<db::Record> entries_of(const db::Store& store, const std::string& device) {
  require_known_device(store, device);
  db::RecordFilter filter;
  if (!device.empty()) filter.device = device;
  std::vector<db::Record> entries = store.records(filter);
  std::erase_if(entries, [](const db::Record& entry) { return !entry.task.is_gemm(); });  // the page is about problems
  std::reverse(entries.begin(), entries.end());
  return entries;
}

/// The bests of all kernels of users' own that this process has loaded.
std::vector<db::JudgedBest> bests_of_kernels(const db::Store& store, const std::string& device) {
  Wanted wanted;
  wanted.device = device;
  wanted.know(store.devices());
  for (const Task& task : store.tasks_since(0)) {
    if (!task.is_gemm() && own::find_kernel(task.kernel().kernel) != nullptr)
      wanted.kernels.push_back(task.kernel().kernel);
  }
  return wanted.kernels.empty() ? std::vector<db::JudgedBest>() : bests_today(store, wanted, false).bests;
}

std::vector<report::RunFigures> runs_to_report(const db::Store& store, const std::vector<db::Record>& entries,
    const ReportCommandOptions& options, const std::string& wanted) {
  std::vector<report::RunFigures> runs = report::runs_of(entries, store.runs());
  // A run's record does not tell its device: only its entries do.
  if (!options.device.empty()) std::erase_if(runs, [](const report::RunFigures& run) { return run.entries == 0; });
  std::vector<report::RunFigures> found = report::matching_runs(runs, wanted);
  if (found.empty() && wanted != "latest" && wanted != "all") {
    const std::string newest = runs.empty() ? "" : fmt::format(", the newest {}", runs.back().run.uuid);
    throw UsageError(
        fmt::format("--run '{}': not one run of {} begins so; expected latest, all, or a uuid ({} there{})", wanted,
            store.path().string(), count_of(runs.size(), "run"), newest));
  }
  return found;
}

int run_report(const ReportCommandOptions& options) {
  if (options.output.empty()) throw UsageError("--out: expected a file for the page, such as report.html");
  report::ReportOptions about;
  const std::string run = !options.run.empty() ? options.run : options.since.empty() ? "latest" : "all";
  if (!options.since.empty()) about.since = parse_since(options.since);
  if (!options.workloads.empty()) about.workload = select_problems({.workloads = options.workloads});
  if (!options.bench.empty()) about.bench = bench_rows(options.bench);
  about.bench_name = options.bench;
  const bool to_file = !is_stdout(options.output);
  if (to_file) require_writable(options.output, "--out");

  const db::Store store = db::Store::open_read_only(database_path(options.db));
  about.database = store.path().string();
  about.made_at = db::now_utc();
  about.vendor = db::VendorIndex(store.vendor_times());
  const std::vector<db::Record> entries = entries_of(store, options.device);
  about.kernels = bests_of_kernels(store, options.device);
  if (!options.against.empty()) {
    const bool known = !db::meant_by(db::Store::open_read_only(options.against).devices(), options.device)
                            .empty();  // else it is of another device
    const auto others = bests_to_compare(options.against, known ? options.device : ""),
               own = bests_to_compare(about.database, options.device);
    about.against = compare(others, own, {kSameWithin, about.workload});
    about.against_name = options.against;
  }
  std::vector<report::RunFigures> runs = runs_to_report(store, entries, options, run);
  const report::Report figures = report::make_report(entries, std::move(runs), std::move(about));
  write_result(report::page_of(figures), options.output);
  if (to_file && figures.problems.empty()) {
    write_result(fmt::format("{}: {}\n", options.output, report::headline(figures)));
  } else if (to_file) {
    write_result(
        fmt::format("{}: {}, {} ({} failed) in {}\n", options.output, count_of(figures.problems.size(), "problem"),
            count_of(figures.tried, "candidate"), format_count(figures.failed), format_seconds(figures.seconds)));
  }
  return kExitOk;
}

}  // namespace

Command add_report(CLI::App& program) {
  const auto [app, options, add] =
      new_command<ReportCommandOptions>(program, "report", "Write what a tuning run did as one HTML page");
  add.heading("Output");
  add("-o,--out,--output", options->output, "FILE", "The page; needed. -: stdout");
  add.heading("Filters");
  add("--run", options->run, "latest|all|UUID",
      "Which runs: latest (all tuners of one tune), all, or a uuid or its beginning. Default: latest, or all with "
      "--since");
  add("--since", options->since, "TIME",
      "Only what was measured since then: 2026-01-31T22:00 (UTC), or how long ago: 12h");
  add("--device", options->device, "TEXT", "Only devices whose text contains this (see `tilesmith devices`)");
  add.heading("More to go by");
  add("--bench", options->bench, "CSV",
      "What `tilesmith bench --peer cublaslt --out` wrote: the ratio to cuBLASLt, where tune has not stored it beside "
      "the best");
  add("--against", options->against, "DB",
      "Another database, such as that of the night before: a picture and a table of what became faster, slower, new or "
      "stale since (see `tilesmith compare`)");
  add("--workload", options->workloads, "FILE|NAME",
      "The workload that was tuned, a file or the name of a built-in one: adds weights, and what was not reached");
  add_database_option(*app, options->db);
  app->footer(
      "The page needs no network and no other file: problems with their bests and gains, a roofline, convergence, clocks, "
      "temperatures and\n"
      "power, failures with their messages, and what another hour would go to. It is written whole or not at all; the\n"
      "database is only read, also while a run is at work.\n"
      "\nExamples:\n"
      "  tilesmith report --out report.html\n"
      "  tilesmith report --db orin.db --since 12h --workload orin-perception --out report.html\n"
      "  tilesmith report --db tuesday.db --against monday.db --out report.html\n"
      "  tilesmith report --db tuned.db --run all --device H200 --bench h200_bench.csv --out report.html");
  return {app, [options = options] { return run_report(*options); }};
}

}  // namespace tilesmith::tuner
