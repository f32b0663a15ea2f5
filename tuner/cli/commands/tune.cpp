// tilesmith tune: the overnight loop, on a device or several, or against a recording.
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <memory>
#include <thread>
#include <utility>

#include "tuner/cli/commands/command.hpp"
#include "tuner/cli/commands/tune_command.hpp"
#include "tuner/cli/options/target.hpp"
#include "tuner/cli/output/progress.hpp"
#include "tuner/cli/output/signals.hpp"
#include "tuner/cli/output/summary.hpp"
#include "tuner/cli/output/terminal.hpp"
#include "tuner/figures.hpp"
#include "tuner/peaks.hpp"
#include "tuner/recordings/replay_evaluator.hpp"
#include "tuner/schedule/gpu_queue.hpp"
#include "tuner/schedule/slice_board.hpp"
#include "tuner/search/strategy.hpp"
#include "tuner/supervisor/tuner_process.hpp"
#include "tuner/workers/device_evaluator.hpp"

namespace tilesmith::tuner {
namespace {

std::unique_ptr<Evaluator> make_evaluator(const TuneCommandOptions& options, PreparedTune& prepared, db::Store& store) {
  const TuneDevice& chosen = prepared.devices.front();
  if (prepared.recording) return make_replay_evaluator(*std::exchange(prepared.recording, std::nullopt));
  DeviceEvaluatorOptions device;
  device.device = chosen.ordinal;
  device.as = options.as;
  device.compile_processes = options.compile_jobs;
  device.time_limit = prepared.time_limit;
  device.vendor = prepared.tune.vendor;
  return make_device_evaluator(store, device);
}

/// Takes its place among the tuners of a supervising one.
std::optional<SliceBoard> join_board(const TuneCommandOptions& options, PreparedTune& prepared) {
  if (!options.board) return std::nullopt;
  try {
    return SliceBoard::inherited(kBoardDescriptor, prepared.workload);
  } catch (const std::runtime_error& error) {
    throw UsageError(fmt::format("--board: {}", error.what()));
  }
}

void save_record(const db::Store& store, const db::DeviceIdentity& device, const std::string& path) {
  db::RecordFilter filter;
  filter.device_exactly = device;
  db::save_recording(store, filter, path);
  spdlog::info("made the recording in {}", path);
}

/// Before anything is started on it: what a measuring process times first is what it judges all later times by.
bool await_gpu(GpuQueue& queue, const std::atomic<bool>& stop) {
  bool said = false;
  while (!stop) {
    if (std::optional<db::TaskLock> gpu = queue.take()) {
      queue.put_back(std::move(*gpu));
      return true;
    }
    if (!std::exchange(said, true)) spdlog::info("waiting for the GPU, which another tuner times a problem on");
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  return false;
}

int unless_nothing_compiled(int status, const TuneResult& result) {
  const std::int64_t tried = result.evaluated + result.reused;
  if (status == kExitOk && tried > 0 && result.compile_failed == tried)
    throw UsageError(fmt::format(
        "none of {} candidates compiled; `tilesmith query --status compile_failed` shows why", format_count(tried)));
  return status;
}

int tune_on_one(const TuneCommandOptions& options, PreparedTune& prepared) {
  std::optional<SliceBoard> board = join_board(options, prepared);
  const TuneDevice& device = prepared.devices.front();
  apply_log_options(options.log, board ? fmt::format("[device {}]", device.ordinal) : "");
  StopOnSignal signals;
  db::Store store = open_tune_store(options);
  GpuQueue queue(store, device.gpu);
  if (!device.gpu.empty()) {
    if (!await_gpu(queue, signals.stop())) return signals.exit_status();
    prepared.tune.gpu = &queue;
  }
  const std::unique_ptr<Evaluator> evaluator = make_evaluator(options, prepared, store);
  if (board) {
    prepared.tune.board = &*board;
    prepared.tune.tuner = device.ordinal;
  } else {
    spdlog::info("{}", announcement(options, prepared, short_name(device.identity)));
    const bool kept = options.replays.empty() || !options.db.empty();
    spdlog::info(
        "records go to {}", kept ? store.path().string() : "memory only (a replay without --db keeps nothing)");
  }

  TuneProgress progress(
      [&](const Task& task, double us) { return rate_of(task, device.identity, us, device.clock_mhz); });
  const TuneResult result = tune(
      prepared.workload, prepared.tune, *evaluator, store, [&](const Progress& now) { progress.update(now); },
      signals.stop());
  progress.finish();

  spdlog::info("ended: {}; {} candidates tried, {} known before, {} failed", result.ended_how, result.evaluated,
      result.reused, result.failed);
  for (const Task& task : result.set_aside) spdlog::error("set aside, as measuring failed there: {}", text(task));
  const int status = signals.exit_status() != 0 ? signals.exit_status()
                     : result.set_aside.empty() ? kExitOk
                                                : kExitSetAside;
  if (board) return unless_nothing_compiled(status, result);
  if (!options.record.empty()) save_record(store, device.identity, options.record);
  const auto environment = [&](const std::string& family) { return evaluator->environment(family); };
  const SummaryDevice summed{device.identity, device.limits, device.clock_mhz, environment};
  fmt::print("{}", summary_of_bests(prepared.workload, store, summed, stdout_width()));
  std::fflush(stdout);
  return unless_nothing_compiled(status, result);
}

int run_tune(const TuneCommandOptions& options) {
  PreparedTune prepared = prepare_tune(options);
  if (prepared.workload.tasks.empty()) {
    // A database all the same, so that whoever merges finds one of every shard.
    if (!options.dry_run) open_tune_store(options);
    apply_log_options(options.log, "");
    spdlog::info("shard {}/{} has none of the {} of workload {}", prepared.shard->shard.index + 1,
        prepared.shard->shard.count, count_of(prepared.whole, "problem"), prepared.workload.name);
    return kExitOk;
  }
  if (options.dry_run) {
    print_dry_run(prepared);
    return kExitOk;
  }
  return prepared.devices.size() > 1 ? tune_on_several(options, prepared) : tune_on_one(options, prepared);
}

}  // namespace

Command add_tune(CLI::App& program) {
  const auto [app, options, add] = new_command<TuneCommandOptions>(
      program, "tune", "Search, verify and time configs for problems on a GPU; keep the records");
  TuneOptions& tune = options->tune;
  add_task_options(*app, options->problems);
  app->add_flag("--unproven", options->unproven,
         "Also tune kernels of your own whose kernel.json names no reference: their results are compared with nothing")
      ->group("Problems");
  add_shard_option(*app, options->shard)->group("Problems");
  add.heading("Search");
  CLI::Option* strategy = add("--strategy", tune.strategy, "NAME", "How to search (see `tilesmith strategies`)");
  add("--family", tune.families, "NAME,..", "Kernel families to search, comma-separated or repeated; default: all");
  add("--budget", options->budget, "TIME",
      "End after this time, e.g. 90s, 10m, 2h30m; default: none, until the search is done");
  CLI::Option* most = add("--max-candidates", tune.max_candidates, "N", "Most candidates a problem; 0: no limit")
                          ->check(between(0, kMostCount));
  add_seed_option(*app, tune.seed, "Seed of the search: same seed, same proposals");
  add("--finalists", options->finalists, "N",
      "How many of the best are timed again, interleaved; of long launches those of several block tiles [8; with "
      "--only-finalists 12]")
      ->check(between(1, 64));
  CLI::Option* only = app->add_flag("--only-finalists", tune.only_finalists,
                             "Search nothing: verify, time and play off the best of what is on record of each "
                             "problem by a former measuring policy, driver or kernel")
                          ->excludes(strategy)
                          ->excludes(most);
  add("--peer", options->peer, "NAME",
      "Which vendor's library is timed in turn with the finalists, its times kept beside theirs: cublaslt or none "
      "[cublaslt where it can be opened; none with --as and --replay]");
  add.heading("Device");
  add("--device", options->device, "N,..|all",
      "Ordinal of the GPU (see `tilesmith devices`), several such as 0,2, or all: a tuner process for each, which "
      "share the problems");
  add_as_option(*app, options->as);
  add_compile_jobs_option(*app, options->compile_jobs,
      "of each GPU: one a core but one; where the GPU shares the memory (Jetson), one for two "
      "cores, and half of the memory");
  add("--time-limit", options->time_limit, "TIME",
      "Longest that one phase of a candidate may take on the device: loading, suite, verification, timing. Three times "
      "as long where a problem's operands or reference are first made, and for the final benchmark");
  add("--replay", options->replays, "FILE",
      "Take outcomes from this recording instead of a GPU: a file, or the name of one that ships, h100; repeatable, "
      "the first is device 0. Without --db nothing is kept, with it what was recorded, as it was")
      ->allow_extra_args(false);
  add_database_option(*app, options->db);
  add.heading("Output");
  add("--record", options->record, "FILE",
      "Save the device's recording here at the end (.zst: compressed); for devices of several models a file for each, "
      "with a device's number before the extension");
  app->add_flag("--dry-run", options->dry_run,
         "List the problems, then how many legal configs each family has for each of their signatures, and end")
      ->excludes(only);
  add("--arch", options->arch, "ARCH", "With --dry-run: count for this architecture instead of the GPU's");
  app->add_flag("--board", options->board)->group("");  // for tune_on_several() alone
  add_log_options(*app, options->log);
  app->footer(
      "The first candidate of a problem is what the library would run if the problem were not tuned (with --family: of these families).\n"
      "It is timed and in the final benchmark however short the problem's share is, so a run that ends by itself makes no problem slower.\n"
      "Then come what was best before or on other problems and the families' own initial configs; once ten configs of a problem have a\n"
      "time, two of three more are the strategy's proposals.\n"
      "With --budget a problem's share goes by its weight, and at least two thirds of it are spent there, what earlier runs spent\n"
      "on it included. What a problem that has settled gives up goes to those that still gain, where weight, time and the gain\n"
      "expected of more candidates are largest. Where a workload says `weights calls`, as those of `capture` and `import` do, the share\n"
      "goes by calls x time, the best on record or an estimate, and the largest share comes first.\n"
      "Every outcome is committed as it comes: a run that is ended or killed goes on where it stopped when started again.\n"
      "Ctrl-C once ends cleanly with what was found (exit status 130); again, a second later or more, it ends at once.\n"
      "Several runs may share a database: a problem is tuned by one of them at a time on devices of one model, and runs on one\n"
      "GPU take turns, a problem each. With several devices, a tuner process that dies is started again, up to 5 times; then the\n"
      "others go on without it, and the exit status is 1, or 2 if it could not work at all.\n"
      "A problem on which measuring fails, in no way that is a candidate's, is set aside; the others are tuned, and the exit status is 3,\n"
      "unless the tuner of another device got to it.\n"
      "cuBLASLt's first choice and its fastest algorithm play along in final benchmarks (`query` and `explain` show them). A problem that has\n"
      "no such times gets them when it is tuned again. Its failures cost a message each.\n"
      "Without problems given, the built-in workload `quick` is tuned.\n"
      "\nExamples:\n"
      "  tilesmith tune --shape 4096 --type f16f32,bf16f32 --trans all --budget 10m\n"
      "  tilesmith tune --workload llama3-8b --budget 8h --log tune.log\n"
      "  tilesmith tune --workload llama3-8b --device all --budget 1h\n"
      "  tilesmith tune --workload llama3-8b --shard 3/8 --db shard-3.db --budget 1h\n"
      "  tilesmith tune --only-finalists --workload llama3-8b --device all    after records became `remeasure`\n"
      "  tilesmith tune --as sm_87 --workload orin-perception --max-candidates 20 --db proof.db\n"
      "  tilesmith tune --kernel softmax/ --sizes rows=4096,cols=1000 --budget 1m\n"
      "  tilesmith tune --workload quick --replay db/recorded/h200.jsonl.zst --strategy exhaustive");
  return {app, [options = options] { return run_tune(*options); }};
}

}  // namespace tilesmith::tuner
