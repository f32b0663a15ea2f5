#include "tuner/loop/tune.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <stdexcept>
#include <thread>

#include "db/store/trust.hpp"
#include "tuner/loop/call_shares.hpp"
#include "tuner/loop/tune_problem.hpp"
#include "tuner/loop/tune_start.hpp"
#include "tuner/schedule/time_slices.hpp"

namespace tilesmith::tuner {
namespace {

constexpr std::chrono::milliseconds kLookAgainAfter{100};
constexpr std::int64_t kSmallBytes = std::int64_t{256} << 20;  // of operands; their proof takes some times as much

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
  for (const WeightedProblem& weighted : workload.problems) {
    const Problem& problem = weighted.problem;
    if (const auto wrong = problem_error(problem)) throw std::invalid_argument(*wrong);
    if (problem.m < 1 || problem.n < 1 || problem.k < 1 || problem.batch < 1) {
      throw std::invalid_argument(fmt::format("{}: expected M, N and K of at least 1", text(problem)));
    }
    if (!(weighted.weight > 0)) {
      throw std::invalid_argument(
          fmt::format("{}: weight is {}, expected a number above 0", text(problem), weighted.weight));
    }
  }
}

/// By problem, whether its latest record on the device is valid today: what an earlier run got to.
std::vector<char> tried_before(const Workload& workload, const db::DeviceIdentity& device, const db::Store& store,
    StartingPoints& starting_points) {
  std::vector<char> tried;
  for (const WeightedProblem& weighted : workload.problems) {
    const std::vector<db::Record> latest =
        store.records({.problem = weighted.problem, .device_exactly = device, .limit = 1});
    tried.push_back(!latest.empty() && find_family(latest[0].config.family()) != nullptr &&
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

/// Notes how a slice left its problem.
void end_slice(TimeSlices& slices, const TimeSlices::Slice& slice, const ProblemTuning& tuning, ProblemEnding ending) {
  // A further slice that came to nothing would come to nothing again.
  const bool nothing_left = ending == ProblemEnding::done || (slice.number > 1 && tuning.submitted() == 0);
  nothing_left ? slices.finished(slice) : slices.rested(slice, tuning.rest());
}

/// Whether any device that is otherwise free has memory for it.
bool is_small(const Problem& problem) {
  return problem.a_bytes() + problem.b_bytes() + problem.c_bytes() <= kSmallBytes;
}

/// What worked last on the device, of the workload's other problems, by records of today; nullopt: nothing is known to.
std::optional<Candidate> known_to_work(const TuneRun& run, StartingPoints& starting_points, const Workload& workload) {
  std::optional<db::Record> latest;
  for (const auto& [problem, weight] : workload.problems) {
    const std::vector<Problem>& failed = run.result.set_aside;
    if (!is_small(problem) || std::find(failed.begin(), failed.end(), problem) != failed.end()) continue;
    const db::RecordFilter filter{.problem = problem,
        .device_exactly = run.evaluator.device(),
        .status = db::Status::ok,
        .limit = 1,
        .latest_only = true};
    for (db::Record& entry : run.store.records(filter)) {
      if (find_family(entry.config.family()) == nullptr || !run.evaluator.knows(problem, entry.config)) continue;
      if (db::judge(entry, starting_points.environment(entry.config.family())) != db::Trust::valid) continue;
      if (!latest || db::is_later(entry, *latest)) latest = std::move(entry);
    }
  }
  return latest ? std::optional(Candidate{latest->problem, latest->config}) : std::nullopt;
}

/// Whether that can be measured now. A trial: it is no record.
bool still_works(TuneRun& run, StartingPoints& starting_points, const Workload& workload) {
  const std::optional<Candidate> known = known_to_work(run, starting_points, workload);
  if (!known) return false;
  spdlog::info("measuring failed on two problems in a row; trying {} {}, which worked", text(known->problem),
      known->config.text());
  try {
    run.evaluator.submit(*known, std::nullopt);
    return run.evaluator.next().outcome.timing.has_value();
  } catch (const EvaluatorError&) {
    run.evaluator.drop_in_flight();
    return false;
  }
}

/// Goes on without the problem, unless nothing works.
void set_aside(TuneRun& run, StartingPoints& starting_points, const Workload& workload, TimeSlices& slices,
    const TimeSlices::Slice& slice, const ProblemTuning& tuning, const EvaluatorError& error) {
  const Problem& problem = workload.problems[slice.problem].problem;
  for (const Evaluated& evaluated : run.evaluator.drop_in_flight()) record_evaluated(run, starting_points, evaluated);
  run.result.set_aside.push_back(problem);
  const bool is_last = !run.any_timed && run.result.set_aside.size() == run.problem_count;
  if (tuning.timed() == 0) {
    const bool in_a_row = run.nothing_works && is_small(problem);
    if (is_last || (in_a_row && !still_works(run, starting_points, workload))) throw error;
    run.nothing_works = !in_a_row && (run.nothing_works || is_small(problem));
  }
  spdlog::error("{}: set aside, measuring failed: {}", text(problem), error.what());
  slices.set_aside(slice);
}

/// Tunes problem after problem; returns how the run ended.
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
    const Problem& problem = workload.problems[slice->problem].problem;
    Progress beginning{slice->problem, run.problem_count, problem};
    beginning.slice = slice->number;
    beginning.seconds_elapsed = now - run.started;
    if (run.on_progress) run.on_progress(beginning);  // making its space takes seconds
    ProblemTuning tuning(run, starting_points, problem, *slice);
    ProblemEnding ending = ProblemEnding::done;
    try {
      ending = tuning.run();
    } catch (const EvaluatorError& error) {
      set_aside(run, starting_points, workload, slices, *slice, tuning, error);
      continue;
    }
    if (ending == ProblemEnding::interrupted) return "interrupted";
    if (slice->number == 1 && ending == ProblemEnding::out_of_time) {
      const double share_seconds = slice->share * (run.ends - now) - tuning.rest().spare_seconds;
      run.beyond_share_seconds.add(run.clock_seconds() - now - share_seconds);
    }
    cut_short = cut_short || ending == ProblemEnding::out_of_time;
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
  run.problem_count = workload.problems.size();
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
