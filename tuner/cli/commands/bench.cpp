// tilesmith bench: times what would run, beside the known ladder and a peer.
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cstdio>
#include <memory>

#include "db/files/files.hpp"
#include "tuner/cli/commands/command.hpp"
#include "tuner/cli/commands/own_kernel_runs.hpp"
#include "tuner/cli/options/options.hpp"
#include "tuner/cli/options/target.hpp"
#include "tuner/cli/output/bench_output.hpp"
#include "tuner/cli/output/logging.hpp"
#include "tuner/cli/output/output.hpp"
#include "tuner/cli/output/signals.hpp"
#include "tuner/cli/output/table.hpp"
#include "tuner/figures.hpp"
#include "tuner/loop/bench.hpp"
#include "tuner/measure/cublaslt_peer.hpp"
#include "tuner/peaks.hpp"
#include "tuner/workers/compile_process_count.hpp"

namespace tilesmith::tuner {
namespace {

struct BenchCommandOptions {
  ProblemOptions problems;
  OwnKernelOptions own;
  std::string db, peer, peer_kernel, out, as;
  std::vector<std::string> configs;
  bool ladder = false, rows = false;
  int device = 0;
  LogOptions log;
};

std::vector<BenchCompetitor> parse_configs(const std::vector<std::string>& texts) {
  std::vector<BenchCompetitor> competitors;
  for (const std::string& text : texts) {
    const auto config = Config::parse(text);
    if (!config) throw UsageError(fmt::format("--config '{}': expected FAMILY{{parameter=value,...}}", text));
    competitors.push_back({"config", *config});
  }
  return competitors;
}

std::string ratio_text(std::optional<double> peer_us, std::optional<double> us) {
  return peer_us && us ? fmt::format("{:.3f}", *peer_us / *us) : "-";
}

TextTable make_table(bool rows) {
  std::vector<std::string> titles{"problem", "what", ">us", ">spread", ">TFLOP/s", ">TeOPS", ">of peak", ">x peer"};
  if (rows) titles.insert(titles.end(), {">row us", ">x peer in rows"});
  titles.push_back("config");
  return TextTable(std::move(titles));
}

void add_rows(TextTable& table, const BenchReport& report, const BenchSession& session, bool rows) {
  const Problem& problem = report.problem;
  const std::optional<double> peer_us = report.peer_best ? std::optional(report.peer_best->median_us) : std::nullopt;
  const auto add = [&](const std::string& label, const db::Timing& timing, std::optional<double> row_us,
                       const std::string& config) {
    const double us = timing.median_us;
    const Rate rate = rate_of(problem, session.device().identity, us, session.device().clock_mhz);
    std::vector<std::string> cells{text(problem), label, format_us(us), fmt::format("{:.1f}%", 100 * timing.spread),
        format_tflops(tflops(problem, us)), format_tflops(problem.effective_ops() / us * 1e-6), rate.percent(),
        ratio_text(peer_us, us)};
    if (rows) cells.insert(cells.end(), {row_us ? format_us(*row_us) : "-", ratio_text(report.peer_row_us, row_us)});
    cells.push_back(config);
    table.add(std::move(cells));
  };
  const auto add_untimed = [&](const std::string& label, std::string_view status, const std::string& why) {
    std::vector<std::string> cells{text(problem), label, std::string(status)};
    cells.resize(rows ? 11 : 9);
    cells.back() = why;
    table.add(std::move(cells));
  };
  for (const BenchResult& result : report.ours) {
    const db::Outcome& outcome = result.outcome;
    if (outcome.timing) add(result.competitor.label, *outcome.timing, result.row_us, result.competitor.config.text());
    else add_untimed(result.competitor.label, db::name(outcome.status), outcome.message);
  }
  if (session.peer_name() == "read") {
    if (report.peer_best)
      add(fmt::format("a read of the operands, best of {} ways", report.peer_algorithms), *report.peer_best,
          report.peer_row_us, "");
    return;
  }
  if (!session.peer_name().empty() && report.peer_algorithms == 0)
    add_untimed(session.peer_name(), "not timed", CublasLtPeer::not_timed_because(problem));
  const char* const how = problem.batch_mode == BatchMode::grouped    ? ", a matmul a group"
                          : problem.batch_mode == BatchMode::pointers ? ", by distances"
                                                                      : "";
  if (report.peer_first) add(fmt::format("cuBLASLt{}, first choice", how), *report.peer_first, std::nullopt, "");
  if (report.peer_best)
    add(fmt::format("cuBLASLt{}, best of {}", how, report.peer_algorithms), *report.peer_best, report.peer_row_us, "");
}

/// Nothing where there is no database and none was named.
std::unique_ptr<db::Store> records_of(const BenchCommandOptions& options) {
  const std::filesystem::path path = database_path(options.db);
  if (!options.db.empty() || std::filesystem::exists(path))
    return std::make_unique<db::Store>(db::Store::open_read_only(path));
  spdlog::info("no database at {}", path.string());
  return nullptr;
}

int run_bench(const BenchCommandOptions& options) {
  apply_log_options(options.log);
  if (!options.own.folder.empty()) {
    if (!options.problems.empty()) throw UsageError("--kernel: expected no problems beside it");
    const std::unique_ptr<db::Store> store = records_of(options);
    return bench_own_kernel(options.own, options.peer_kernel, store.get(), options.device, options.as);
  }
  const Workload workload = select_problems(options.problems);
  const std::vector<BenchCompetitor> extra = parse_configs(options.configs);
  if (!options.peer.empty() && options.peer != "cublaslt" && options.peer != "read") {
    throw UsageError(fmt::format("--peer '{}': expected cublaslt or read", options.peer));
  }
  if (!options.as.empty()) require_arch(options.as, "--as");
  const db::DeviceIdentity session_device =
      require_device_as(require_device(options.device, "bench times kernels, and so needs one"), options.as).identity;
  const std::unique_ptr<db::Store> store = records_of(options);
  if (store == nullptr) spdlog::info("problems run on the generic level");
  const bool csv_to_stdout = !options.out.empty() && is_stdout(options.out);
  BenchOutput csv(csv_to_stdout ? "/dev/stdout" : options.out, session_device);
  BenchSession session(options.device, options.as, store.get(), options.peer, options.rows);
  StopOnSignal signals;

  const auto competitors = [&](const Problem& problem) {
    std::vector<BenchCompetitor> ours;
    if (options.ladder) ours = ladder_competitors({problem, session.device().limits});
    ours.insert(ours.end(), extra.begin(), extra.end());
    if (extra.empty() || options.ladder) {
      const runtime::Choice choice = session.choice(problem);
      ours.push_back({fmt::format("tuned ({})", name(choice.level)), choice.config});
    }
    return ours;
  };
  TextTable table = make_table(options.rows);
  std::vector<Problem> problems;
  for (const WeightedTask& entry : workload.tasks) {
    if (csv.has(entry.task.problem())) spdlog::info("{}: has a time in {}", text(entry.task), options.out);
    else problems.push_back(entry.task.problem());
  }
  const int most_compiling = default_compile_process_count(1, session.device().integrated);
  std::vector<std::vector<BenchCompetitor>> ours;  // of the first problems, whose kernels are being compiled
  bool all_ok = true;
  for (std::size_t i = 0; i < problems.size() && !signals.stop(); ++i) {
    const Problem& problem = problems[i];
    while (ours.size() <= i || (ours.size() < problems.size() && session.compiling() < most_compiling)) {
      const Problem& next = problems[ours.size()];
      ours.push_back(competitors(next));
      session.compile_ahead(next, ours.back());
    }
    const BenchReport report = session.run(problem, ours[i]);
    csv.add(report);
    add_rows(table, report, session, options.rows);
    const BenchResult& last = report.ours.back();
    all_ok = all_ok && std::all_of(report.ours.begin(), report.ours.end(), [](const BenchResult& result) {
      return result.outcome.status == db::Status::ok || result.outcome.status == db::Status::illegal;
    });
    spdlog::info("{}/{} {}: {} us{}", i + 1, problems.size(), text(problem),
        last.outcome.timing ? format_us(last.outcome.timing->median_us) : std::string(name(last.outcome.status)),
        report.peer_best ? fmt::format(", {} {} us", session.peer_name(), format_us(report.peer_best->median_us)) : "");
  }
  if (!csv_to_stdout) std::fputs(table.text().c_str(), stdout);
  if (!csv_to_stdout && !session.peer_version().empty())
    fmt::print("{} {}\n", session.peer_name(), session.peer_version());
  if (signals.exit_status() != 0) return signals.exit_status();
  return all_ok ? kExitOk : kExitInternal;
}

}  // namespace

Command add_bench(CLI::App& program) {
  const auto [app, options, add] = new_command<BenchCommandOptions>(
      program, "bench", "Time what would run for chosen problems, beside the ladder and a peer");
  add_problem_options(*app, options->problems);
  add("--suite", options->problems.workloads, "FILE|NAME", "The same as --workload")
      ->group("Problems")
      ->excludes(app->get_option("--workload"));
  CLI::Option* kernel = add_own_kernel_options(*app, options->own);
  add("--peer-kernel", options->peer_kernel, "DIR", "Another kernel of your own, whose fastest config is timed in turn")
      ->needs(kernel);
  add_database_option(*app, options->db);
  app->add_flag("--ladder", options->ladder, "Also time the known ladder of hand-made configs, slowest first");
  add("--config", options->configs, "TEXT", "Time this config (canonical text; repeatable) instead of the tuned one");
  add("--peer", options->peer, "NAME",
      "Also time the best of all this library's algorithms, interleaved: cublaslt; or a plain read of the operands, "
      "\"x peer\" then being the share of its rate: read");
  app->add_flag("--rows", options->rows,
      "Also time short launches in rows of their like, in columns of their own; it plays each such problem "
      "off twice");
  add("-o,--out,--output", options->out, "FILE",
      "Append each result to this CSV file, or write it to stdout (-), in place of the table; problems that it has a "
      "time of on this device are not run again");
  app->add_option("--device", options->device, "Ordinal of the GPU")->capture_default_str();
  add_as_option(*app, options->as);
  add_log_options(*app, options->log);
  app->footer(
      "Everything is verified before it is timed. Times are medians in microseconds on random data, all competitors of a\n"
      "problem interleaved in one run, each launch on operands that were not read since an L2's worth of others; drift that\n"
      "competitors share is taken out. Spread is half the interquartile range over the median.\n"
      "Launches of less than some 50 us are timed as an application sees them, the peer's too: in a CUDA graph each stands behind\n"
      "a small kernel that is not ours, whose own time is taken off. In a row of like launches (--rows) those of configs with\n"
      "early_launch come while the one before still ends, as in a stream; behind another kernel in a graph they do not.\n"
      "TeOPS: M*K + (2K-1)*M*N + 2*M*N operations.\n"
      "\"x peer\" is the peer's best time over ours: above 1 is faster than the peer.\n\n"
      "Examples:\n"
      "  tilesmith bench --ladder --peer cublaslt --type f16f32 --shape 4096\n"
      "  tilesmith bench --workload squares --peer cublaslt --out squares.csv");
  return {app, [options = options] { return run_bench(*options); }};
}

}  // namespace tilesmith::tuner
