#include "tuner/loop/tune.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <stdexcept>
#include <thread>

#include "db/store/trust.hpp"
#include "kernels/families/tasks.hpp"
#include "tuner/loop/call_shares.hpp"
#include "tuner/loop/tune_start.hpp"
#include "tuner/loop/tune_task.hpp"
#include "tuner/schedule/time_slices.hpp"

namespace tilesmith::tuner {
namespace {

constexpr std::chrono::milliseconds kLookAgainAfter{100};
constexpr double kSmallBytes = 256 * 1024.0 * 1024.0;  // of operands; their proof takes some times as much

double steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void check(const Workload& workload, const TuneOptions& options) {
  std::string known;
  bool strategy_known = false;
  for (const StrategyInfo& info : strategies()) {
    known += fmt::format("{}{}", known.empty() ? "" : ", ", info.name);
    strategy_known = strategy_known || info.name == options.strategy;
  }
  if (!strategy_known) {
    throw std::invalid_argument(fmt::format("unknown strategy '{}': expected one of {}", options.strategy, known));
  }
  for (const WeightedTask& weighted : workload.tasks) {
    const Task& task = weighted.task;
    if (const auto wrong = task_error(task)) throw std::invalid_argument(*wrong);
    if (const auto wrong = no_task_because(task))
      throw std::invalid_argument(fmt::format("{}: {}", text(task), *wrong));
    if (!(weighted.weight > 0)) {
      throw std::invalid_argument(
          fmt::format("{}: weight is {}, expected a number above 0", text(task), weighted.weight));
    }
  }
}

/// By task, whether its latest record on the device is valid today: what an earlier run got to.
std::vector<char> tried_before(const Workload& workload, const db::DeviceIdentity& device, const db::Store& store,
    StartingPoints& starting_points) {
  std::vector<char> tried;
  for (const WeightedTask& weighted : workload.tasks) {
    const std::vector<db::Record> latest = store.records({.task = weighted.task, .device_exactly = device, .limit = 1});
    tried.push_back(!latest.empty() && is_loaded(latest[0].config.family()) &&
                    db::judge(latest[0], starting_points.environment(latest[0].config.family())) == db::Trust::valid);
  }
  return tried;
}

/// What an interrupted run left in flight on this evaluator: true outcomes, kept, and so not tried again.
void take_leftovers(TuneRun& run, StartingPoints& starting_points) {
  while (run.evaluator.in_flight() > 0 && !run.stop) record_evaluated(run, starting_points, run.evaluator.next());
}

/// Looks around again soon; says what for, once.
void await_others(const TimeSlices& slices, std::string& said) {
  if (said != slices.waiting_for()) spdlog::info("waiting for {}", slices.waiting_for());
  said = slices.waiting_for();
  std::this_thread::sleep_for(kLookAgainAfter);
}

/// Notes how a slice left its task.
void end_slice(TimeSlices& slices, const TimeSlices::Slice& slice, const TaskTuning& tuning, TaskEnding ending) {
  // A further slice that came to nothing would come to nothing again.
  const bool nothing_left = ending == TaskEnding::done || (slice.number > 1 && tuning.submitted() == 0);
  nothing_left ? slices.finished(slice) : slices.rested(slice, tuning.rest());
}

/// Whether any device that is otherwise free has memory for it.
bool is_small(const Task& task) { return operand_bytes(task) <= kSmallBytes; }

/// What worked last on the device, of the workload's other tasks, by records of today; nullopt: nothing is known to.
std::optional<Candidate> known_to_work(const TuneRun& run, StartingPoints& starting_points, const Workload& workload) {
  std::optional<db::Record> latest;
  for (const auto& [task, weight] : workload.tasks) {
    const std::vector<Task>& failed = run.result.set_aside;
    if (!is_small(task) || std::find(failed.begin(), failed.end(), task) != failed.end()) continue;
    const db::RecordFilter filter{.task = task,
        .device_exactly = run.evaluator.device(),
        .status = db::Status::ok,
        .limit = 1,
        .latest_only = true};
    for (db::Record& entry : run.store.records(filter)) {
      if (!is_loaded(entry.config.family()) || !run.evaluator.knows(task, entry.config)) continue;
      if (db::judge(entry, starting_points.environment(entry.config.family())) != db::Trust::valid) continue;
      if (!latest || db::is_later(entry, *latest)) latest = std::move(entry);
    }
  }
  return latest ? std::optional(Candidate{latest->task, latest->config}) : std::nullopt;
}

/// Whether that can be measured now. A trial: it is no record.
bool still_works(TuneRun& run, StartingPoints& starting_points, const Workload& workload) {
  const std::optional<Candidate> known = known_to_work(run, starting_points, workload);
  if (!known) return false;
  spdlog::info(
      "measuring failed on two tasks in a row; trying {} {}, which worked", text(known->task), known->config.text());
  try {
    run.evaluator.submit(*known, std::nullopt);
    return run.evaluator.next().outcome.timing.has_value();
  } catch (const EvaluatorError&) {
    run.evaluator.drop_in_flight();
    return false;
  }
}

/// Goes on without the task, unless nothing works.
void set_aside(TuneRun& run, StartingPoints& starting_points, const Workload& workload, TimeSlices& slices,
    const TimeSlices::Slice& slice, const TaskTuning& tuning, const EvaluatorError& error) {
  const Task& task = workload.tasks[slice.task].task;
  for (const Evaluated& evaluated : run.evaluator.drop_in_flight()) record_evaluated(run, starting_points, evaluated);
  run.result.set_aside.push_back(task);
  const bool is_last = !run.any_timed && run.result.set_aside.size() == run.task_count;
  if (tuning.timed() == 0) {
    const bool in_a_row = run.nothing_works && is_small(task);
    if (is_last || (in_a_row && !still_works(run, starting_points, workload))) throw error;
    run.nothing_works = !in_a_row && (run.nothing_works || is_small(task));
  }
  spdlog::error("{}: set aside, measuring failed: {}", text(task), error.what());
  slices.set_aside(slice);
}

/// Tunes task after task; returns how the run ended.
std::string tune_all(TuneRun& run, StartingPoints& starting_points, const Workload& workload, TimeSlices& slices) {
  take_leftovers(run, starting_points);
  bool cut_short = false;
  std::string said;
  while (!slices.all_done()) {
    if (run.stop) return "interrupted";
    const double now = run.clock_seconds();
    if (now >= run.ends) return "budget";
    const double least = run.least_slice_seconds();
    if (slices.all_had_slices() && run.ends - now < least) return "budget";
    const double beyond = std::max(0.0, run.beyond_share_seconds.value());
    const std::optional<TimeSlices::Slice> slice = slices.take(now, run.ends, least, beyond);
    if (!slice) {
      await_others(slices, said);
      continue;
    }
    const Task& task = workload.tasks[slice->task].task;
    Progress beginning{slice->task, run.task_count, task};
    beginning.slice = slice->number;
    beginning.seconds_elapsed = now - run.started;
    if (run.on_progress) run.on_progress(beginning);  // making its space takes seconds
    TaskTuning tuning(run, starting_points, task, *slice);
    TaskEnding ending = TaskEnding::done;
    try {
      ending = tuning.run();
    } catch (const EvaluatorError& error) {
      set_aside(run, starting_points, workload, slices, *slice, tuning, error);
      continue;
    }
    if (ending == TaskEnding::interrupted) return "interrupted";
    if (slice->number == 1 && ending == TaskEnding::out_of_time) {
      const double share_seconds = slice->share * (run.ends - now) - tuning.rest().spare_seconds;
      run.beyond_share_seconds.add(run.clock_seconds() - now - share_seconds);
    }
    cut_short = cut_short || ending == TaskEnding::out_of_time;
    end_slice(slices, *slice, tuning, ending);
  }
  return cut_short ? "budget" : "done";
}

/// Marks the run as failed. The error that ended it is on its way to the caller and must not be replaced by another.
void end_as_failed(db::Store& store, const std::string& uuid, const std::string& why) noexcept {
  try {
    store.end_run(uuid, "failed: " + why);
  } catch (const std::exception& error) {
    spdlog::warn("the run's end was not recorded: {}", error.what());
  }
}

}  // namespace

TuneResult tune(const Workload& workload, const TuneOptions& options, Evaluator& evaluator, db::Store& store,
    const std::function<void(const Progress&)>& on_progress, const std::atomic<bool>& stop) {
  check(workload, options);
  StartingPoints starting_points(
      options.families, evaluator, store, options.only_finalists ? std::size_t(options.finalists) : 0);

  TuneRun run{options, evaluator, store, on_progress, stop};
  run.clock_seconds = options.clock_seconds ? options.clock_seconds : steady_seconds;
  run.started = run.clock_seconds();
  if (options.budget.count() > 0) run.ends = run.started + options.budget.count();
  std::optional<SliceBoard> own_board;
  if (options.board == nullptr) own_board.emplace(workload, run.ends);
  SliceBoard& board = own_board ? *own_board : *options.board;
  run.ends = board.ends();
  TimeSlices slices(workload, store, evaluator.device(), board, options.tuner, options.gpu,
      tried_before(workload, evaluator.device(), store, starting_points),
      call_shares(workload, store, evaluator.device()));
  run.task_count = workload.tasks.size();
  run.result.run = db::new_uuid();

  store.begin_run({.uuid = run.result.run,
      .command = options.command,
      .workload = options.workload_name.empty() ? workload.name : options.workload_name,
      .strategy = options.only_finalists ? "none" : options.strategy,
      .seed = options.seed,
      .started_at = db::now_utc()});
  try {
    run.result.ended_how = tune_all(run, starting_points, workload, slices);
    store.end_run(run.result.run, run.result.ended_how);
  } catch (const std::exception& error) {
    end_as_failed(store, run.result.run, error.what());
    throw;
  } catch (...) {
    end_as_failed(store, run.result.run, "unknown error");
    throw;
  }
  return run.result;
}

}  // namespace tilesmith::tuner
